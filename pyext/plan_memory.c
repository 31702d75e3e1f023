/* plan_memory.c: a plan's empty(), zeros(), full() and field(): memory by a request that was worked
 * out before. */
#include "device/device.h"
#include "core/keywords.h"

#include <docs.h>

static gb_py_plan_object *of(PyObject *self) { return (gb_py_plan_object *)self; }

static PyObject *make(gb_py_plan_object *plan, int zero) {
    return gb_py_plan_on_heap(plan->plan) ? gb_py_array_of(plan, zero)
                                          : gb_py_device_array(plan, zero, NULL);
}

static PyObject *empty(PyObject *self, PyObject *unused) { return make(of(self), 0); }
static PyObject *zeros(PyObject *self, PyObject *unused) { return make(of(self), 1); }

static PyObject *full(PyObject *self, PyObject *value) {
    if (!gb_py_plan_on_heap(of(self)->plan)) return gb_py_device_array(of(self), 0, value);
    PyObject *array = gb_py_array_of(of(self), 0);
    if (array && gb_py_assign(array, value) < 0) Py_CLEAR(array);
    return array;
}

/* halo and origin, as for Field.empty; the plan's dims are given. */
static PyObject *field(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_py_signature sig = {
        "field", {0}, 0, 0, GB_PY_ARG_BIT(GB_PY_ARG_HALO) | GB_PY_ARG_BIT(GB_PY_ARG_ORIGIN), 0};
    PyObject *slots[GB_PY_ARG_COUNT];
    gb_py_meta meta;
    const gb_geometry *g = &of(self)->plan->geometry;
    if (nargs == 0 && !kwnames) {
        gb_py_meta_clear(&meta);
    } else if (gb_py_args(&sig, args, nargs, kwnames, slots) < 0 ||
               gb_py_read_meta(slots[GB_PY_ARG_ORIGIN], slots[GB_PY_ARG_HALO], g->shape, g->ndim,
                               &meta) < 0) {
        return NULL;
    }
    gb_py_field *f = gb_py_field_over_plan(of(self), 0);
    if (f) f->dims_given = 1;
    if (f && gb_py_field_set_meta(f, &meta) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

static PyMethodDef methods[] = {
    {"empty", empty, METH_NOARGS, GB_PY_DOC_Plan_empty},
    {"zeros", zeros, METH_NOARGS, GB_PY_DOC_Plan_zeros},
    {"full", full, METH_O, GB_PY_DOC_Plan_full},
    {"field", (PyCFunction)(void *)field, METH_FASTCALL | METH_KEYWORDS, GB_PY_DOC_Plan_field},
    {NULL},
};

/* The type stands in core/, which knows neither Fields nor the driver. */
int gb_py_plan_memory_init(PyObject *module) {
    for (PyMethodDef *method = methods; method->ml_name; method++) {
        GB_PY_OWNED PyObject *made = PyDescr_NewMethod(gb_py_PlanType, method);
        if (!made || PyObject_SetAttrString((PyObject *)gb_py_PlanType, method->ml_name, made) < 0)
            return -1;
    }
    return 0;
}
