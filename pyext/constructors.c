/* constructors.c: gridbuf.empty and its kin, and gridbuf.plan, which reads the same call. */
#include "device/device.h"
#include "core/keywords.h"

static PyObject *make(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames, int zero) {
    gb_py_meta meta;
    GB_PY_OWNED gb_py_plan_object *plan = gb_py_plan_for_call(sig, args, nargs, kwnames, &meta);
    if (!plan) return NULL;
    return gb_py_plan_on_heap(plan->plan) ? gb_py_array_of(plan, zero)
                                          : gb_py_device_array(plan, zero, NULL);
}

/* value: what to fill it with, or NULL. */
static PyObject *make_filled(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames, PyObject *value) {
    gb_py_meta meta;
    GB_PY_OWNED gb_py_plan_object *plan = gb_py_plan_for_call(sig, args, nargs, kwnames, &meta);
    if (!plan) return NULL;
    if (!value) value = meta.fill_value;
    PyObject *array = gb_py_plan_on_heap(plan->plan) ? gb_py_array_of(plan, 0)
                                                     : gb_py_device_array(plan, 0, value);
    if (array && gb_py_plan_on_heap(plan->plan) && gb_py_assign(array, value) < 0) Py_CLEAR(array);
    return array;
}

GB_PY_DEFINE_CONSTRUCTORS(gb_py_, "", GB_PY_ARG_SPEC)

/* For gridbuf.storage, whose alignment counts elements and moves rows and start alike. */
PyObject *gb_py_empty_elements(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames) {
    static const gb_py_signature sig = {
        "empty_elements",
        {GB_PY_ARG_SHAPE, GB_PY_ARG_DTYPE, GB_PY_ARG_LAYOUT, GB_PY_ARG_ALIGNED_INDEX},
        4,
        1,
        GB_PY_ARG_SPEC | GB_PY_ARG_BIT(GB_PY_ARG_ALIGNMENT),
        0};
    return make(&sig, args, nargs, kwnames, 0);
}

PyObject *gb_py_plan(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_py_signature sig = {"plan",
                                        {GB_PY_ARG_SHAPE, GB_PY_ARG_DTYPE},
                                        2,
                                        1,
                                        GB_PY_ARG_SPEC | GB_PY_ARG_BIT(GB_PY_ARG_ALIGNMENT),
                                        1};
    gb_py_meta meta;
    return (PyObject *)gb_py_plan_for_call(&sig, args, nargs, kwnames, &meta);
}
