/* device_wrap.c: Fields over device memory of other libraries: cupy's arrays, and whatever has __cuda_array_interface__. */
#include "attribute.h"
#include "device.h"
#include "wrap.h"
#include "upcall.h"

/* On the type first: the instance would make cupy look at its stream. torch's and jax's arrays on the host have it there
 * too. Some objects have it in their own dict, or make it up when asked. */
int gb_may_be_cuda(PyObject *obj) {
    PyObject *found;
    if (PyArray_Check(obj) || PyType_Check(obj)) return 0;
    if (gb_is_field(obj)) return gb_needs_driver(&((gb_field *)obj)->place);
    int has = gb_optional((PyObject *)Py_TYPE(obj), gb_attr.cuda_array_interface, &found);
    if (has == 0) has = gb_optional(obj, gb_attr.cuda_array_interface, &found);
    if (has > 0) Py_DECREF(found);
    return has;
}

static int find_place(PyObject *owner, uintptr_t data, int said, int trusted, gb_place *place) {
    int kind, device;
    gb_cuda_error e;
    *place = (gb_place){.kind = GB_ON_DEVICE, .gpu = 1, .device = (int16_t)(said < 0 ? 0 : said)};
    if (gb_is_block(owner)) {
        *place = gb_block_place(((gb_block_object *)owner)->block, 1);
        return 0;
    }
    if (!data || trusted) return 0;   /* no elements, nowhere; and cupy knows its own memory */
    if (gb_cuda_pointer_attributes(data, &kind, &device, &e) < 0) return gb_cuda_raise(&e);
    if (kind < 0) {
        PyErr_Format(PyExc_ValueError, "data: the address %p in __cuda_array_interface__ is not memory that CUDA knows", (void *)data);
        return -1;
    }
    *place = (gb_place){.kind = (uint8_t)(kind + 1), .gpu = kind != GB_CUDA_PINNED, .device = kind == GB_CUDA_PINNED ? 0 : (int16_t)device};
    return 0;
}

static int same_length(int n, int nstrides) {
    if (n != nstrides) PyErr_Format(PyExc_ValueError, "data: %d strides for a shape of %d indices", nstrides, n);
    return n == nstrides;
}

PyObject *gb_wrap_cuda(PyTypeObject *type, PyObject *obj) {
    int64_t shape[GB_MAXDIMS], strides[GB_MAXDIMS];
    PyObject *told = gb_upcall_to(UP_DESCRIBE_CUDA, "(O)", obj), *object = NULL;
    if (!told || told == Py_NotImplemented) return told;
    PyObject *owner, *sizes, *steps;
    PyArray_Descr *descr;
    unsigned long long address, stream;
    int device, readonly, has_stream, trusted, n = -1, nstrides;
    gb_foreign m = {0};
    if (PyArg_ParseTuple(told, "OKOOO!ipppK", &owner, &address, &sizes, &steps, &PyArrayDescr_Type, &descr, &device, &readonly, &trusted,
                         &has_stream, &stream) &&
        (n = gb_ints(sizes, "shape", shape, GB_MAXDIMS)) >= 0 && (nstrides = gb_ints(steps, "strides", strides, GB_MAXDIMS)) >= 0 &&
        same_length(n, nstrides) &&
        find_place(owner, (uintptr_t)address, device, trusted, &m.place) == 0 &&
        (!has_stream || gb_queue_wait(gb_queue_for(m.place.device), (gb_cuda_queue){m.place.device, stream}) == 0)) {
        m.descr = descr;
        m.ndim = n;
        m.shape = shape;
        m.strides = strides;
        m.data = (char *)(uintptr_t)address;
        m.readonly = readonly;
        m.owner = owner;
        object = gb_over_memory(type, &m);
    }
    Py_DECREF(told);
    return object;
}
