/* constructors.c: gridbuf.empty and its kin, and gridbuf.plan, which reads the same call. */
#include "device/device.h"

static PyObject *make(const gb_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, int zero) {
    gb_meta meta;
    gb_plan_object *plan = gb_plan_for_call(sig, args, nargs, kwnames, &meta);
    if (!plan) return NULL;
    PyObject *array = gb_plan_on_heap(plan->plan) ? gb_array_of(plan, zero) : gb_device_array(plan, zero, NULL);
    Py_DECREF((PyObject *)plan);
    return array;
}

/* value: what to fill it with, or NULL: the call's own fill_value. */
static PyObject *make_filled(const gb_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject *value) {
    gb_meta meta;
    gb_plan_object *plan = gb_plan_for_call(sig, args, nargs, kwnames, &meta);
    if (!plan) return NULL;
    if (!value) value = meta.fill_value;
    PyObject *array = gb_plan_on_heap(plan->plan) ? gb_array_of(plan, 0) : gb_device_array(plan, 0, value);
    if (array && gb_plan_on_heap(plan->plan) && gb_assign(array, value) < 0) Py_CLEAR(array);
    Py_DECREF((PyObject *)plan);
    return array;
}

PyObject *gb_empty(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"empty", {A_SHAPE, A_DTYPE}, 2, 1, A_SPEC, 1};
    return make(&sig, args, nargs, kwnames, 0);
}

PyObject *gb_zeros(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"zeros", {A_SHAPE, A_DTYPE}, 2, 1, A_SPEC, 1};
    return make(&sig, args, nargs, kwnames, 1);
}

PyObject *gb_ones(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"ones", {A_SHAPE, A_DTYPE}, 2, 1, A_SPEC, 1};
    PyObject *one = PyLong_FromLong(1);
    PyObject *array = one ? make_filled(&sig, args, nargs, kwnames, one) : NULL;
    Py_XDECREF(one);
    return array;
}

PyObject *gb_full(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"full", {A_SHAPE, A_FILL_VALUE, A_DTYPE}, 3, 2, A_SPEC | A_BIT(A_FILL_VALUE), 1};
    return make_filled(&sig, args, nargs, kwnames, NULL);
}

/* For gridbuf.storage, whose alignment counts elements and moves rows and start alike. */
PyObject *gb_empty_elements(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"empty_elements", {A_SHAPE, A_DTYPE, A_LAYOUT, A_ALIGNED_INDEX}, 4, 1,
                                     A_SPEC | A_BIT(A_ALIGNMENT), 0};
    return make(&sig, args, nargs, kwnames, 0);
}

PyObject *gb_plan_py(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"plan", {A_SHAPE, A_DTYPE}, 2, 1, A_SPEC | A_BIT(A_ALIGNMENT), 1};
    gb_meta meta;
    return (PyObject *)gb_plan_for_call(&sig, args, nargs, kwnames, &meta);
}
