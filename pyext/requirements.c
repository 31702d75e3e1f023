/* requirements.c: whether a Field's memory is as a request wants it; gridbuf/checks.py has
 * the words. */
#include "field/field.h"
#include "core/keywords.h"

/* unmet(data, shape, dtype, **spec): None, or what is missed first: (word, plan of a new array,
 * boundary, bytes after one). */
PyObject *gb_py_unmet(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_py_signature sig = {
        "unmet", {GB_PY_ARG_DATA, GB_PY_ARG_SHAPE, GB_PY_ARG_DTYPE}, 3,
        3,       GB_PY_ARG_SPEC | GB_PY_ARG_BIT(GB_PY_ARG_DATA),     0};
    static const char *const words[] = {NULL,   "device", "memory",  "order",
                                        "rows", "packed", "boundary"};
    PyObject *slots[GB_PY_ARG_COUNT];
    gb_request request;
    gb_py_meta meta;
    GB_PY_OWNED gb_py_dtype *dtype = NULL;
    gb_plan_missed missed;
    if (gb_py_args(&sig, args, nargs, kwnames, slots) < 0 ||
        gb_py_read_request(slots, &request, &dtype, &meta) < 0)
        return NULL;
    if (!gb_py_is_field(slots[GB_PY_ARG_DATA]) ||
        ((gb_py_field *)slots[GB_PY_ARG_DATA])->geometry.ndim != request.ndim)
        return PyErr_Format(PyExc_TypeError, "data: expected a Field of the shape");
    gb_py_field *f = (gb_py_field *)slots[GB_PY_ARG_DATA];
    GB_PY_OWNED gb_py_plan_object *wanted = gb_py_plan_for(&request, dtype);
    const gb_py_plan_object *have =
        wanted ? gb_py_field_plan(f)
               : NULL; /* not its attribute: a subclass's plan may be anything */
    if (!have) return NULL;
    const gb_preset *preset = slots[GB_PY_ARG_BACKEND] ? gb_preset_at(request.backend) : NULL;
    gb_plan_compare(&request, preset, wanted->plan, have->plan, (uintptr_t)f->data, &missed);
    if (missed.what == GB_PLAN_MEETS_ALL) Py_RETURN_NONE;
    return Py_BuildValue("(sOLL)", words[missed.what], (PyObject *)wanted,
                         (long long)missed.boundary, (long long)missed.after);
}
