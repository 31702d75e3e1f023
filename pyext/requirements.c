/* requirements.c: whether a Field's memory is as a request wants it; gridbuf/requirements.py has the words. */
#include "field/field.h"

#include <stdlib.h>

/* unmet(data, shape, dtype, **spec): None, or what is missed first: (word, plan of a new array, boundary, bytes after one). */
PyObject *gb_unmet(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"unmet", {A_DATA, A_SHAPE, A_DTYPE}, 3, 3, A_SPEC | A_BIT(A_DATA), 0};
    static const char *const words[] = {NULL, "device", "memory", "order", "rows", "packed", "boundary"};
    PyObject *slots[A_COUNT];
    gb_request request;
    gb_meta meta;
    gb_dtype *dtype;
    gb_missed missed;
    if (gb_args(&sig, args, nargs, kwnames, slots) < 0 || gb_read_request(slots, &request, &dtype, &meta) < 0) return NULL;
    gb_plan_object *wanted = gb_plan_for(&request, dtype);
    PyObject *have = wanted ? gb_plan_of(NULL, slots[A_DATA]) : NULL, *found = NULL;
    if (have && gb_is_field(slots[A_DATA]) && ((gb_field *)slots[A_DATA])->geometry.ndim == request.ndim) {
        const gb_preset *preset = slots[A_BACKEND] ? gb_preset_at(request.backend) : NULL;
        uintptr_t data = (uintptr_t)((gb_field *)slots[A_DATA])->data;
        gb_plan_compare(&request, preset, wanted->plan, ((gb_plan_object *)have)->plan, data, &missed);
        found = missed.what == GB_MEETS_ALL ? Py_NewRef(Py_None)
                                            : Py_BuildValue("(sOLL)", words[missed.what], (PyObject *)wanted, (long long)missed.boundary, (long long)missed.after);
    } else if (have) {
        PyErr_SetString(PyExc_TypeError, "data: expected a Field of the shape");
    }
    Py_XDECREF(have);
    Py_XDECREF((PyObject *)wanted);
    Py_DECREF((PyObject *)dtype);
    return found;
}
