/* index.c: reading and writing parts of host storages by slices and integers. Unusual keys, wrong
 * ones included, and values that need thought go up to gridbuf.storage.indexing. */
#include "storage.h"

/* ---- keys: which elements they mean, and the array and the Meta of a view ---- */

static int read_cuts(PyObject *key, PyArrayObject *array, gb_py_cut *cuts) {
    npy_intp shape[GB_PY_STORAGE_AXES] = {0};
    int n = PyArray_NDIM(array);
    for (int i = 0; i < n; i++) shape[i] = PyArray_DIM(array, i);
    int kind = gb_py_cuts(key, n, shape, cuts, 0),
        same = PyArray_NDIM(array) == n; /* an __index__ may change it */
    for (int i = 0; same && i < n; i++) same = shape[i] == PyArray_DIM(array, i);
    return kind > 0 && !same ? GB_PY_KEY_OTHER : kind;
}

/* Call it before Python code can run, which may change the array. */
static PyObject *cut_array(PyArrayObject *array, const gb_py_cut *cuts) {
    npy_intp shape[GB_PY_STORAGE_AXES], strides[GB_PY_STORAGE_AXES];
    char *data = PyArray_BYTES(array);
    int n = 0;
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        if (cuts[i].length > 0) data += cuts[i].start * PyArray_STRIDE(array, i);
        if (!cuts[i].keep) continue;
        shape[n] = cuts[i].length;
        strides[n++] = PyArray_STRIDE(array, i) * cuts[i].step;
    }
    return gb_py_array_view(PyArray_DESCR(array), n, shape, strides, data,
                            PyArray_FLAGS(array) & NPY_ARRAY_WRITEABLE, (PyObject *)array);
}

/* ---- the Meta of a view depends on these numbers alone, and programs cut the same way again and
 * again ---- */

#define REMEMBERED 256
typedef struct {
    PyObject *meta, *made;
    int n;
    gb_py_cut cuts[GB_PY_STORAGE_AXES];
} remembered;
static remembered seen[REMEMBERED];

static remembered *slot_of(PyObject *meta, int n, const gb_py_cut *cuts) {
    uint64_t h = (uintptr_t)meta >> 4;
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint64_t)cuts[i].start ^ (uint64_t)cuts[i].length << 16 ^
             (uint64_t)(cuts[i].keep + cuts[i].step * 2) << 40) *
            0x9E3779B97F4A7C15u;
        h = (h ^ h >> 29 ^ (uint64_t)cuts[i].size) * 0xBF58476D1CE4E5B9u;
    }
    return &seen[(h >> 32) % REMEMBERED];
}

static int same_cuts(const gb_py_cut *a, const gb_py_cut *b, int n) {
    for (int i = 0; i < n; i++)
        if (a[i].start != b[i].start || a[i].step != b[i].step || a[i].length != b[i].length ||
            a[i].size != b[i].size || a[i].keep != b[i].keep)
            return 0;
    return 1;
}

/* For each index its size, and the selection: (first, step, count), or an int where the index is
 * dropped. */
static PyObject *picks(int n, const gb_py_cut *cuts) {
    PyObject *all = PyTuple_New(n);
    for (int i = 0; all && i < n; i++) {
        Py_ssize_t start = cuts[i].start, step = cuts[i].step, length = cuts[i].length,
                   size = cuts[i].size;
        gb_py_put(&all, i,
                  cuts[i].keep ? Py_BuildValue("n(nnn)", size, start, step, length)
                               : Py_BuildValue("nn", size, start));
    }
    return all;
}

PyObject *gb_py_cut_meta(PyObject *meta, int n, const gb_py_cut *cuts) {
    remembered *r = slot_of(meta, n, cuts);
    if (r->meta == meta && r->n == n && same_cuts(r->cuts, cuts, n)) return Py_NewRef(r->made);
    Py_INCREF(meta); /* the storage may get another one meanwhile */
    GB_PY_OWNED PyObject *taken = picks(n, cuts);
    PyObject *made = taken ? gb_py_upcall_to(GB_PY_UP_STORAGE_META, "(OO)", meta, taken) : NULL;
    if (!made) return Py_DECREF(meta), NULL;
    GB_PY_OWNED PyObject *before = r->meta, *result = r->made;
    r->meta = meta;
    r->made = Py_NewRef(made);
    r->n = n;
    for (int i = 0; i < n; i++) r->cuts[i] = cuts[i];
    return made;
}

/* ---- reading ---- */

static PyObject *view_of(PyObject *self, PyArrayObject *host, const gb_py_cut *cuts) {
    int n = PyArray_NDIM(host);
    GB_PY_OWNED PyObject *array = cut_array(host, cuts),
                         *meta =
                             array ? gb_py_cut_meta(((gb_py_storage *)self)->meta, n, cuts) : NULL;
    return meta ? gb_py_storage_new(Py_TYPE(self), array, Py_None, meta, Py_None) : NULL;
}

PyObject *gb_py_storage_subscript(PyObject *self, PyObject *key) {
    PyArrayObject *host = gb_py_storage_host(self);
    gb_py_cut cuts[GB_PY_STORAGE_AXES];
    int kind = host ? read_cuts(key, host, cuts) : GB_PY_KEY_OTHER;
    if (kind == GB_PY_KEY_ERROR) return NULL;
    if (kind == GB_PY_KEY_OTHER)
        return gb_py_upcall_to(GB_PY_UP_STORAGE_GETITEM, "(OO)", self, key);
    Py_INCREF((PyObject *)host);
    PyObject *found = kind == GB_PY_KEY_ELEMENT ? PyObject_GetItem((PyObject *)host, key)
                                                : view_of(self, host, cuts);
    Py_DECREF((PyObject *)host);
    return found;
}

/* The halo's (low, high) pairs of n indices. 0: they are not what a Meta has. */
static int read_halo(PyObject *meta, int n, Py_ssize_t (*halo)[2]) {
    GB_PY_OWNED PyObject *pairs = gb_py_upcall_of(meta, GB_PY_OF_META_HALO);
    int ok = pairs && PyTuple_Check(pairs) && PyTuple_Size(pairs) == n;
    for (int i = 0; i < n && ok; i++) {
        PyObject *pair = PyTuple_GetItem(pairs, i);
        ok = PyTuple_Check(pair) && PyTuple_Size(pair) == 2;
        for (int j = 0; j < 2 && ok; j++)
            ok = (halo[i][j] = PyLong_AsSsize_t(PyTuple_GetItem(pair, j))) >= 0;
    }
    return ok;
}

/* The points that are not in the halo. NotImplemented: for Python to find. */
PyObject *gb_py_storage_inside(PyObject *self, PyObject *unused) {
    Py_ssize_t halo[GB_PY_STORAGE_AXES][2];
    gb_py_cut cuts[GB_PY_STORAGE_AXES];
    PyArrayObject *host = gb_py_storage_host(self);
    if (!host) Py_RETURN_NOTIMPLEMENTED;
    int n = PyArray_NDIM(host), ok = read_halo(((gb_py_storage *)self)->meta, n, halo);
    if (PyErr_Occurred()) return NULL;
    host = gb_py_storage_host(self); /* reading may have run Python code */
    if (!ok || !host || PyArray_NDIM(host) != n) Py_RETURN_NOTIMPLEMENTED;
    for (int i = 0; i < n; i++) {
        npy_intp size = PyArray_DIM(host, i);
        cuts[i] = (gb_py_cut){halo[i][0], 1, size - halo[i][0] - halo[i][1], size, 1};
        if (cuts[i].length < 0) Py_RETURN_NOTIMPLEMENTED;
    }
    return view_of(self, host, cuts);
}

/* ---- writing ---- */

static int is_number(PyObject *value) {
    return PyFloat_CheckExact(value) || PyLong_CheckExact(value) || PyBool_Check(value) ||
           PyComplex_CheckExact(value) || PyArray_IsScalar(value, Number) ||
           PyArray_IsScalar(value, Bool);
}

/* The value's array with its indices where the target has those of the same name: stride 0 along
 * those that it lacks or has one element of. NULL without an error: it does not fit, which Python
 * explains. */
static PyObject *by_name(PyArrayObject *from, const char *own, PyArrayObject *target,
                         const char *names) {
    npy_intp strides[GB_PY_STORAGE_AXES];
    int n = PyArray_NDIM(target), used = 0;
    if (strlen(names) != (size_t)n || strlen(own) != (size_t)PyArray_NDIM(from)) return NULL;
    for (int i = 0; i < n; i++) {
        const char *at = strchr(own, names[i]);
        int j = at ? (int)(at - own) : -1;
        used += at != NULL;
        strides[i] = at && PyArray_DIM(from, j) != 1 ? PyArray_STRIDE(from, j) : 0;
        if (at && PyArray_DIM(from, j) != 1 && PyArray_DIM(from, j) != PyArray_DIM(target, i))
            return NULL;
    }
    if (used != PyArray_NDIM(from)) return NULL;
    return gb_py_array_view(PyArray_DESCR(from), n, PyArray_DIMS(target), strides,
                            PyArray_BYTES(from), 0, (PyObject *)from);
}

/* The names of the indices that a key keeps. */
static int kept_axes(PyObject *meta, int n, const gb_py_cut *cuts,
                     char kept[GB_PY_STORAGE_AXES + 1]) {
    char axes[GB_PY_STORAGE_AXES + 1];
    int to = 0;
    if (gb_py_meta_axes(meta, axes) < 0) return -1;
    for (int i = 0; i < n && axes[i]; i++)
        if (cuts[i].keep) kept[to++] = axes[i];
    kept[to] = 0;
    return 0;
}

/* The source of an assignment: an ndarray of the target's shape, or a host storage by name. NULL:
 * with an error, or not for here. */
static PyObject *source_for(PyObject *self, PyArrayObject *target, const gb_py_cut *cuts, int n,
                            PyObject *value) {
    if (PyArray_CheckExact(value))
        return PyArray_SAMESHAPE((PyArrayObject *)value, target) ? Py_NewRef(value) : NULL;
    PyArrayObject *from =
        PyObject_TypeCheck(value, gb_py_StorageType) ? gb_py_storage_host(value) : NULL;
    char names[GB_PY_STORAGE_AXES + 1], own[GB_PY_STORAGE_AXES + 1];
    if (!from || kept_axes(((gb_py_storage *)self)->meta, n, cuts, names) < 0 ||
        gb_py_meta_axes(((gb_py_storage *)value)->meta, own) < 0)
        return NULL;
    return strcmp(names, own) == 0 && PyArray_SAMESHAPE(from, target)
               ? Py_NewRef((PyObject *)from)
               : by_name(from, own, target, names);
}

/* 1: done; 0: Python has to; -1: an error. */
static int quick(PyObject *self, PyArrayObject *host, PyObject *key, PyObject *value) {
    gb_py_cut cuts[GB_PY_STORAGE_AXES];
    int number = is_number(value), n = PyArray_NDIM(host);
    if (!number && !PyArray_CheckExact(value) && !PyObject_TypeCheck(value, gb_py_StorageType))
        return 0;
    int kind = read_cuts(key, host, cuts);
    if (kind == GB_PY_KEY_ERROR || kind == GB_PY_KEY_OTHER) return kind == GB_PY_KEY_ERROR ? -1 : 0;
    if (number && kind == GB_PY_KEY_ELEMENT)
        return PyObject_SetItem((PyObject *)host, key, value) < 0 ? -1 : 1;
    GB_PY_OWNED PyObject *target = key == Py_Ellipsis ? Py_NewRef((PyObject *)host)
                                                      : cut_array(host, cuts),
                         *source = NULL;
    int rc = -1;
    if (target && number) {
        rc = PyObject_SetItem(target, Py_Ellipsis, value) < 0 ? -1 : 1;
    } else if (target) {
        source = source_for(self, (PyArrayObject *)target, cuts, n, value);
        rc = source
                 ? (PyArray_CopyInto((PyArrayObject *)target, (PyArrayObject *)source) < 0 ? -1 : 1)
             : PyErr_Occurred() ? -1
                                : 0;
    }
    return rc;
}

int gb_py_storage_assign(PyObject *self, PyObject *key, PyObject *value) {
    if (!value)
        return PyErr_SetString(PyExc_TypeError, "elements of a storage cannot be deleted"), -1;
    PyArrayObject *host = gb_py_storage_host(self);
    Py_XINCREF((PyObject *)host);
    int rc = host ? quick(self, host, key, value) : 0;
    Py_XDECREF((PyObject *)host);
    if (rc) return rc < 0 ? -1 : 0;
    GB_PY_OWNED PyObject *done =
        gb_py_upcall_to(GB_PY_UP_STORAGE_SETITEM, "(OOO)", self, key, value);
    return done ? 0 : -1;
}
