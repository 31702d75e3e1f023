/* backends.c: gridbuf.register_backend, and the preset of a backend. */
#include "core/args.h"
#include "core/plan.h"

static int read_axes(PyObject *layout, gb_preset *preset) {
    int32_t dims[8];
    int64_t ranks[8];
    if (gb_py_in_ranks(layout)) {
        int n = gb_py_ints(layout, "layout", ranks, 8), seen = 0;
        for (int i = 0; n == 3 && i < n; i++)
            if (ranks[i] >= 0 && ranks[i] < n) {
                preset->axes[ranks[i]] = GB_DIM_LETTER(GB_DIM_I + i);
                seen |= 1 << ranks[i];
            }
        if (n < 0 || seen == 7) return n;
        return gb_py_fail(PyExc_ValueError,
                          "layout: %R is not a rank for each of I, J, K; 0 has the largest stride",
                          layout);
    }
    int n = gb_py_dims(layout, "layout", dims, 8);
    if (n < 0) return -1;
    for (int i = 0; i < n; i++) {
        if (dims[i] >= 0)
            return gb_py_fail(PyExc_ValueError,
                              "layout: %R names a data dimension; those are always slowest",
                              layout);
        preset->axes[i] = GB_DIM_LETTER(dims[i]);
    }
    return 0;
}

static int read_preset(PyObject *layout, PyObject *alignment, PyObject *device, gb_preset *preset) {
    if (alignment && gb_py_int64(alignment, "alignment", "an int (items)", &preset->alignment) < 0)
        return -1;
    int gpu =
        device && PyUnicode_Check(device) && PyUnicode_CompareWithASCIIString(device, "gpu") == 0;
    if (device && !gpu &&
        !(PyUnicode_Check(device) && PyUnicode_CompareWithASCIIString(device, "cpu") == 0))
        return gb_py_fail(PyExc_ValueError, "device: %R is not known; allowed are 'cpu' and 'gpu'",
                          device);
    preset->device = gpu ? GB_GPU : GB_CPU;
    if (!PyCallable_Check(layout)) return read_axes(layout, preset);
    preset->order = GB_BY_CALLER;
    return 0;
}

PyObject *gb_py_register_backend(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames) {
    static const gb_py_signature sig = {
        "register_backend",
        {GB_PY_ARG_NAME, GB_PY_ARG_LAYOUT},
        1,
        2,
        GB_PY_ARG_BIT(GB_PY_ARG_NAME) | GB_PY_ARG_BIT(GB_PY_ARG_LAYOUT) |
            GB_PY_ARG_BIT(GB_PY_ARG_ALIGNMENT) | GB_PY_ARG_BIT(GB_PY_ARG_DEVICE),
        0};
    PyObject *slots[GB_PY_ARG_COUNT];
    gb_preset preset = {.alignment = 1, .device = GB_CPU};
    if (gb_py_args(&sig, args, nargs, kwnames, slots) < 0) return NULL;
    if (read_preset(slots[GB_PY_ARG_LAYOUT], slots[GB_PY_ARG_ALIGNMENT], slots[GB_PY_ARG_DEVICE],
                    &preset) < 0)
        return NULL;
    if (gb_py_add_backend(slots[GB_PY_ARG_NAME], slots[GB_PY_ARG_LAYOUT], &preset) < 0) return NULL;
    /* Forget remembered calls: the name may have meant another backend in them. */
    gb_py_forget_calls();
    Py_RETURN_NONE;
}

/* preset(name, dims=None): (the ranks of dims' strides, alignment in items, device). Without dims
 * the ranks are None, and a layout that is a function is not called. */
PyObject *gb_py_preset(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    gb_request r = {.itemsize = 1, .byte_alignment = 1};
    gb_error e;
    if (nargs < 1 || nargs > 2)
        return PyErr_Format(PyExc_TypeError, "preset() takes a name and dims (%zd given)", nargs);
    int has_dims = nargs == 2 && args[1] != Py_None;
    if (has_dims) {
        r.ndim = r.dims_len = gb_py_dims(args[1], "dims", r.dims, GB_MAXDIMS);
        r.layout_len = r.aligned_len = -1;
        if (r.ndim < 0) return NULL;
    }
    if (gb_py_read_backend(args[0], &r) < 0) return NULL;
    gb_plan *plan = gb_plan_new(r.ndim);
    if (!plan) return PyErr_NoMemory();
    const gb_preset *preset = gb_preset_at(r.backend);
    if (gb_plan_request(&r, preset, plan, &e) < 0) {
        free(plan);
        gb_py_raise(&e);
        return NULL;
    }
    int64_t ranks[GB_MAXDIMS];
    for (int i = 0; i < r.ndim; i++) ranks[i] = plan->layout[i];
    free(plan);
    return Py_BuildValue("(NLN)", has_dims ? gb_py_ints_tuple(ranks, r.ndim) : Py_NewRef(Py_None),
                         (long long)preset->alignment,
                         gb_py_device_name(preset->device == GB_GPU, 0));
}
