/* register.c: gridbuf.register_backend. */
#include "core/pending.h"
#include "core/plan.h"

static int read_axes(PyObject *layout, gb_preset *preset) {
    int32_t dims[8];
    int64_t ranks[8];
    if (gb_py_in_ranks(layout)) {
        int n = gb_py_ints(layout, "layout", ranks, 8), seen = 0;
        for (int i = 0; n == 3 && i < n; i++)
            if (ranks[i] >= 0 && ranks[i] < n) preset->axes[ranks[i]] = GB_DIM_LETTER(GB_DIM_I + i), seen |= 1 << ranks[i];
        return n < 0 || seen == 7 ? n : (PyErr_Format(PyExc_ValueError, "layout: %R is not a rank for each of I, J, K; 0 has the largest stride", layout), -1);
    }
    int n = gb_py_dims(layout, "layout", dims, 8);
    if (n < 0) return -1;
    for (int i = 0; i < n; i++) {
        if (dims[i] >= 0)
            return PyErr_Format(PyExc_ValueError, "layout: %R names a data dimension; those are always slowest", layout), -1;
        preset->axes[i] = GB_DIM_LETTER(dims[i]);
    }
    return 0;
}

static int read_preset(PyObject *layout, PyObject *alignment, PyObject *device, gb_preset *preset) {
    if (alignment && gb_py_int64(alignment, "alignment", "an int (items)", &preset->alignment) < 0) return -1;
    int gpu = device && PyUnicode_Check(device) && PyUnicode_CompareWithASCIIString(device, "gpu") == 0;
    if (device && !gpu && !(PyUnicode_Check(device) && PyUnicode_CompareWithASCIIString(device, "cpu") == 0))
        return PyErr_Format(PyExc_ValueError, "device: %R is not known; allowed are 'cpu' and 'gpu'", device), -1;
    preset->device = gpu ? GB_GPU : GB_CPU;
    if (!PyCallable_Check(layout)) return read_axes(layout, preset);
    preset->order = GB_BY_CALLER;
    return 0;
}

PyObject *gb_py_register_backend(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", "layout", "alignment", "device", NULL};
    PyObject *name, *layout = NULL, *alignment = NULL, *device = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOO:register_backend", names, &name, &layout, &alignment, &device))
        return gb_py_blame_keyword("register_backend", kwargs, names), NULL;
    if (!PyUnicode_Check(name)) return PyErr_Format(PyExc_TypeError, "name: expected a str, got %R", name);
    if (!layout) return PyErr_SetString(PyExc_TypeError, "register_backend() is missing the required argument 'layout'"), NULL;
    PyObject *held[] = {name, layout, alignment, device};   /* kwargs may be somebody's dict */
    for (int i = 0; i < 4; i++) Py_XINCREF(held[i]);
    gb_preset preset = {.alignment = 1, .device = GB_CPU};
    int rc = read_preset(layout, alignment, device, &preset) < 0 || gb_py_add_backend(name, layout, &preset) < 0 ? -1 : 0;
    if (rc == 0) gb_py_forget_calls();   /* in which the name may have meant another backend */
    for (int i = 0; i < 4; i++) gb_py_let_go(held[i]);
    return rc < 0 ? NULL : Py_NewRef(Py_None);
}
