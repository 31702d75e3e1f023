/* array.c: gridbuf.empty and its kin: exactly np.ndarray, laid out by a plan. */
#include "device.h"
#include "memory.h"

#include <string.h>

int gb_plan_allocate(const gb_plan *plan, int zero, void **data) {
    int fresh;
    if (gb_allocate(&plan->want, data, &fresh) < 0) return -1;
    int64_t span = plan->want.span;
    if (!zero || fresh || gb_zero(*data, span) == 0 || gb_fill_zero(*data, span) == 0) return 0;
    gb_release(*data);   /* Ctrl-C */
    return -1;
}

PyObject *gb_array_over(const gb_geometry *g, gb_dtype *dtype, void *data, int writable, PyObject *base) {
    Py_INCREF((PyObject *)dtype->descr);
    int flags = writable ? NPY_ARRAY_WRITEABLE : 0;
    npy_intp *strides = (npy_intp *)g->strides;
    if (g->flags & (GB_C_PACKED | GB_F_PACKED) && ((uintptr_t)data & (dtype->alignment - 1)) == 0) {
        /* NumPy fills in these strides by itself, and then need not look for contiguity. */
        strides = NULL;
        flags |= NPY_ARRAY_ALIGNED | (g->flags & GB_C_PACKED ? NPY_ARRAY_C_CONTIGUOUS : NPY_ARRAY_F_CONTIGUOUS);
    }
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype->descr, g->ndim, (npy_intp *)g->shape, strides, data, flags, NULL);
    if (base) {
        if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0) Py_CLEAR(array);
    } else if (array) {
        ((PyArrayObject_fields *)array)->mem_handler = Py_NewRef(gb_handler);
        PyArray_ENABLEFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA);
    } else {
        gb_release(data);
    }
    return array;
}

PyObject *gb_array_of(gb_plan_object *plan, int zero) {
    void *data;
    if (gb_plan_allocate(plan->plan, zero, &data) < 0) return NULL;
    return gb_array_over(&plan->plan->geometry, plan->dtype, data, 1, NULL);
}

static PyObject *make(const gb_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, int zero) {
    PyObject *slots[A_COUNT];
    gb_meta meta;
    gb_plan_object *plan = gb_plan_for_call(sig, args, nargs, kwnames, &meta, slots);
    if (!plan) return NULL;
    PyObject *array = gb_plan_on_heap(plan->plan) ? gb_array_of(plan, zero) : gb_device_array(plan, zero, NULL);
    Py_DECREF((PyObject *)plan);
    return array;
}

/* value: what to fill it with, or NULL: the call's own fill_value. */
static PyObject *make_filled(const gb_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject *value) {
    PyObject *slots[A_COUNT];
    gb_meta meta;
    gb_plan_object *plan = gb_plan_for_call(sig, args, nargs, kwnames, &meta, slots);
    if (!plan) return NULL;
    if (!value) value = slots[A_FILL_VALUE];   /* calls with one are not cached: slots are filled in */
    PyObject *array = gb_plan_on_heap(plan->plan) ? gb_array_of(plan, 0) : gb_device_array(plan, 0, value);
    if (array && gb_plan_on_heap(plan->plan) && gb_assign(array, value) < 0) Py_CLEAR(array);
    Py_DECREF((PyObject *)plan);
    return array;
}

PyObject *gb_empty(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"empty", {A_SHAPE, A_DTYPE}, 2, 1, A_SPEC};
    return make(&sig, args, nargs, kwnames, 0);
}

PyObject *gb_zeros(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"zeros", {A_SHAPE, A_DTYPE}, 2, 1, A_SPEC};
    return make(&sig, args, nargs, kwnames, 1);
}

PyObject *gb_ones(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"ones", {A_SHAPE, A_DTYPE}, 2, 1, A_SPEC};
    PyObject *one = PyLong_FromLong(1);
    PyObject *array = one ? make_filled(&sig, args, nargs, kwnames, one) : NULL;
    Py_XDECREF(one);
    return array;
}

PyObject *gb_full(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"full", {A_SHAPE, A_FILL_VALUE, A_DTYPE}, 3, 2, A_SPEC | A_BIT(A_FILL_VALUE)};
    return make_filled(&sig, args, nargs, kwnames, NULL);
}

/* For gridbuf.storage, whose alignment counts elements and moves rows and start alike. */
PyObject *gb_empty_elements(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"empty_elements", {A_SHAPE, A_DTYPE, A_LAYOUT, A_ALIGNED_INDEX}, 4, 1,
                                     A_SPEC | A_BIT(A_ALIGNMENT)};
    return make(&sig, args, nargs, kwnames, 0);
}
