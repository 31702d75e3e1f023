/* axes.c: axis=, axes= and keepdims= as words of the encoded request; gufunc/axes.go turns operands
 * by them. */
#include "gufunc.h"

/* How many axes, and which; as many words as that, or -1. */
static int read_entry(PyObject *obj, int64_t *to) {
    int n = 1;
    if (!PyIndex_Check(obj) || PySequence_Check(obj))
        n = gb_py_ints(obj, "axes", to + 1, GB_GU_MAXCORE);
    else if (gb_py_int64(obj, "axes", "an int or a tuple of ints for each operand", &to[1]) < 0)
        n = -1;
    to[0] = n;
    return n < 0 ? -1 : n + 1;
}

static int read_list(gb_py_invocation *v, PyObject *axes) {
    GB_PY_OWNED PyObject *list = PyAnySet_Check(axes) ? NULL : PySequence_Tuple(axes);
    if (!list) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        return PyErr_Format(PyExc_TypeError,
                            "axes: expected a list with an entry for each operand, got %R", axes),
               -1;
    }
    int n = (int)PyTuple_Size(list), words;
    if (n > v->nop) return gb_py_setup_error("axes: %d entries for %d operands", n, v->nop);
    v->axes[v->naxes++] = n;
    for (int i = 0; i < n; i++, v->naxes += words)
        if ((words = read_entry(PyTuple_GetItem(list, i), &v->axes[v->naxes])) < 0) return -1;
    v->arrangement |= GB_BRIDGE_AXES;
    return 0;
}

static int read_axis(gb_py_invocation *v, PyObject *axis) {
    int32_t code;
    v->arrangement |= PyUnicode_Check(axis) ? GB_BRIDGE_AXIS_NAME : GB_BRIDGE_AXIS;
    v->naxes = 1;
    if (!PyUnicode_Check(axis)) return gb_py_int64(axis, "axis", "an int or a name", &v->axes[0]);
    if (gb_py_dims(axis, "axis", &code, 1) == 1) return v->axes[0] = code, 0;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "axis: expected an int or one name");
    return -1;
}

int gb_py_read_axes(gb_py_invocation *v, const gb_py_keywords *k) {
    int keepdims = k->keepdims ? gb_py_bool(k->keepdims, "keepdims", "True or False") : 0;
    if (keepdims < 0) return -1;
    if (keepdims) v->arrangement = GB_BRIDGE_KEEPDIMS;
    if (k->axes && k->axis) return gb_py_setup_error("axes: it cannot be given together with axis");
    return k->axes ? read_list(v, k->axes) : k->axis ? read_axis(v, k->axis) : 0;
}
