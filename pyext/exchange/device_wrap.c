/* device_wrap.c: Fields over device memory of other libraries: cupy's arrays, and objects with
 * __cuda_array_interface__. */
#include "exchange.h"
#include "../core/attribute.h"
#include "../core/references.h"
#include "../core/upcall.h"

/* Look at the type first: the instance would make cupy look at its stream, and torch's and jax's
 * arrays on the host have the attribute there too. Some objects have it in their own dict, or make
 * it in
 * __getattr__. */
int gb_py_has_cuda_interface(PyObject *obj) {
    if (PyArray_Check(obj) || PyType_Check(obj)) return 0;
    if (gb_py_is_field(obj)) return gb_py_needs_driver(&((gb_py_field *)obj)->location);
    int has = gb_py_has_any((PyObject *)Py_TYPE(obj), &gb_py_attr.cuda_array_interface, 1);
    return has ? has : gb_py_has_any(obj, &gb_py_attr.cuda_array_interface, 1);
}

/* Location of the memory at an address, from the driver. */
static int find_location(uintptr_t data, gb_py_location *location) {
    int kind, device;
    gb_cuda_error e;
    if (!data) return 0; /* no elements, nowhere */
    if (gb_cuda_pointer_attributes(data, &kind, &device, &e) < 0) return gb_py_cuda_raise(&e);
    if (kind < 0)
        return gb_py_fail(
            PyExc_ValueError,
            "data: the address %p in __cuda_array_interface__ is not memory that CUDA knows",
            (void *)data);
    *location = (gb_py_location){.kind = (uint8_t)(GB_PY_ON_DEVICE + kind),
                                 .gpu = kind != GB_CUDA_PINNED,
                                 .device = kind == GB_CUDA_PINNED ? 0 : (int16_t)device};
    return 0;
}

static PyObject *after_stream(PyTypeObject *type, const gb_py_imported *m,
                              unsigned long long stream) {
    gb_cuda_queue producer;
    int device = m->location.device;
    if (stream && (gb_py_queue_of(stream, device, &producer) < 0 ||
                   gb_py_queue_wait(gb_py_queue_for(device), producer) < 0))
        return NULL;
    return gb_py_from_memory(type, m);
}

static PyObject *of_interface(PyTypeObject *type, PyObject *obj, PyObject *interface) {
    gb_py_described t = {0};
    PyObject *object = NULL;
    if (gb_py_read_cuda_interface(&t, obj, interface) == 0) {
        const gb_interface *d = &t.memory;
        gb_py_imported m = {.descr = t.descr,
                            .ndim = d->ndim,
                            .shape = d->shape,
                            .strides = d->strides,
                            .data = (char *)(uintptr_t)d->data,
                            .readonly = t.readonly,
                            .owner = t.owner,
                            .location = {.kind = GB_PY_ON_DEVICE, .gpu = 1}};
        if (find_location((uintptr_t)d->data, &m.location) == 0)
            object = after_stream(type, &m, (unsigned long long)t.stream);
    }
    gb_py_described_clear(&t);
    return object;
}

/* cupy's description is trusted. described: owner, address, shape, strides, dtype, device, current
 * stream. */
static PyObject *of_cupy(PyTypeObject *type, PyObject *described) {
    int64_t shape[GB_MAXDIMS], strides[GB_MAXDIMS];
    PyObject *owner, *sizes, *steps;
    PyArray_Descr *descr;
    unsigned long long address, stream;
    int device;
    if (!PyArg_ParseTuple(described, "OKOOO!iK", &owner, &address, &sizes, &steps,
                          &PyArrayDescr_Type, &descr, &device, &stream))
        return NULL;
    int n = gb_py_ints(sizes, "shape", shape, GB_MAXDIMS),
        nstrides = n < 0 ? -1 : gb_py_ints(steps, "strides", strides, GB_MAXDIMS);
    if (nstrides < 0) return NULL;
    if (n != nstrides)
        return PyErr_Format(PyExc_ValueError, "data: %d strides for a shape of %d indices",
                            nstrides, n);
    gb_py_imported m = {.descr = descr,
                        .ndim = n,
                        .shape = shape,
                        .strides = strides,
                        .data = (char *)(uintptr_t)address,
                        .owner = owner};
    m.location =
        gb_py_is_block(owner)
            ? gb_py_block_location(((gb_py_block_object *)owner)->block, 1)
            : (gb_py_location){.kind = GB_PY_ON_DEVICE, .gpu = 1, .device = (int16_t)device};
    return after_stream(type, &m, stream);
}

PyObject *gb_py_wrap_cuda(PyTypeObject *type, PyObject *obj) {
    GB_PY_OWNED PyObject *described = gb_py_upcall_to(GB_PY_UP_CUPY_MEMORY, "(O)", obj);
    GB_PY_HELD PyObject *interface = NULL;
    if (!described) return NULL;
    if (described != Py_None) return of_cupy(type, described);
    int found = gb_py_optional(obj, gb_py_attr.cuda_array_interface, &interface);
    if (found < 0) return NULL;
    return found && interface != Py_None ? of_interface(type, obj, interface)
                                         : Py_NewRef(Py_NotImplemented);
}
