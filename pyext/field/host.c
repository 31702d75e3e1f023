/* host.c: a Field's memory on the host: access to it, the buffer protocol (PEP 3118), the array
 * interface (version 3) and ndarrays over it. */
#include "field.h"
#include "../core/args.h"

int gb_py_require_host_access(gb_py_field *f) {
    gb_cuda_error e;
    if (f->location.kind == GB_PY_ON_DEVICE)
        return gb_py_fail(PyExc_TypeError,
                          "this Field lies on GPU %d, where the host cannot read it; "
                          "field.to(device='cpu') is a copy on the host, "
                          "field.cupy() a cupy array over the same memory",
                          (int)f->location.device);
    if (f->location.kind != GB_PY_ON_MANAGED) return 0;
    gb_cuda_block *block = gb_py_field_block(f);
    int rc;
    Py_BEGIN_ALLOW_THREADS /* work of other libraries is known to the whole device only */
    rc = block ? gb_cuda_synchronize_block(block, &e) : 0;
    if (rc == 0 && (!block || block->exported)) rc = gb_cuda_synchronize(f->location.device, &e);
    Py_END_ALLOW_THREADS
    if (rc == 0 || e.status == GB_CUDA_NO_DRIVER || e.status == GB_CUDA_NO_DEVICE)
        return 0; /* no GPU to wait for */
    return gb_py_cuda_raise(&e);
}

/* ---- protocols of NumPy ---- */

static gb_py_field *of(PyObject *self) { return (gb_py_field *)self; }

static int refuse(Py_buffer *view, const char *why) {
    view->obj = NULL;
    return gb_py_fail(PyExc_BufferError, "%s", why);
}

int gb_py_field_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    gb_py_field *f = of(self);
    const gb_geometry *g = &f->geometry;
    int c = g->flags & GB_GEOMETRY_C_CONTIGUOUS, fortran = g->flags & GB_GEOMETRY_F_CONTIGUOUS;
    if (f->location.kind != GB_PY_HEAP && gb_py_require_host_access(f) < 0) {
        view->obj = NULL;
        return -1;
    }
    if (!f->dtype->format)
        return refuse(view,
                      "this dtype has no buffer format (PEP 3118); use DLPack or field.numpy()");
    if ((flags & PyBUF_WRITABLE) && f->readonly) return refuse(view, "the Field is read-only");
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !c)
        return refuse(view, "the Field is not C-contiguous");
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !fortran)
        return refuse(view, "the Field is not Fortran-contiguous");
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !c && !fortran)
        return refuse(view, "the Field is not contiguous");
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !c)
        return refuse(view, "a buffer without strides must be C-contiguous, and the Field is not");
    int nd = (flags & PyBUF_ND) == PyBUF_ND;
    view->buf = f->data;
    view->obj = Py_NewRef(self);
    view->len = (Py_ssize_t)g->nbytes;
    view->itemsize = (Py_ssize_t)g->itemsize;
    view->readonly = f->readonly;
    view->format = flags & PyBUF_FORMAT ? f->dtype->format : NULL;
    view->ndim = nd ? g->ndim : 1;
    view->shape = nd ? (Py_ssize_t *)g->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? (Py_ssize_t *)g->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    return 0;
}

int gb_py_field_expressible(const gb_py_field *f, const char *interface) {
    if (f->dtype->typestr) return 0;
    return gb_py_fail(PyExc_AttributeError, "this Field has no %s: it cannot express %R", interface,
                      f->dtype->descr);
}

PyObject *gb_py_field_interface(const gb_py_field *f, void *address) {
    const gb_geometry *g = &f->geometry;
    GB_PY_OWNED PyObject *shape = gb_py_ints_tuple(g->shape, g->ndim);
    GB_PY_OWNED PyObject *strides = g->flags & GB_GEOMETRY_C_CONTIGUOUS
                                        ? Py_NewRef(Py_None)
                                        : gb_py_ints_tuple(g->strides, g->ndim);
    if (!shape || !strides) return NULL;
    PyObject *dict = Py_BuildValue("{s:O,s:O,s:(NN),s:O,s:i}", "shape", shape, "typestr",
                                   f->dtype->typestr, "data", PyLong_FromVoidPtr(address),
                                   PyBool_FromLong(f->readonly), "strides", strides, "version", 3);
    if (dict && f->dtype->fields && PyDict_SetItemString(dict, "descr", f->dtype->fields) < 0)
        Py_CLEAR(dict);
    return dict;
}

PyObject *gb_py_field_array_interface(PyObject *self, void *unused) {
    gb_py_field *f = of(self);
    if (gb_py_field_expressible(f, "__array_interface__") < 0) return NULL;
    if (PyDataType_HASFIELDS(f->dtype->descr) &&
        !f->dtype->format) /* structured dtypes whose offsets differ from their packed ones:
                              __array__ is exact */
        return PyErr_Format(
            PyExc_AttributeError,
            "this Field has no __array_interface__: NumPy would read %R as another dtype",
            f->dtype->descr);
    if (gb_py_require_host_access(f) < 0) return NULL;
    return gb_py_field_interface(f, f->data);
}

PyObject *gb_py_field_numpy(PyObject *self, PyObject *unused) {
    gb_py_field *f = of(self);
    if (gb_py_require_host_access(f) < 0) return NULL;
    return gb_py_array_over(&f->geometry, f->dtype, f->data, !f->readonly, self);
}
