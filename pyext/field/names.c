/* names.c: indices by name: transposition, values and keys matched to a Field's names. */
#include "../core/attribute.h"
#include "field.h"
#include "../core/upcall.h"

/* A view with the indices from[0], from[1], ... of f, at most GB_MAXDIMS; -1 is a new index of one
 * element, named as in codes. */
static gb_py_field *picked(const gb_py_field *f, const int *from, const int32_t *codes, int n) {
    gb_py_field *view = gb_py_field_alloc(Py_TYPE((PyObject *)f), n);
    if (!view) return NULL;
    gb_py_field_share(view, f);
    view->data = f->data;
    gb_py_field_room(view, f->origin != NULL,
                     f->halo != NULL); /* uses the view's own lists: cannot fail */
    for (int i = 0; i < n; i++) {
        int k = from[i];
        view->geometry.shape[i] = k < 0 ? 1 : f->geometry.shape[k];
        view->geometry.strides[i] = k < 0 ? 0 : f->geometry.strides[k];
        view->geometry.dims[i] = codes[i];
        if (f->origin && k >= 0) view->origin[i] = f->origin[k];
        if (f->halo && k >= 0) memcpy(&view->halo[2 * i], &f->halo[2 * k], 2 * sizeof *f->halo);
    }
    gb_geometry_finish(&view->geometry);
    if (gb_py_field_inherit(view, f) < 0) Py_CLEAR(view);
    return view;
}

static int find(const int32_t *codes, int n, int32_t code) {
    for (int i = 0; i < n; i++)
        if (codes[i] == code) return i;
    return -1;
}

/* ---- transposition ---- */

static PyObject *not_a_permutation(const gb_py_field *f, PyObject *given) {
    GB_PY_OWNED PyObject *own = gb_py_dims_tuple(f->geometry.dims, f->geometry.ndim);
    if (own)
        PyErr_Format(PyExc_ValueError, "dims: %R is not a permutation of this Field's dims %R",
                     given, own);
    return NULL;
}

PyObject *gb_py_field_reversed(PyObject *self, void *unused) {
    gb_py_field *f = (gb_py_field *)self;
    int n = f->geometry.ndim, from[GB_MAXDIMS];
    int32_t codes[GB_MAXDIMS];
    for (int i = 0; i < n; i++) {
        from[i] = n - 1 - i;
        codes[i] = f->geometry.dims[from[i]];
    }
    return (PyObject *)picked(f, from, codes, n);
}

/* Codes of the indices with these numbers, as NumPy counts them; -1 with an error, -2: a number is
 * out of range. */
static int by_number(const gb_py_field *f, PyObject *const *items, Py_ssize_t count,
                     int32_t *codes) {
    int n = f->geometry.ndim;
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t k;
        if (gb_py_int64(items[i], "dims", "names of indices or their numbers", &k) < 0) return -1;
        if (k < -n || k >= n || i >= n) return -2;
        codes[i] = f->geometry.dims[k < 0 ? k + n : k];
    }
    return (int)count;
}

static int all_ints(PyObject *const *items, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyIndex_Check(items[i])) return 0;
    return count > 0;
}

/* Codes of the indices that transpose() names: by their numbers or by their names. */
static int read_order(const gb_py_field *f, PyObject *dims, int32_t *codes) {
    PyObject *items[GB_MAXDIMS];
    Py_ssize_t count = 0;
    if (PyLong_Check(dims)) {
        items[count++] = dims;
    } else if (PyTuple_Check(dims) && PyTuple_Size(dims) <= GB_MAXDIMS) {
        count = PyTuple_Size(dims);
        for (Py_ssize_t i = 0; i < count; i++) items[i] = PyTuple_GetItem(dims, i);
    }
    return all_ints(items, count) ? by_number(f, items, count, codes)
                                  : gb_py_dims(dims, "dims", codes, GB_MAXDIMS);
}

/* The order as a tuple: from a list, an array or several arguments. New reference. */
static PyObject *given_order(const gb_py_field *f, PyObject *const *args, Py_ssize_t nargs) {
    /* a text is a letter for each index, but for the one index of a Field, called "Cell" */
    int name = PyUnicode_Check(args[0]) && f->geometry.ndim == 1 && gb_py_has_own_names(f);
    if (nargs > 1 || name) return gb_py_tuple_of(args, nargs);
    int list = PyList_Check(args[0]) || PyArray_Check(args[0]);
    return list ? PySequence_Tuple(args[0]) : Py_NewRef(args[0]);
}

/* transpose("KJI"), ("K", "J", "I"), (2, 1, 0), of a sequence of either, or of nothing: reversed.
 */
PyObject *gb_py_field_transpose(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    gb_py_field *f = (gb_py_field *)self;
    int32_t codes[GB_MAXDIMS];
    int from[GB_MAXDIMS];
    if (nargs == 0 || (nargs == 1 && args[0] == Py_None)) return gb_py_field_reversed(self, NULL);
    GB_PY_OWNED PyObject *dims = given_order(f, args, nargs);
    if (!dims) return NULL;
    int n = read_order(f, dims, codes);
    if (n == -1) return NULL;
    if (n != f->geometry.ndim) return not_a_permutation(f, dims);
    for (int i = 0; i < n; i++) {
        from[i] = find(f->geometry.dims, n, codes[i]);
        if (from[i] < 0 || find(codes, i, codes[i]) >= 0) return not_a_permutation(f, dims);
    }
    return (PyObject *)picked(f, from, codes, n);
}

/* ---- values for a target ---- */

/* View of f with its indices in the places of the target's names. */
static gb_py_field *into(const gb_py_field *f, const gb_py_field *target, const char *arg) {
    const gb_geometry *own = &f->geometry, *to = &target->geometry;
    int from[GB_MAXDIMS];
    for (int i = 0; i < own->ndim; i++) {
        if (find(to->dims, to->ndim, own->dims[i]) >= 0) continue;
        GB_PY_OWNED PyObject *own_dims = gb_py_dims_tuple(own->dims, own->ndim),
                             *target_dims = gb_py_dims_tuple(to->dims, to->ndim);
        GB_PY_OWNED PyObject *lacking = gb_py_dims_tuple(&own->dims[i], 1);
        if (own_dims && target_dims && lacking)
            PyErr_Format(PyExc_ValueError, "%s: its dims %R do not fit into %R, which lack %R", arg,
                         own_dims, target_dims, PyTuple_GetItem(lacking, 0));
        return NULL;
    }
    for (int i = 0; i < to->ndim; i++) from[i] = find(own->dims, own->ndim, to->dims[i]);
    return picked(f, from, to->dims, to->ndim);
}

/* Numbers, arrays and lists cannot be asked for names; most other objects carry none either. */
static int may_have_names(PyObject *obj) {
    if (gb_py_is_field(obj)) return ((gb_py_field *)obj)->dims_given;
    if (PyArray_CheckExact(obj) || PyFloat_Check(obj) || PyLong_Check(obj) ||
        PyComplex_Check(obj) || PyList_Check(obj) || PyTuple_Check(obj) || PyUnicode_Check(obj) ||
        PyBytes_Check(obj) || PyArray_IsScalar(obj, Generic))
        return 0;
    PyObject *const names[] = {gb_py_attr.gt_dims, gb_py_attr.dims, gb_py_attr.gt_interface,
                               gb_py_attr.gt_data_interface};
    return gb_py_has_any(obj, names, 4);
}

int gb_py_both_named(PyObject *target, PyObject *values) {
    return gb_py_is_field(target) && ((gb_py_field *)target)->dims_given ? may_have_names(values)
                                                                         : 0;
}

PyObject *gb_py_fitted(PyObject *target, PyObject *values, const char *arg) {
    const gb_py_field *to = (gb_py_field *)target;
    int named = gb_py_both_named(target, values);
    if (named <= 0) return named < 0 ? NULL : Py_NewRef(values);
    GB_PY_OWNED PyObject *field =
        gb_py_is_field(values)
            ? Py_NewRef(values)
            : gb_py_upcall_to(GB_PY_UP_NAMED, "(O)", values); /* a storage, an xarray.DataArray */
    if (!field || !gb_py_is_field(field)) return Py_XNewRef(field);
    gb_py_field *f = (gb_py_field *)field;
    int n = to->geometry.ndim;
    int same = n == f->geometry.ndim && memcmp(f->geometry.dims, to->geometry.dims,
                                               (size_t)n * sizeof *f->geometry.dims) == 0;
    return same || !f->dims_given ? Py_NewRef(field) : (PyObject *)into(f, to, arg);
}

/* ---- keys ---- */

PyObject *gb_py_key_by_name(PyObject *self, PyObject *key) {
    Py_ssize_t n = PyTuple_Check(key) ? PyTuple_Size(key) : 1;
    int named = 0;
    for (Py_ssize_t i = 0; i < n && !named; i++)
        named = may_have_names(PyTuple_Check(key) ? PyTuple_GetItem(key, i) : key);
    if (named <= 0) return named < 0 ? NULL : Py_NewRef(key);
    return gb_py_upcall_to(GB_PY_UP_KEY, "(OO)", self, key);
}
