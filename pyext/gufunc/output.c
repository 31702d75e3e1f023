/* output.c: new outputs: their memory, and the array or Field over it. */
#include "gufunc.h"
#include "../core/memory.h"

/* Where the axes of the memory end up in the result, which may have its core elsewhere and
 * kept axes of size 1 besides. from[d]: an axis of the memory, or -1 - k for the kept axis k.
 * Returns how many there are. */
static int axes_from(const gb_py_placing *p, const gb_geometry *g, int outer, int *from) {
    int n = g->ndim, kept = p->keep ? p->n : 0;
    if (!p->n || (!kept && n - outer != p->n)) {   /* an optional dimension is missing: nothing moves */
        for (int d = 0; d < n; d++) from[d] = d;
        return n;
    }
    int total = n + kept, rest = n + kept - p->n;
    for (int d = 0; d < total; d++) from[d] = INT32_MAX;
    for (int k = 0; k < p->n; k++) {
        int at = p->axis[k] < 0 ? p->axis[k] + total : p->axis[k];
        if (p->named) {   /* in the order I, J, K, 0, 1, ... of the outer dimensions */
            int32_t name = kept ? p->name[k] : g->dims[rest + k];
            for (at = 0; at < rest && g->dims[at] < name; at++) {}
        }
        if (at < 0 || at >= total || from[at] != INT32_MAX)
            return gb_py_setup_error("axes: %d does not fit an output with %d dimensions", p->axis[k], total);
        from[at] = kept ? -1 - k : rest + k;
    }
    for (int d = 0, next = 0; d < total; d++)
        if (from[d] == INT32_MAX) from[d] = next++;
    return total;
}

static void arrange(gb_geometry *to, const gb_geometry *g, const gb_py_placing *p, const int *from) {
    for (int d = 0; d < to->ndim; d++) {
        int f = from[d];
        to->shape[d] = f < 0 ? 1 : g->shape[f];
        to->strides[d] = f < 0 ? g->itemsize : g->strides[f];
        to->dims[d] = f < 0 ? p->name[-1 - f] : g->dims[f];
    }
}

/* Memory for the plan; without elements a few bytes do. */
static int take(const gb_plan *plan, void **data) {
    if (plan->geometry.size) return gb_py_plan_allocate(plan, 0, data);
    gb_heap_layout want = plan->want;
    int fresh;
    want.span = plan->geometry.itemsize;
    want.reserve = gb_heap_reserve(want.span, want.boundary);
    return gb_py_allocate(&want, data, &fresh);
}

static PyObject *array_over(const gb_py_invocation *v, int i, const gb_geometry *g, gb_py_dtype *dtype, void *data,
                            const int *from, int n) {
    if (!v->placing[i].n) return gb_py_array_over(g, dtype, data, 1, NULL);
    int64_t shape[GB_MAXDIMS], strides[GB_MAXDIMS];
    int32_t dims[GB_MAXDIMS];
    gb_geometry placed = {.ndim = n, .shape = shape, .strides = strides, .dims = dims};
    arrange(&placed, g, &v->placing[i], from);
    return gb_py_array_over(&placed, dtype, data, 1, NULL);
}

static PyObject *field_over(const gb_py_invocation *v, int i, const gb_geometry *g, gb_py_dtype *dtype, void *data,
                            const int *from, int n) {
    gb_py_field *f = gb_py_field_on_block(n, dtype, data);
    if (!f) return NULL;
    f->dims_given = 1;
    arrange(&f->geometry, g, &v->placing[i], from);
    gb_geometry_finish(&f->geometry);
    if (gb_py_join_halos(f, v) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

int gb_py_output_allocate(gb_py_invocation *v, int i) {
    const gb_gu_call *call = v->entry->call;
    const gb_geometry *g = &call->out[i]->geometry;
    gb_py_arg *a = &v->arg[i];
    int from[GB_MAXDIMS + GB_GU_MAXCORE];
    int n = axes_from(&v->placing[i], g, call->outer_ndim, from);
    if (n < 0) return -1;
    if (n > GB_MAXDIMS) return gb_py_setup_error("keepdims: the output would have %d dimensions; at most %d are allowed", n, GB_MAXDIMS);
    void *data;
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of_type(call->op[i].from);
    if (!dtype) return -1;
    if (take(call->out[i], &data) == 0) a->keep = v->named && n ? field_over(v, i, g, dtype, data, from, n) : array_over(v, i, g, dtype, data, from, n);
    a->data = data;
    return a->keep ? 0 : -1;
}

PyObject *gb_py_output_describe(const gb_py_invocation *v, int i) {
    const gb_gu_call *call = v->entry->call;
    if (!call->out[i]) Py_RETURN_NONE;
    const gb_geometry *g = &call->out[i]->geometry;
    int from[GB_MAXDIMS + GB_GU_MAXCORE];
    int64_t shape[GB_MAXDIMS + GB_GU_MAXCORE], strides[GB_MAXDIMS + GB_GU_MAXCORE];
    int32_t dims[GB_MAXDIMS + GB_GU_MAXCORE];
    gb_geometry placed = {.ndim = axes_from(&v->placing[i], g, call->outer_ndim, from), .shape = shape, .strides = strides, .dims = dims};
    if (placed.ndim < 0) return NULL;
    arrange(&placed, g, &v->placing[i], from);
    PyObject *names = v->named ? gb_py_dims_tuple(dims, placed.ndim) : Py_NewRef(Py_None);
    return Py_BuildValue("(NNN)", gb_py_ints_tuple(shape, placed.ndim), gb_py_ints_tuple(strides, placed.ndim), names);
}

/* What a call returns: the outputs as given, fresh 0-d ones as scalars. */
static PyObject *result(gb_py_invocation *v, int i) {
    gb_py_arg *a = &v->arg[i];
    if (!a->absent) return Py_NewRef(a->given);
    PyObject *made = a->keep;
    a->keep = NULL;
    return PyArray_CheckExact(made) && !PyArray_NDIM((PyArrayObject *)made) ? PyArray_Return((PyArrayObject *)made) : made;
}

PyObject *gb_py_results(gb_py_invocation *v) {
    int nin = v->gufunc->info.nin, nout = v->gufunc->info.nout;
    if (nout == 1) return result(v, nin);
    PyObject *tuple = PyTuple_New(nout);
    for (int i = 0; tuple && i < nout; i++) {
        gb_py_put(&tuple, i, result(v, nin + i));
    }
    return tuple;
}

static void free_codes(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, "gridbuf.codes")); }

/* The codes lie in loop order; seen through these strides they have the outer shape. */
PyObject *gb_py_codes_array(uint8_t **codes, int ndim, const int64_t *shape, const int64_t *strides) {
    uint8_t *data = *codes;
    GB_PY_OWNED PyObject *owner = PyCapsule_New(data, "gridbuf.codes", free_codes);
    if (!owner) return NULL;
    *codes = NULL;
    return gb_py_array_view(PyArray_DescrFromType(NPY_UINT8), ndim, (npy_intp *)shape, (npy_intp *)strides, data, 0, owner);
}
