/* copyto.c: gridbuf.copyto. What the kernels do not do (objects, strings of another length, ...) NumPy does. */
#include "device.h"

#include <string.h>

static PyObject *shape_tuple(const gb_view *v) { return gb_ints_tuple(v->shape, v->ndim); }

/* src's strides with dst's shape; a leading 1 too many is dropped, as NumPy does. */
int gb_broadcast(gb_view *src, const gb_view *dst, int64_t *strides) {
    int extra = src->ndim - dst->ndim, fits = 1;
    for (int i = 0; i < extra; i++) fits = fits && src->shape[i] == 1;
    memset(strides, 0, dst->ndim * sizeof *strides);
    for (int i = fits ? dst->ndim - 1 : -1; i >= 0 && i + extra >= 0; i--) {
        int64_t n = src->shape[i + extra];
        if (n == dst->shape[i]) strides[i] = src->strides[i + extra];
        else if (n != 1) fits = 0;
    }
    if (!fits) {
        PyObject *from = shape_tuple(src), *to = shape_tuple(dst);
        if (from && to) PyErr_Format(PyExc_ValueError, "src: shape %R does not broadcast to dst's shape %R", from, to);
        Py_XDECREF(from);
        Py_XDECREF(to);
        return -1;
    }
    src->ndim = dst->ndim;
    src->shape = dst->shape;
    src->strides = strides;
    return 0;
}

/* 1: the kernels convert; 0: NumPy has to. */
int gb_convertible(gb_memory *dst, gb_memory *src, NPY_CASTING casting) {
    if (src->descr == dst->descr || PyArray_EquivTypes(src->descr, dst->descr)) {
        if (casting == NPY_NO_CASTING && src->descr->byteorder != dst->descr->byteorder) return 0;
        return gb_descr_movable(dst->descr);
    }
    dst->view.type = gb_descr_type(dst->descr);
    src->view.type = gb_descr_type(src->descr);
    if (dst->view.type < 0 || src->view.type < 0) return 0;
    if (src->view.type >= GB_C64 && dst->view.type < GB_C64) return 0;   /* NumPy warns of the lost part */
    if (src->view.ndim == 0) return 0;                                   /* NumPy 1 looks at a single value */
    return PyArray_CanCastTypeTo(src->descr, dst->descr, casting);
}

static int refuse_readonly(const gb_memory *dst) {
    if (dst->readonly) PyErr_SetString(PyExc_ValueError, "dst: it is read-only");
    return -dst->readonly;
}

int gb_copy_memory(gb_memory *dst, gb_memory *src, NPY_CASTING casting, PyObject *progress) {
    int64_t strides[GB_COPY_DIMS];
    if (refuse_readonly(dst) < 0) return -1;
    if (!gb_convertible(dst, src, casting)) return 0;
    if (gb_broadcast(&src->view, &dst->view, strides) < 0) return -1;
    gb_copy copy;
    return gb_copy_finish(&copy, gb_copy_plan(&copy, &dst->view, &src->view), progress) < 0 ? -1 : 1;
}

/* Python's part: arguments of every other kind. */
static PyObject *any_copyto(PyObject *dst, PyObject *src, PyObject *casting, PyObject *progress) {
    static PyObject *function;
    if (!function) {
        PyObject *module = PyImport_ImportModule("gridbuf.transfer");
        function = module ? PyObject_GetAttrString(module, "_copyto_any") : NULL;
        Py_XDECREF(module);
        if (!function) return NULL;
    }
    return PyObject_CallFunctionObjArgs(function, dst, src, casting ? casting : Py_None, progress ? progress : Py_None, NULL);
}

static int keyword(PyObject *name, PyObject *value, PyObject **casting, PyObject **progress) {
    if (PyUnicode_CompareWithASCIIString(name, "casting") == 0) *casting = value;
    else if (PyUnicode_CompareWithASCIIString(name, "progress") == 0) *progress = value == Py_None ? NULL : value;
    else return PyErr_Format(PyExc_TypeError, "copyto() has no argument %R; it has dst, src, casting and progress", name), -1;
    return 0;
}

/* By position. */
static PyObject *copied(PyObject *to, PyObject *from, NPY_CASTING rule, PyObject *casting, PyObject *progress) {
    gb_memory dst, src;
    if (gb_memory_of(to, &dst) && gb_memory_of(from, &src)) {
        int rc = gb_copy_memory(&dst, &src, rule, progress);
        if (rc) return rc < 0 ? NULL : Py_NewRef(Py_None);
    }
    int on_device = gb_may_be_cuda(to);
    if (on_device == 0) on_device = gb_may_be_cuda(from);
    if (on_device > 0) on_device = gb_device_copyto(to, from, rule, progress);
    if (on_device) return on_device < 0 ? NULL : Py_NewRef(Py_None);
    return any_copyto(to, from, casting, progress);
}

PyObject *gb_copyto(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *casting = NULL, *progress = NULL;
    if (nargs != 2) return PyErr_Format(PyExc_TypeError, "copyto() takes dst and src, got %zd positional arguments", nargs);
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_Size(kwnames); i++)
        if (keyword(PyTuple_GetItem(kwnames, i), args[nargs + i], &casting, &progress) < 0) return NULL;
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;
    if (casting && !PyArray_CastingConverter(casting, &rule)) return NULL;
    if (progress && !PyCallable_Check(progress))
        return PyErr_Format(PyExc_TypeError, "progress: expected a function of a float from 0 to 1, got %R", progress);
    PyObject *values = gb_fitted(args[0], args[1], "src");
    PyObject *done = values ? copied(args[0], values, rule, casting, progress) : NULL;
    Py_XDECREF(values);
    return done;
}
