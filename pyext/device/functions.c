/* functions.c: what gridbuf.cuda and others call: devices, streams, blocks by themselves, addresses
 * for allocators. */
#include "device.h"
#include "../../cuda/exports.h"

PyObject *gb_py_cuda_start(PyObject *self, PyObject *none) {
    gb_cuda_error e;
    return GB_PY_CUDA_UNLOCKED(&e, gb_cuda_start(&e)) < 0 ? NULL : Py_NewRef(Py_None);
}

PyObject *gb_py_cuda_started(PyObject *self, PyObject *none) {
    return PyBool_FromLong(gb_cuda_started());
}

PyObject *gb_py_cuda_devices(PyObject *self, PyObject *none) {
    gb_cuda_error e;
    int n = 0;
    if (GB_PY_CUDA_UNLOCKED(&e, gb_cuda_count(&n, &e)) < 0) return NULL;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < n; i++) {
        gb_cuda_device_info d;
        PyObject *entry = NULL;
        if (GB_PY_CUDA_UNLOCKED(&e, gb_cuda_info(i, &d, &e)) == 0)
            entry = Py_BuildValue(
                "{s:i,s:s,s:i,s:(ii),s:N,s:N,s:N,s:N,s:L,s:L}", "number", i, "name", d.name,
                "driver_version", (int)d.driver_version, "compute_capability", (int)d.compute_major,
                (int)d.compute_minor, "memory_pools", PyBool_FromLong(d.memory_pools),
                "managed_memory", PyBool_FromLong(d.managed_memory), "concurrent_managed",
                PyBool_FromLong(d.concurrent_managed), "integrated", PyBool_FromLong(d.integrated),
                "total_bytes", (long long)d.total_bytes, "free_bytes", (long long)d.free_bytes);
        gb_py_append(&list, entry);
    }
    return list;
}

PyObject *gb_py_cuda_get_stream(PyObject *self, PyObject *none) {
    return PyLong_FromUnsignedLongLong(gb_py_current_stream());
}

PyObject *gb_py_cuda_count(PyObject *self, PyObject *none) {
    gb_cuda_error e;
    int n = 0;
    return GB_PY_CUDA_UNLOCKED(&e, gb_cuda_count(&n, &e)) < 0 ? NULL : PyLong_FromLong(n);
}

/* block(kind, device, span, boundary, offset) -> (owner, address) */
PyObject *gb_py_cuda_block(PyObject *self, PyObject *args) {
    gb_cuda_request want = {0};
    long long span, boundary, offset;
    if (!PyArg_ParseTuple(args, "iiLLL", &want.kind, &want.device, &span, &boundary, &offset))
        return NULL;
    want.span = span;
    want.boundary = boundary;
    want.offset = offset;
    want.stream = gb_py_queue_for(want.device).stream;
    PyObject *owner = gb_py_block_alloc(&want);
    if (owner) gb_cuda_show(((gb_py_block_object *)owner)->block);
    return owner ? Py_BuildValue("(NK)", owner,
                                 (unsigned long long)((gb_py_block_object *)owner)->block->data)
                 : NULL;
}

/* {name: address} of the functions that other libraries allocate with (cuda/exports.h). */
PyObject *gb_py_cuda_exports(PyObject *self, PyObject *none) {
#define OF(name) #name, PyLong_FromVoidPtr((void *)gb_cuda_##name)
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N,s:N}", OF(cupy_malloc), OF(cupy_malloc_managed),
                         OF(cupy_malloc_pinned), OF(cupy_free), OF(torch_malloc), OF(torch_free),
                         OF(torch_record_stream));
}

PyObject *gb_py_cuda_synchronize(PyObject *self, PyObject *number) {
    gb_cuda_error e;
    int64_t device;
    if (gb_py_int64(number, "device", "an int", &device) < 0) return NULL;
    if (device < 0 || device > INT32_MAX)
        return PyErr_Format(PyExc_RuntimeError, "there is no GPU %R; they are numbered from 0",
                            number);
    return GB_PY_CUDA_UNLOCKED(&e, gb_cuda_synchronize((int)device, &e)) < 0 ? NULL
                                                                             : Py_NewRef(Py_None);
}

PyObject *gb_py_cuda_set_stream(PyObject *self, PyObject *handle) {
    unsigned long long value = PyLong_AsUnsignedLongLong(handle);
    if (value == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
    return PyLong_FromUnsignedLongLong(gb_py_use_stream(value).stream);
}
