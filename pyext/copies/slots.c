/* slots.c: descriptions of the memory that a program was made for, and the check of an object
 * against one. */
#include "slots.h"
#include "../core/args.h"
#include "../../alloc/strides.h"

/* ---- reading ---- */

void gb_py_slot_clear(gb_py_slot *slot) {
    Py_XDECREF(slot->name);
    Py_XDECREF(slot->bound);
    Py_XDECREF((PyObject *)slot->descr);
    Py_XDECREF((PyObject *)slot->equal);
    free(slot->shape);
    memset(slot, 0, sizeof *slot);
}

/* Set low and end: bytes from element 0 down to the lowest element and up to the end of the
 * highest. */
static int reach(gb_py_slot *slot, const gb_copy_view *v, const char *arg) {
    int bad = 0, empty = 0;
    for (int i = 0; i < v->ndim; i++) {
        bad |= v->shape[i] < 0;
        empty |= v->shape[i] == 0;
    }
    slot->low = slot->end = 0;
    if (!bad && !empty)
        bad = gb_reach(v->shape, v->strides, v->ndim, v->itemsize, &slot->low, &slot->end) >= 0;
    if (!bad && slot->low >= -((int64_t)1 << 60) && slot->end <= (int64_t)1 << 60) return 0;
    return gb_py_fail(PyExc_ValueError,
                      "%s: a shape with negative sizes, or more bytes than any memory has", arg);
}

static int keep_lists(gb_py_slot *slot, const gb_copy_view *v) {
    slot->ndim = v->ndim;
    slot->shape = malloc((size_t)(5 * v->ndim + 1) * sizeof *slot->shape);
    if (!slot->shape) return gb_py_no_memory();
    slot->strides = slot->shape + v->ndim;
    for (int i = 0; i < v->ndim; i++) {
        slot->shape[i] = v->shape[i];
        slot->strides[i] = v->strides[i];
    }
    return 0;
}

/* Store dims and halo behind shape and strides. */
static int keep_meaning(gb_py_slot *slot, PyObject *dims, PyObject *halo, const char *arg) {
    int32_t codes[GB_COPY_DIMS];
    int64_t pairs[2 * GB_COPY_DIMS] = {0};
    int n = gb_py_dims(dims, arg, codes, GB_COPY_DIMS),
        m = halo == Py_None ? slot->ndim : gb_py_halo(halo, slot->ndim, pairs, GB_COPY_DIMS);
    if (n < 0 || m < 0) return -1;
    if (n != slot->ndim || m != slot->ndim)
        return gb_py_fail(PyExc_ValueError, "%s: %d sizes, %d dims and %d entries of a halo", arg,
                          slot->ndim, n, m);
    slot->halo = slot->strides + n;
    slot->dims = (int32_t *)(slot->halo + 2 * n);
    memcpy(slot->halo, pairs, 2 * (size_t)n * sizeof *pairs);
    memcpy(slot->dims, codes, (size_t)n * sizeof *codes);
    return 0;
}

/* GPU of an object's memory, plus 1; 0: host. */
static int gpu_of(PyObject *obj) {
    const gb_py_location *location = gb_py_is_field(obj) ? &((gb_py_field *)obj)->location : NULL;
    return location && location->kind == GB_PY_ON_DEVICE ? (int)location->device + 1 : 0;
}

static int memory_of(PyObject *obj, gb_py_memory *m) {
    if (!gpu_of(obj)) return gb_py_memory_of(obj, m);
    *m = gb_py_memory_of_field((gb_py_field *)obj);
    return 1;
}

static int bind(PyObject *obj, const gb_py_memory *m, const char *arg, gb_py_slot *slot) {
    if (!gb_py_descr_trivially_copyable(m->descr))
        return gb_py_fail(PyExc_TypeError, "%s: elements of dtype %R are not plain bytes", arg,
                          m->descr);
    if (reach(slot, &m->view, arg) < 0) return -1;
    slot->bound = Py_NewRef(obj);
    slot->base = m->view.data;
    slot->writable = !m->readonly;
    return 0;
}

static int read_bound(PyObject *obj, const char *arg, gb_py_slot *slot) {
    gb_py_memory m;
    if (gpu_of(obj) != slot->gpu || !memory_of(obj, &m))
        return gb_py_fail(PyExc_TypeError,
                          "%s: expected (name, dtype, shape, strides, writable[, dims, halo]), "
                          "(name, nbytes, writable), or an ndarray or "
                          "Field on the %s, got %R",
                          arg, slot->gpu ? "program's GPU" : "host", Py_TYPE(obj));
    return bind(obj, &m, arg, slot);
}

/* (rows, turns): two buffers; the lowest bit of turns[0] chooses one when a program runs. */
static int read_turning(PyObject *pair, const char *arg, gb_py_slot *slot) {
    gb_py_memory rows, turns;
    if (slot->gpu || gb_py_memory_of(PyTuple_GetItem(pair, 0), &rows) <= 0 ||
        gb_py_memory_of(PyTuple_GetItem(pair, 1), &turns) <= 0 || rows.view.ndim != 2 ||
        rows.view.shape[0] != 2 || turns.view.ndim != 1 || turns.view.shape[0] < 1 ||
        turns.view.itemsize != sizeof(int64_t))
        return gb_py_fail(
            PyExc_TypeError,
            "%s: expected an array of two rows on the host and int64 that count, got %R", arg,
            pair);
    slot->turns = (const int64_t *)turns.view.data;
    slot->step = rows.view.strides[0];
    rows.view.ndim--;
    rows.view.shape++;
    rows.view.strides++;
    return bind(pair, &rows, arg, slot);
}

static int read_field(PyObject *tuple, const char *arg, gb_py_slot *slot) {
    int64_t shape[GB_COPY_DIMS], strides[GB_COPY_DIMS];
    char text[64];
    if (!PyArray_DescrConverter(PyTuple_GetItem(tuple, 1), &slot->descr)) return -1;
    if (!gb_py_descr_trivially_copyable(slot->descr))
        return gb_py_fail(PyExc_TypeError, "%s: elements of dtype %R are not plain bytes", arg,
                          slot->descr);
    snprintf(text, sizeof text, "%s: shape", arg);
    int n = gb_py_ints(PyTuple_GetItem(tuple, 2), text, shape, GB_COPY_DIMS);
    if (n < 0) return -1;
    snprintf(text, sizeof text, "%s: strides", arg);
    int m = gb_py_ints(PyTuple_GetItem(tuple, 3), text, strides, GB_COPY_DIMS);
    if (m < 0) return -1;
    if (m != n) return gb_py_fail(PyExc_ValueError, "%s: %d sizes and %d strides", arg, n, m);
    gb_copy_view v = {NULL, PyDataType_ELSIZE(slot->descr), GB_RAW, n, shape, strides};
    if (reach(slot, &v, arg) < 0 || keep_lists(slot, &v) < 0) return -1;
    return PyTuple_Size(tuple) < 7
               ? 0
               : keep_meaning(slot, PyTuple_GetItem(tuple, 5), PyTuple_GetItem(tuple, 6), arg);
}

int gb_py_slot_read(PyObject *obj, Py_ssize_t number, gb_py_slot *slot) {
    char arg[64];
    snprintf(arg, sizeof arg, "slots[%zd]", number);
    Py_ssize_t n = PyTuple_Check(obj) ? PyTuple_Size(obj) : 0;
    if (n == 2) return read_turning(obj, arg, slot);
    if (n != 3 && n != 5 && n != 7) return read_bound(obj, arg, slot);
    PyObject *name = PyTuple_GetItem(obj, 0);
    int writable = PyObject_IsTrue(PyTuple_GetItem(obj, n == 3 ? 2 : 4));
    if (writable < 0) return -1;
    if (!PyUnicode_Check(name))
        return gb_py_fail(PyExc_TypeError, "%s: name: expected a str, got %R", arg, name);
    slot->name = Py_NewRef(name);
    slot->writable = (uint8_t)writable;
    if (n != 3) return read_field(obj, arg, slot);
    if (slot->gpu) return gb_py_fail(PyExc_ValueError, "%s: a GPU's messages are Fields", arg);
    if (gb_py_int64(PyTuple_GetItem(obj, 1), arg, "a number of bytes", &slot->end) < 0) return -1;
    if (slot->end < 0 || slot->end > (int64_t)1 << 60)
        return gb_py_fail(PyExc_ValueError, "%s: %lld bytes", arg, (long long)slot->end);
    return 0;
}

/* ---- taking ---- */

/* The stride of an axis of one element is not compared. */
static int same_strides(const gb_py_slot *slot, const int64_t *strides) {
    for (int i = 0; i < slot->ndim; i++)
        if (strides[i] != slot->strides[i] && slot->shape[i] > 1) return slot->end == 0;
    return 1;
}

static int other_numbers(const gb_py_slot *slot, const char *what, const int64_t *wanted,
                         int n_wanted, const int64_t *given, int n_given) {
    GB_PY_OWNED PyObject *a = gb_py_ints_tuple(given, n_given),
                         *b = gb_py_ints_tuple(wanted, n_wanted);
    if (a && b)
        PyErr_Format(PyExc_ValueError, "%U: %s %R; the plan was made for %R", slot->name, what, a,
                     b);
    return -1;
}

static int take_view(const gb_py_slot *slot, const gb_py_memory *m, char **base) {
    size_t list = (size_t)slot->ndim * sizeof(int64_t);
    if (m->view.ndim != slot->ndim || memcmp(m->view.shape, slot->shape, list))
        return other_numbers(slot, "shape", slot->shape, slot->ndim, m->view.shape, m->view.ndim);
    if (memcmp(m->view.strides, slot->strides, list) && !same_strides(slot, m->view.strides))
        return other_numbers(slot, "strides in bytes", slot->strides, slot->ndim, m->view.strides,
                             m->view.ndim);
    if (slot->writable && m->readonly)
        return gb_py_fail(PyExc_ValueError, "%U: it is read-only, and the plan writes to it",
                          slot->name);
    *base = m->view.data;
    return 0;
}

static int take_buffer(const gb_py_slot *slot, PyObject *obj, Py_buffer *view, char **base) {
    if (PyObject_GetBuffer(obj, view, PyBUF_SIMPLE) < 0) {
        view->obj = NULL;
        return -1;
    }
    if (view->len != slot->end)
        return gb_py_fail(PyExc_ValueError, "%U: %zd bytes; the plan was made for %lld", slot->name,
                          view->len, (long long)slot->end);
    if (slot->writable && view->readonly)
        return gb_py_fail(PyExc_ValueError, "%U: it is read-only, and the plan writes to it",
                          slot->name);
    *base = view->buf;
    return 1;
}

/* An equal dtype may be another object; comparing them may run Python code (a title's __eq__). */
static int compare_dtypes(gb_py_slot *slot, PyArray_Descr *descr) {
    Py_INCREF((PyObject *)descr);
    if (!PyArray_EquivTypes(slot->descr, descr)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%U: dtype %S; the plan was made for %S", slot->name,
                         descr, slot->descr);
        Py_DECREF((PyObject *)descr);
        return -1;
    }
    GB_PY_OWNED PyObject *before = (PyObject *)slot->equal;
    slot->equal = descr;
    return 1;
}

/* Compare dims and halo of a Field with the plan's, as far as both are given. */
static int means_the_same(const gb_py_slot *slot, const gb_py_field *f) {
    int same = 1;
    if (!slot->dims) return 1;
    for (int i = 0; f->dims_given && i < slot->ndim; i++)
        same &= f->geometry.dims[i] == slot->dims[i];
    for (int i = 0; f->halo && i < 2 * slot->ndim; i++) same &= f->halo[i] == slot->halo[i];
    return same;
}

static int other_meaning(const gb_py_slot *slot, const gb_py_field *f) {
    int n = slot->ndim, halo = !f->dims_given || memcmp(f->geometry.dims, slot->dims,
                                                        (size_t)n * sizeof *slot->dims) == 0;
    GB_PY_OWNED PyObject *a =
        halo ? gb_py_pairs_tuple(f->halo, n) : gb_py_dims_tuple(f->geometry.dims, n);
    GB_PY_OWNED PyObject *b =
        halo ? gb_py_pairs_tuple(slot->halo, n) : gb_py_dims_tuple(slot->dims, n);
    if (a && b)
        PyErr_Format(PyExc_ValueError, "%U: %s %R; the plan was made for %R", slot->name,
                     halo ? "halo" : "dims", a, b);
    return -1;
}

/* Fast path: Fields on the host, exactly as planned. */
static int is_as_planned(const gb_py_slot *slot, const gb_py_field *f) {
    int ndim = slot->ndim, same = f->geometry.ndim == ndim && f->dtype->descr == slot->descr &&
                                  !(slot->writable && f->readonly);
    for (int i = 0; same && i < ndim; i++)
        same = f->geometry.shape[i] == slot->shape[i] && f->geometry.strides[i] == slot->strides[i];
    return same && means_the_same(slot, f);
}

static int other_location(const gb_py_slot *slot, int gpu) {
    char is[32] = "on the host", wanted[32] = "on the host";
    if (gpu) snprintf(is, sizeof is, "on GPU %d", gpu - 1);
    if (slot->gpu) snprintf(wanted, sizeof wanted, "on GPU %d", slot->gpu - 1);
    return gb_py_fail(PyExc_ValueError, "%U: it lies %s; the plan was made for a field %s",
                      slot->name, is, wanted);
}

static int take_field(gb_py_slot *slot, gb_py_field *f, char **base, int first) {
    int gpu = gpu_of((PyObject *)f);
    if (gpu != slot->gpu) return other_location(slot, gpu);
    int waited = first && !gpu && gb_py_needs_driver(&f->location);
    if (waited && gb_py_require_host_access(f) < 0) return -1;
    gb_py_memory m = gb_py_memory_of_field(f);
    if (m.descr != slot->descr && m.descr != slot->equal) return compare_dtypes(slot, m.descr);
    if (take_view(slot, &m, base) < 0) return -1;
    if (!means_the_same(slot, f)) return other_meaning(slot, f);
    return waited;
}

static int take_array(gb_py_slot *slot, PyObject *obj, char **base) {
    gb_py_memory m;
    if (slot->gpu || !gb_py_memory_of(obj, &m))
        return gb_py_fail(PyExc_TypeError, "%U: expected a Field%s, got %R", slot->name,
                          slot->gpu ? "" : " or an ndarray", Py_TYPE(obj));
    if (m.descr != slot->descr && m.descr != slot->equal) return compare_dtypes(slot, m.descr);
    return take_view(slot, &m, base);
}

int gb_py_slot_take(gb_py_slot *slot, PyObject *obj, Py_buffer *view, char **base, int first) {
    if (!slot->descr) return take_buffer(slot, obj, view, base);
    if (!gb_py_is_field(obj)) return take_array(slot, obj, base);
    gb_py_field *f = (gb_py_field *)obj;
    if (slot->gpu || Py_TYPE(obj) != gb_py_HostFieldType || !is_as_planned(slot, f))
        return take_field(slot, f, base, first);
    *base = f->data;
    return 0;
}
