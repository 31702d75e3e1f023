/* array.c: gridbuf.empty and its kin: exactly np.ndarray, laid out by a plan. */
#include "array.h"
#include "copying.h"
#include "memory.h"

#include <string.h>

static int missing_device(const gb_plan *plan) {
    if (plan->device == 2)
        PyErr_SetString(PyExc_RuntimeError,
                        "device: this request is for GPU memory, which this build of gridbuf cannot allocate yet; give "
                        "device='cpu' for the same layout on the host, or ask gridbuf.plan for the layout alone");
    else
        PyErr_Format(PyExc_RuntimeError,
                     "memory: '%s' memory needs a CUDA driver, which this build of gridbuf does not use yet; leave memory=None",
                     plan->memory == 1 ? "pinned" : "managed");
    return -1;
}

int gb_plan_allocate(const gb_plan *plan, int zero, void **data) {
    if (plan->device == 2 || plan->memory != 0) return missing_device(plan);
    int fresh;
    if (gb_allocate(&plan->want, data, &fresh) < 0) return -1;
    if (!zero || fresh || gb_zero(*data, plan->want.span) == 0) return 0;
    if (gb_fill_zero(*data, plan->want.span) == 0) return 0;
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

static PyObject *make(const gb_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, int zero,
                      PyObject **fill_value) {
    PyObject *slots[A_COUNT];
    gb_meta meta;
    void *data;
    gb_plan_object *plan = gb_plan_for_call(sig, args, nargs, kwnames, &meta, slots);
    if (!plan) return NULL;
    PyObject *array = NULL;
    if (gb_plan_allocate(plan->plan, zero, &data) == 0)
        array = gb_array_over(&plan->plan->geometry, plan->dtype, data, 1, NULL);
    Py_DECREF((PyObject *)plan);
    if (fill_value) *fill_value = slots[A_FILL_VALUE];
    return array;
}

static PyObject *filled(PyObject *array, PyObject *value) {
    if (array && gb_assign(array, value) < 0) Py_CLEAR(array);
    return array;
}

PyObject *gb_empty(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"empty", {A_SHAPE, A_DTYPE}, 2, 1, A_SPEC};
    return make(&sig, args, nargs, kwnames, 0, NULL);
}

PyObject *gb_zeros(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"zeros", {A_SHAPE, A_DTYPE}, 2, 1, A_SPEC};
    return make(&sig, args, nargs, kwnames, 1, NULL);
}

PyObject *gb_ones(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"ones", {A_SHAPE, A_DTYPE}, 2, 1, A_SPEC};
    PyObject *one = PyLong_FromLong(1);
    PyObject *array = one ? filled(make(&sig, args, nargs, kwnames, 0, NULL), one) : NULL;
    Py_XDECREF(one);
    return array;
}

PyObject *gb_full(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"full", {A_SHAPE, A_FILL_VALUE, A_DTYPE}, 3, 2, A_SPEC | A_BIT(A_FILL_VALUE)};
    PyObject *value;
    PyObject *array = make(&sig, args, nargs, kwnames, 0, &value);
    return filled(array, value);
}

/* For gridbuf.storage, whose alignment counts elements and moves rows and start alike. */
PyObject *gb_empty_elements(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"empty_elements", {A_SHAPE, A_DTYPE, A_LAYOUT, A_ALIGNED_INDEX}, 4, 1,
                                     A_SPEC | A_BIT(A_ALIGNMENT)};
    return make(&sig, args, nargs, kwnames, 0, NULL);
}
