/* device.c: the types of Fields in device and in managed memory: CUDA's array interface, and cupy
 * arrays. */
#include "../core/upcall.h"
#include "field.h"
#include "../../alloc/strides.h"

#include <docs.h>

static gb_py_field *of(PyObject *self) { return (gb_py_field *)self; }

/* ---- __cuda_array_interface__, version 3 ---- */

/* Pending work of gridbuf on the memory: 1 with its stream, 0, -1 with an error. */
static int pending_on(gb_py_field *f, gb_cuda_stream *stream) {
    gb_cuda_error e;
    gb_cuda_block *block = gb_py_field_block(f);
    int pending = block ? gb_cuda_in_flight(block, stream, &e) : 0;
    return pending < 0 ? gb_py_cuda_raise(&e) : pending;
}

/* Mark the block as known to other libraries, whose work on it is not tracked. */
static void show(gb_py_field *f) {
    gb_cuda_block *block = gb_py_field_block(f);
    if (block) gb_cuda_mark_exported(block);
}

static PyObject *get_interface(PyObject *self, void *_) {
    gb_py_field *f = of(self);
    gb_cuda_stream stream = 0;
    if (!gb_py_needs_driver(&f->location))
        return PyErr_Format(PyExc_AttributeError,
                            "this Field lies on the host and has no __cuda_array_interface__");
    if (gb_py_field_expressible(f, "__cuda_array_interface__") < 0) return NULL;
    int pending = pending_on(f, &stream);
    if (pending < 0) return NULL;
    show(f);
    PyObject *dict = gb_py_field_interface(f, f->geometry.size ? f->data : NULL);
    if (!dict || !pending) return dict;
    GB_PY_OWNED PyObject *number =
        PyLong_FromUnsignedLongLong(stream ? stream : 1); /* 0 is not allowed there */
    if (!number || PyDict_SetItemString(dict, "stream", number) < 0) Py_CLEAR(dict);
    return dict;
}

/* ---- cupy ---- */

/* cupy does not synchronise: its current stream is made to wait for pending work. */
static int let_cupy_wait(gb_py_field *f) {
    gb_cuda_stream stream;
    gb_cuda_error e;
    int pending = pending_on(f, &stream);
    if (pending <= 0) return pending;
    GB_PY_OWNED PyObject *number =
        gb_py_upcall_to(GB_PY_UP_CUPY_STREAM, "(i)", (int)f->location.device);
    gb_cuda_queue on = {f->location.device, number ? PyLong_AsUnsignedLongLong(number) : 0};
    if (!number) return -1;
    return gb_cuda_stream_wait_block(gb_py_field_block(f), on, &e) < 0 ? gb_py_cuda_raise(&e) : 0;
}

PyObject *gb_py_cupy_over(gb_py_field *f) {
    if (let_cupy_wait(f) < 0) return NULL;
    show(f);
    if (f->cupy) return Py_NewRef(f->cupy);
    const gb_geometry *g = &f->geometry;
    intptr_t low, high;
    if (!gb_extent(NULL, g->shape, g->strides, g->ndim, g->itemsize, &low, &high)) low = high = 0;
    GB_PY_OWNED PyObject *shape = gb_py_ints_tuple(g->shape, g->ndim),
                         *strides = gb_py_ints_tuple(g->strides, g->ndim);
    if (shape && strides)
        f->cupy = gb_py_upcall_to(GB_PY_UP_CUPY_ARRAY, "(OKLLiOOO)", f->owner,
                                  (unsigned long long)(uintptr_t)f->data, (long long)-low,
                                  (long long)high, (int)f->location.device, shape, f->dtype->descr,
                                  strides);
    return Py_XNewRef(f->cupy);
}

static PyObject *to_cupy(PyObject *self, PyObject *unused) { return gb_py_cupy_over(of(self)); }

/* ---- the types ---- */

static PyGetSetDef device_getset[] = {
    {"__cuda_array_interface__", get_interface, NULL,
     "The CUDA array interface, version 3; with a stream only while our own work is pending.",
     NULL},
    {NULL},
};

static PyMethodDef device_methods[] = {
    {"__cupy_get_ndarray__", to_cupy, METH_NOARGS,
     "A cupy.ndarray over the same memory, the same one each time (cupy's protocol)."},
    {"cupy", to_cupy, METH_NOARGS, GB_PY_DOC_DeviceField_cupy},
    {NULL},
};

static PyType_Slot device_slots[] = {
    {Py_tp_dealloc, gb_py_field_dealloc},
    {Py_tp_getset, device_getset},
    {Py_tp_methods, device_methods},
    {Py_tp_doc, "A Field in the memory of a GPU. Made by gridbuf.Field."},
    {0, NULL},
};

static PyGetSetDef managed_getset[] = {
    {"__cuda_array_interface__", get_interface, NULL,
     "The CUDA array interface, version 3; with a stream only while our own work is pending.",
     NULL},
    {"__array_interface__", gb_py_field_array_interface, NULL,
     "NumPy's array interface, version 3; waits for the GPU.", NULL},
    {NULL},
};

static PyMethodDef managed_methods[] = {
    {"__cupy_get_ndarray__", to_cupy, METH_NOARGS,
     "A cupy.ndarray over the same memory, the same one each time (cupy's protocol)."},
    {"cupy", to_cupy, METH_NOARGS, GB_PY_DOC_DeviceField_cupy},
    {NULL},
};

static PyType_Slot managed_slots[] = {
    {Py_tp_dealloc, gb_py_field_dealloc},
    {Py_tp_getset, managed_getset},
    {Py_tp_methods, managed_methods},
    {Py_bf_getbuffer, gb_py_field_getbuffer},
    {Py_tp_doc, "A Field in managed memory, which host and GPU both reach. Made by gridbuf.Field."},
    {0, NULL},
};

int gb_py_device_field_init(PyObject *module) {
    PyType_Spec device = {"gridbuf.DeviceField", GB_PY_FIELD_SIZE(2), 0, GB_PY_OPEN, device_slots};
    PyType_Spec managed = {"gridbuf.ManagedField", GB_PY_FIELD_SIZE(3), 0, GB_PY_OPEN,
                           managed_slots};
    if (gb_py_add_type(module, &gb_py_DeviceFieldType, device, gb_py_FieldType) < 0) return -1;
    return gb_py_add_type(module, &gb_py_ManagedFieldType, managed, gb_py_FieldType);
}
