/* explain.c: a plan's figures for Go to explain; gridbuf/explain/ renders what it says. */
#include "plan.h"

#define ROOM 16384   /* bytes: 32 indices need no more */

enum { SHAPE, STRIDES, PADDED, ALIGNED, LAYOUT, LISTS };
enum { ITEM, BOUNDARY, OFFSET, BYTES, RESERVE, FIGURES };

/* One entry for each index. */
static int read_list(PyObject *obj, const char *name, int64_t *out, int ndim) {
    int n = gb_py_ints(obj, name, out, GB_MAXDIMS);
    return n < 0 || n == ndim ? n : (PyErr_Format(PyExc_ValueError, "%s: %d entries for %d indices", name, n, ndim), -1);
}

/* explain((shape, strides, padded_shape, aligned_index, layout), dims, (itemsize, byte_alignment, offset, nbytes, alloc_nbytes)):
 * lines of a term, a tab and a sentence. */
PyObject *gb_py_explain(PyObject *self, PyObject *args) {
    static const char *const names[LISTS] = {"shape", "strides", "padded_shape", "aligned_index", "layout"};
    static const char *const figure_names[FIGURES] = {"itemsize", "byte_alignment", "offset", "nbytes", "alloc_nbytes"};
    PyObject *given[LISTS], *dims, *numbers[FIGURES];
    int64_t figure[FIGURES];
    int64_t list[LISTS][GB_MAXDIMS];
    int32_t codes[GB_MAXDIMS];
    if (!PyArg_ParseTuple(args, "(OOOOO)O(OOOOO)", &given[0], &given[1], &given[2], &given[3], &given[4], &dims, &numbers[0], &numbers[1],
                          &numbers[2], &numbers[3], &numbers[4])) return NULL;
    int ndim = gb_py_dims(dims, "dims", codes, GB_MAXDIMS);
    for (int i = 0; i < LISTS; i++)
        if (ndim < 0 || read_list(given[i], names[i], list[i], ndim) < 0) return NULL;
    for (int i = 0; i < FIGURES; i++)
        if (gb_py_int64(numbers[i], figure_names[i], "an int", &figure[i]) < 0) return NULL;
    if (figure[BOUNDARY] <= 0) return PyErr_Format(PyExc_ValueError, "byte_alignment: %lld; expected 1 or more bytes", (long long)figure[BOUNDARY]);
    gb_error e;
    gb_plan *plan = gb_plan_new(ndim);
    char *text = malloc(ROOM);
    PyObject *said = NULL;
    if (plan && text) {
        plan->geometry.itemsize = figure[ITEM], plan->geometry.nbytes = figure[BYTES];
        plan->want.boundary = figure[BOUNDARY], plan->want.offset = figure[OFFSET], plan->want.reserve = figure[RESERVE];
        for (int i = 0; i < ndim; i++) {
            plan->geometry.shape[i] = list[SHAPE][i], plan->geometry.strides[i] = list[STRIDES][i], plan->geometry.dims[i] = codes[i];
            plan->padded_shape[i] = list[PADDED][i], plan->aligned_index[i] = list[ALIGNED][i], plan->layout[i] = (int32_t)list[LAYOUT][i];
        }
        if (GB_PY_ENTER_GO(&e, gbridge_explain(plan, text, ROOM, &e)) == 0) said = PyUnicode_FromString(text);
    } else PyErr_NoMemory();
    free(plan);
    free(text);
    return said;
}
