/* broadcast.c: an input that is repeated along some indices, written out. NumPy's iterator over
 * several indices is slow, and its loops are short where the fastest index is: of small arrays that
 * is most of a call. */
#include "named.h"

#define SMALL (32 << 10) /* bytes that are written more quickly than NumPy's iterator is made */
#define SHORT                                                                                     \
    24            /* elements of the fastest index, in what is too large to be written as a whole \
                   */
#define REPEATS 8 /* at least so many times is a part written out used */

/* The target's indices from the fastest on, as far as they lie without gaps: how many, and their
 * sizes here and strides there. */
typedef struct {
    int n, index[GB_PY_STORAGE_AXES];
    npy_intp size[GB_PY_STORAGE_AXES], stride[GB_PY_STORAGE_AXES], item;
} written;

static int next_packed(PyArrayObject *target, npy_intp stride, const written *w) {
    for (int i = 0; i < PyArray_NDIM(target); i++) {
        int taken = 0;
        for (int k = 0; k < w->n; k++) taken |= w->index[k] == i;
        if (!taken && PyArray_STRIDE(target, i) == stride) return i;
    }
    return -1;
}

/* How many elements to write; 0: nothing to gain, or nothing that may be written here: what does
 * not broadcast is NumPy's to refuse, and a reference is not copied as bytes. */
static npy_intp measure(PyArrayObject *view, PyArrayObject *target, written *w) {
    npy_intp count = 1, rest = PyArray_SIZE(target), item = PyArray_ITEMSIZE(view);
    int repeated = 0, n = PyArray_NDIM(target);
    *w = (written){.item = item};
    if (item < 1 || PyDataType_REFCHK(PyArray_DESCR(view))) return 0;
    for (int i = 0; i < n; i++)
        if (PyArray_DIM(view, i) != 1 && PyArray_DIM(view, i) != PyArray_DIM(target, i)) return 0;
    for (int i; (i = next_packed(target, count * PyArray_ITEMSIZE(target), w)) >= 0;) {
        npy_intp size = PyArray_DIM(target, i);
        if (size < 1 || count * size > SMALL / item) break;
        repeated |= size > 1 && PyArray_DIM(view, i) == 1;
        w->index[w->n] = i;
        w->size[w->n] = size;
        w->stride[w->n++] = PyArray_DIM(view, i) == 1 ? 0 : PyArray_STRIDE(view, i);
        count *= size;
        rest /= size;
    }
    if (!repeated || w->n < 2) return 0;
    if (w->n == n) return count;
    for (int i = 0; i < n; i++) {
        int kept = 0;
        for (int k = 0; k < w->n; k++) kept |= w->index[k] == i;
        if (!kept && PyArray_DIM(view, i) != 1) return 0;
    }
    return w->size[0] <= SHORT && rest >= REPEATS ? count : 0;
}

/* `size` bytes, `count` times one behind the other; the first are there. */
static void repeat(char *to, npy_intp size, npy_intp count) {
    npy_intp done = size, all = size * count;
    if (size == 8) {
        uint64_t value;
        memcpy(&value, to, 8);
        for (npy_intp i = 1; i < count; i++) memcpy(to + 8 * i, &value, 8);
        return;
    }
    for (; done < all; done *= 2)
        memcpy(to + done, to, (size_t)(done < all - done ? done : all - done));
}

static void write_level(char *to, const char *from, const written *w, int level) {
    if (level < 0) {
        memcpy(to, from, (size_t)w->item);
        return;
    }
    npy_intp size = w->item;
    for (int k = 0; k < level; k++) size *= w->size[k];
    if (level == 0 && w->stride[0] == w->item) memcpy(to, from, (size_t)(w->size[0] * w->item));
    else if (w->stride[level] == 0) {
        write_level(to, from, w, level - 1);
        repeat(to, size, w->size[level]);
    } else
        for (npy_intp i = 0; i < w->size[level]; i++)
            write_level(to + i * size, from + i * w->stride[level], w, level - 1);
}

PyObject *gb_py_materialise(PyArrayObject *view, PyArrayObject *target, int fresh) {
    written w;
    npy_intp count = measure(view, target, &w), strides[GB_PY_STORAGE_AXES] = {0},
             shape[GB_PY_STORAGE_AXES];
    if (!count) return NULL;
    int n = PyArray_NDIM(target);
    PyArray_Descr *descr = PyArray_DESCR(view);
    if (fresh && w.n == n && descr == PyArray_DESCR(target))
        return write_level(PyArray_BYTES(target), PyArray_BYTES(view), &w, n - 1),
               Py_NewRef((PyObject *)target);
    for (int i = 0; i < n; i++) shape[i] = 1;
    for (int k = 0; k < w.n; k++) {
        shape[w.index[k]] = w.size[k];
        strides[w.index[k]] = k ? strides[w.index[k - 1]] * w.size[k - 1] : w.item;
    }
    GB_PY_OWNED PyObject *room =
        PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef((PyObject *)descr), 1,
                             &count, NULL, NULL, 0, NULL);
    if (!room) return NULL;
    write_level(PyArray_BYTES((PyArrayObject *)room), PyArray_BYTES(view), &w, w.n - 1);
    return gb_py_array_view(descr, n, shape, strides, PyArray_BYTES((PyArrayObject *)room),
                            NPY_ARRAY_WRITEABLE, room);
}
