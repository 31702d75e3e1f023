/* cut.c: keys of slices and integers on host storages: which elements they mean, and the array and
 * the Meta of a view. What is unusual, wrong keys included, is left to gridbuf.storage.indexing. */
#include "storage.h"

int gb_py_storage_cuts(PyObject *key, PyArrayObject *array, gb_py_cut *cuts) {
    npy_intp shape[GB_PY_STORAGE_AXES] = {0};
    int n = PyArray_NDIM(array);
    for (int i = 0; i < n; i++) shape[i] = PyArray_DIM(array, i);
    int kind = gb_py_cuts(key, n, shape, cuts, 0),
        same = PyArray_NDIM(array) == n; /* an __index__ may change it */
    for (int i = 0; same && i < n; i++) same = shape[i] == PyArray_DIM(array, i);
    return kind > 0 && !same ? GB_PY_KEY_OTHER : kind;
}

PyObject *gb_py_cut_array(PyArrayObject *array, const gb_py_cut *cuts) {
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
