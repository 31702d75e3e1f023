/* field_wrap.c: gridbuf.Field(data, ...) and from_dlpack: wrapping, with what the caller or the
 * object says of its indices. */
#include "exchange.h"
#include "../core/keywords.h"
#include "../core/pending.h"
#include "wrap.h"
#include "../core/upcall.h"

static int set_dims(gb_py_field *f, PyObject *dims) {
    if (!dims || dims == Py_None) return 0;
    int32_t codes[GB_MAXDIMS];
    int n = gb_py_dims(dims, "dims", codes, GB_MAXDIMS);
    if (n < 0) return -1;
    if (n != f->geometry.ndim)
        return PyErr_Format(PyExc_ValueError, "dims: %R names %d indices, the data has %d", dims, n,
                            f->geometry.ndim),
               -1;
    memcpy(f->geometry.dims, codes, n * sizeof *codes);
    f->dims_given = 1;
    return 0;
}

static int set_given(gb_py_field *f, PyObject *dims, PyObject *origin, PyObject *halo) {
    if (set_dims(f, dims) < 0) return -1;
    gb_py_meta meta;
    if (gb_py_read_meta(origin, halo, f->geometry.shape, f->geometry.ndim, &meta) < 0) return -1;
    return gb_py_field_set_meta(f, &meta);
}

/* The dims, origin and halo that the object itself carries. */
static int set_carried(gb_py_field *f, PyObject *data) {
    if (PyArray_CheckExact(data) || gb_py_is_field(data)) return 0;
    PyObject *inherited[3];
    int found = gb_py_inherited_metadata(data, (PyObject *)f, inherited);
    if (found <= 0) return found;
    found = set_given(f, inherited[0], inherited[1], inherited[2]);
    for (int i = 0; i < 3; i++) Py_DECREF(inherited[i]);
    return found;
}

static int check_require(gb_py_field *f, PyObject *require) {
    if (!require || require == Py_None) return 0;
    GB_PY_OWNED PyObject *met =
        gb_py_upcall_to(GB_PY_UP_CHECK_REQUIRE, "(OO)", (PyObject *)f, require);
    return met ? 0 : -1;
}

PyObject *gb_py_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", "dims", "origin", "halo", "require", "dimensions", NULL};
    PyObject *data, *dims = NULL, *origin = NULL, *halo = NULL, *require = NULL, *dimensions = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$OOOO:Field", names, &data, &dims, &origin,
                                     &halo, &require, &dimensions))
        return gb_py_blame_keyword("Field", kwargs, names), NULL;
    if (dimensions && dimensions != Py_None) {
        if (dims && dims != Py_None)
            return PyErr_SetString(PyExc_TypeError,
                                   "dims and dimensions mean the same; give one of them"),
                   NULL;
        dims = dimensions;
    }
    PyObject *given[] = {dims, origin, halo,
                         require}; /* kwargs may be somebody's dict, which what follows can empty */
    for (int i = 0; i < 4; i++) Py_XINCREF(given[i]);
    gb_py_field *f = (gb_py_field *)gb_py_wrap(type, data);
    if (f && (set_carried(f, data) < 0 || set_given(f, dims, origin, halo) < 0 ||
              check_require(f, require) < 0))
        Py_CLEAR(f);
    for (int i = 0; i < 4; i++) gb_py_let_go(given[i]);
    return (PyObject *)f;
}

PyObject *gb_py_from_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames) {
    static const gb_py_signature sig = {"from_dlpack",
                                        {GB_PY_ARG_X, GB_PY_ARG_DIMS},
                                        2,
                                        1,
                                        GB_PY_ARG_BIT(GB_PY_ARG_X) | GB_PY_ARG_BIT(GB_PY_ARG_DIMS) |
                                            GB_PY_ARG_BIT(GB_PY_ARG_ORIGIN) |
                                            GB_PY_ARG_BIT(GB_PY_ARG_HALO) |
                                            GB_PY_ARG_BIT(GB_PY_ARG_COPY),
                                        0};
    PyObject *slots[GB_PY_ARG_COUNT];
    if (gb_py_args(&sig, args, nargs, kwnames, slots) < 0) return NULL;
    int copy = gb_py_copy_word(slots[GB_PY_ARG_COPY]);
    if (copy == -1) return NULL;
    int request = copy == 1 ? GB_PY_OWN_COPY : copy == 0 ? GB_PY_SHARE_ONLY : 0;
    gb_py_field *f = (gb_py_field *)gb_py_wrap_tensor(gb_py_FieldType, slots[GB_PY_ARG_X], request);
    if (!f) gb_py_blame("x", 0);
    if (f &&
        set_given(f, slots[GB_PY_ARG_DIMS], slots[GB_PY_ARG_ORIGIN], slots[GB_PY_ARG_HALO]) < 0)
        Py_CLEAR(f);
    return (PyObject *)f;
}
