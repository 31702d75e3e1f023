/* functions.c: functions for gridbuf.cuda and gridbuf.copy_async: devices, streams, blocks,
 * addresses for allocators, and asynchronous copies. */
#include "device.h"
#include "../exchange/exchange.h"
#include "../../cuda/cuda.h"

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
    if (owner) gb_cuda_mark_exported(((gb_py_block_object *)owner)->block);
    return owner ? Py_BuildValue("(NK)", owner,
                                 (unsigned long long)((gb_py_block_object *)owner)->block->data)
                 : NULL;
}

/* {name: address} of the functions that other libraries allocate with (cuda/cuda.h). */
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

/* ---- gridbuf.copy_async ---- */

/* Whether the driver alone does the copy: no conversion, and pinned memory on the host's side. */
static int is_at_once(gb_py_field *dst, gb_py_field *src) {
    gb_py_memory to = gb_py_memory_of_field(dst), from = gb_py_memory_of_field(src);
    const gb_py_field *host = gb_py_on_gpu(dst) ? src : dst;
    if (gb_py_on_gpu(dst) && gb_py_on_gpu(src)) host = NULL;
    if (host && host->location.kind != GB_PY_ON_PINNED) return 0;
    if (!PyArray_EquivTypes(to.descr, from.descr) || !gb_py_descr_trivially_copyable(to.descr))
        return 0;
    return gb_py_on_gpu(dst) || src->geometry.size == dst->geometry.size;
}

/* Whether a stream's GPU has a part in the copy; 0 with an error. */
static int takes_part(int owner, gb_py_field *dst, gb_py_field *src) {
    if (owner < 0) return 1; /* a default stream */
    if (gb_py_on_gpu(dst) && dst->location.device == owner) return 1;
    if (src && gb_py_on_gpu(src) && src->location.device == owner) return 1;
    const gb_py_field *on_gpu = gb_py_on_gpu(dst) ? dst : src;
    PyErr_Format(PyExc_ValueError,
                 "stream: it is one of GPU %d, and the copy is the work of GPU %d", owner,
                 (int)on_gpu->location.device);
    return 0;
}

/* copy_sides(dst, src, stream, asked) -> (dst, src, at_once): Fields over both; src stays as it is
 * where it is values without memory. Wrapping makes the stream wait for pending work of the
 * producer. asked: the stream was an argument; a stream of the thread may belong to a GPU that has
 * no part in the copy, which then goes to the default stream. */
static PyObject *sides_of(PyObject *dst_obj, PyObject *src_obj, gb_cuda_stream stream, int asked) {
    gb_cuda_error e;
    int owner = -1, values = gb_py_is_values(src_obj);
    if (values < 0) return NULL;
    GB_PY_OWNED PyObject *dst_field = gb_py_wrap(gb_py_FieldType, dst_obj);
    if (!dst_field) return NULL;
    GB_PY_OWNED PyObject *src_side =
        values ? Py_NewRef(src_obj) : gb_py_wrap(gb_py_FieldType, src_obj);
    if (!src_side) return NULL;
    gb_py_field *dst = (gb_py_field *)dst_field, *src = values ? NULL : (gb_py_field *)src_side;
    if (!gb_py_on_gpu(dst) && !(src && gb_py_on_gpu(src)))
        return PyErr_Format(PyExc_TypeError, "copy_async: neither dst nor src is memory of a "
                                             "GPU; gridbuf.copyto copies on the host");
    if (asked && stream > 2 && gb_cuda_owner(stream, &owner, &e) < 0) {
        gb_py_cuda_raise(&e);
        return NULL;
    }
    if (!takes_part(owner, dst, src)) return NULL;
    return Py_BuildValue("(OON)", dst_field, src_side,
                         PyBool_FromLong(src && is_at_once(dst, src)));
}

PyObject *gb_py_cuda_copy_sides(PyObject *self, PyObject *args) {
    PyObject *dst, *given;
    unsigned long long stream;
    int asked;
    if (!PyArg_ParseTuple(args, "OOKp", &dst, &given, &stream, &asked)) return NULL;
    GB_PY_OWNED PyObject *src = gb_py_fitted(dst, given, "src"); /* match names */
    if (!src) return NULL;
    gb_py_thread_stream before = gb_py_use_stream(stream);
    PyObject *sides = sides_of(dst, src, stream, asked);
    gb_py_restore_stream(before);
    return sides;
}

/* copy_begin(dst, src, casting, stream) -> the copy */
PyObject *gb_py_cuda_copy_begin(PyObject *self, PyObject *args) {
    PyObject *dst, *src, *casting;
    unsigned long long stream;
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;
    gb_py_async_copy *copy = NULL;
    if (!PyArg_ParseTuple(args, "OOOK", &dst, &src, &casting, &stream) ||
        !PyArray_CastingConverter(casting, &rule))
        return NULL;
    gb_py_thread_stream before = gb_py_use_stream(
        stream); /* the stream also of staging through the host and of other GPUs */
    int rc = gb_py_async_copy_begin(dst, src, rule, NULL, &copy);
    gb_py_restore_stream(before);
    if (rc > 0 && gb_py_async_copy_record_use(copy) == 0 && gb_py_async_copy_record(copy) == 0)
        return (PyObject *)copy;
    Py_XDECREF((PyObject *)copy);
    return NULL;
}
