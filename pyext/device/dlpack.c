/* dlpack.c: what is different in DLPack for memory that the driver gave. Pinned memory is exported
 * as kDLCPU, device memory as kDLCUDA, managed memory as what it was asked for; kDLCUDAHost and
 * kDLCUDAManaged only on request. */
#include "device.h"
#include "../core/pending.h"

DLDevice gb_py_dl_device(const gb_py_field *f) {
    return f->location.gpu ? (DLDevice){kDLCUDA, f->location.device} : (DLDevice){kDLCPU, 0};
}

/* The stream on which the consumer will read: 1 with it, 0 for "do not synchronise", -1 with
 * BufferError: a TypeError would make the consumer believe in an older protocol. */
static int read_stream(PyObject *obj, gb_cuda_stream *stream) {
    *stream = 1; /* None: the legacy default stream */
    if (obj == Py_None) return 1;
    int overflow = 0;
    long long value =
        PyLong_Check(obj) && !PyBool_Check(obj) ? PyLong_AsLongLongAndOverflow(obj, &overflow) : 0;
    *stream = (gb_cuda_stream)value;
    if (!overflow && value > 0) return 1;
    if (!overflow && value == -1) return 0;
    return PyErr_Format(PyExc_BufferError,
                        "stream: %R is not allowed; give None or 1 (legacy default), 2 (per "
                        "thread), -1 (no synchronisation) or "
                        "a stream's handle",
                        obj),
           -1;
}

/* The consumer's stream waits for our own work on the block, and, once others may have been at it,
 * for what this thread has under way. */
static int order(gb_py_field *f, PyObject *stream_obj) {
    gb_cuda_queue on;
    gb_cuda_stream stream;
    gb_cuda_error e;
    gb_cuda_block *block = gb_py_field_block(f);
    int wanted = read_stream(stream_obj, &stream), seen = !block || block->shown;
    if (block) gb_cuda_show(block);
    if (wanted <= 0) return wanted;
    if (gb_py_queue_of(stream, f->location.device, &on) < 0) return -1;
    if (block && gb_cuda_stream_wait_block(block, on, &e) < 0) return gb_py_cuda_raise(&e);
    return seen ? gb_py_queue_wait(on, gb_py_queue_for(f->location.device)) : 0;
}

static int unknown(PyObject *dl_device, const gb_py_field *f) {
    static const char *const allowed[] = {"(1, 0)", "its own (2, n), and (1, 0), which is a copy",
                                          "(1, 0) and (3, 0)",
                                          "(1, 0), its own (2, n) and (13, 0)"};
    return PyErr_Format(PyExc_BufferError,
                        "dl_device: this Field cannot be exported to %R; allowed are %s", dl_device,
                        allowed[f->location.kind]),
           -1;
}

static int is_gpu(DLDevice device) {
    return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged;
}

static int host_stream(PyObject *stream) {
    if (stream == Py_None) return 0;
    return PyErr_Format(PyExc_BufferError,
                        "stream: host memory has none; only None is allowed, got %R", stream),
           -1;
}

/* A pair of ints that a consumer passed: what is no such pair is a TypeError, numbers that nothing
 * has are a BufferError. */
int gb_py_dlpack_pair(PyObject *obj, const char *arg, int64_t *pair) {
    if (!PyTuple_Check(obj) || PyTuple_Size(obj) != 2)
        return PyErr_Format(PyExc_TypeError, "%s: expected a pair of ints, got %R", arg, obj), -1;
    for (int i = 0; i < 2; i++)
        if (gb_py_int64(PyTuple_GetItem(obj, i), arg, "a pair of ints", &pair[i]) < 0) {
            if (PyErr_ExceptionMatches(PyExc_ValueError) && gb_py_forgive())
                PyErr_Format(PyExc_BufferError, "%s: %R is no pair that DLPack has", arg, obj);
            return -1;
        }
    return 0;
}

int gb_py_device_request(gb_py_field *f, PyObject *stream, PyObject *dl_device, DLDevice *device,
                         int *copy_to_host) {
    *copy_to_host = 0;
    *device = gb_py_dl_device(f);
    if (dl_device != Py_None) {
        int64_t pair[2];
        if (gb_py_dlpack_pair(dl_device, "dl_device", pair) < 0) return -1;
        int64_t type = pair[0], id = pair[1];
        int managed = f->location.kind == GB_PY_ON_MANAGED,
            on_device = f->location.kind == GB_PY_ON_DEVICE;
        int fits = (type == kDLCPU && id == 0) ||
                   (type == kDLCUDA && id == f->location.device && (managed || on_device)) ||
                   (type == kDLCUDAHost && id == 0 && f->location.kind == GB_PY_ON_PINNED) ||
                   (type == kDLCUDAManaged && id == 0 && managed);
        if (!fits) return unknown(dl_device, f);
        *device = (DLDevice){(DLDeviceType)type, (int32_t)id};
        *copy_to_host = type == kDLCPU && on_device;
    }
    if (*copy_to_host) return 0; /* it waits until the values are there */
    gb_cuda_stream unused;
    return is_gpu(*device) ? (read_stream(stream, &unused) < 0 ? -1 : 0) : host_stream(stream);
}

int gb_py_device_ready(gb_py_field *f, DLDevice device, PyObject *stream) {
    return is_gpu(device) ? order(f, stream) : gb_py_require_host_access(f);
}
