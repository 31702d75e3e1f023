/* exchange.c: the DLPack C exchange API (1.3): a static table behind the types, through
 * which a C consumer takes a Field without a Python call. */
#include "device/device.h"
#include "exchange/exchange.h"
#include "core/memory.h"
#include "../dlpack/check.h"
#include "../dlpack/export.h"

static void release_cuda(void *block) { gb_cuda_release(block); }

static int allocate_cuda(const DLTensor *wanted, int64_t bytes, DLManagedTensorVersioned **out,
                         void *ctx, void (*fail)(void *, const char *, const char *)) {
    gb_cuda_request want = {.kind = GB_CUDA_DEVICE,
                            .device = wanted->device.device_id,
                            .span = bytes,
                            .boundary = 256,
                            .stream = gb_py_queue_for(wanted->device.device_id).stream};
    gb_cuda_block *block;
    gb_cuda_error e;
    if (gb_cuda_alloc(&want, &block, &e) < 0)
        return fail(ctx,
                    e.status == GB_CUDA_NO_MEMORY || e.status == GB_CUDA_OVER_LIMIT
                        ? "MemoryError"
                        : "RuntimeError",
                    e.text),
               -1;
    gb_dlpack_desc d = {.data = (void *)(uintptr_t)block->data,
                        .shape = wanted->shape,
                        .device = wanted->device,
                        .dtype = wanted->dtype,
                        .ndim = wanted->ndim};
    gb_cuda_show(block);
    if ((*out = gb_dlpack_versioned(&d, block, release_cuda))) return 0;
    gb_cuda_release(block);
    return fail(ctx, "MemoryError", "gridbuf: no memory for the tensor's description"), -1;
}

/* A new tensor like the prototype, in C order. No Python and no Go: consumers call this
 * without the GIL. */
static int allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *ctx,
                    void (*fail)(void *, const char *, const char *)) {
    gb_error e;
    DLTensor wanted = *prototype; /* its data and strides say nothing */
    wanted.data = &wanted;
    wanted.strides = NULL;
    wanted.byte_offset = 0;
    if (wanted.device.device_type != kDLCPU && wanted.device.device_type != kDLCUDA)
        return fail(ctx, "BufferError", "gridbuf allocates here on the host and on CUDA devices"),
               -1;
    if (gb_dlpack_check(&wanted, &e) < 0) return fail(ctx, "BufferError", e.message), -1;
    gb_heap_layout want = {.span = gb_dlpack_itemsize(wanted.dtype, 0),
                           .boundary = GB_HEAP_BLOCK_ALIGN};
    for (int i = 0; i < wanted.ndim; i++) want.span *= wanted.shape[i]; /* fits: checked above */
    if (want.span > GB_LARGEST)
        return fail(ctx, "MemoryError", "gridbuf: no machine has that much memory"), -1;
    if (wanted.device.device_type == kDLCUDA)
        return allocate_cuda(&wanted, want.span, out, ctx, fail);
    want.reserve = gb_heap_reserve(want.span, want.boundary);
    void *data;
    int fresh, taken;
    while ((taken = gb_heap_take(&want, &data, &fresh)) != GB_HEAP_TAKEN)
        if (taken == GB_HEAP_OVER_LIMIT || gb_heap_refill(want.reserve) < 0)
            return fail(ctx, "MemoryError", "gridbuf: no memory for the tensor"), -1;
    gb_dlpack_desc d = {.data = data,
                        .shape = wanted.shape,
                        .device = {kDLCPU, 0},
                        .dtype = wanted.dtype,
                        .ndim = wanted.ndim};
    if ((*out = gb_dlpack_versioned(&d, data, gb_heap_release))) return 0;
    gb_heap_release(data);
    return fail(ctx, "MemoryError", "gridbuf: no memory for the tensor's description"), -1;
}

static gb_py_field *as_field(void *obj) {
    if (gb_py_is_field((PyObject *)obj)) return gb_py_field_exportable(obj) < 0 ? NULL : obj;
    return PyErr_Format(PyExc_TypeError, "expected a gridbuf.Field, got %R",
                        Py_TYPE((PyObject *)obj)),
           NULL;
}

/* Nothing is synchronised here, but the stream that current_work_stream names does wait for our own
 * work elsewhere. A consumer on the host has no stream: what it is shown of managed memory is
 * waited for. */
static int let_read(gb_py_field *f) {
    gb_cuda_error e;
    gb_cuda_block *block = f->location.kind == GB_PY_HEAP ? NULL : gb_py_field_block(f);
    if (!f->location.gpu) return f->location.kind == GB_PY_HEAP ? 0 : gb_py_require_host_access(f);
    if (block) gb_cuda_show(block);
    return block && gb_cuda_stream_wait_block(block, gb_py_queue_for(f->location.device), &e) < 0
               ? gb_py_cuda_raise(&e)
               : 0;
}

static int field_to_tensor(void *obj, DLManagedTensorVersioned **out) {
    gb_py_field *f = as_field(obj);
    *out = f && let_read(f) == 0
               ? gb_py_field_tensor(f, gb_py_dl_device(f),
                                    f->readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0)
               : NULL;
    return *out ? 0 : -1;
}

/* Borrowed: shape and strides are the Field's own. A lent tensor cannot say that it is
 * read-only, so a read-only Field is not lent. */
static int lend_field(void *obj, DLTensor *out) {
    gb_py_field *f = as_field(obj);
    if (!f || let_read(f) < 0) return -1;
    if (f->readonly)
        return PyErr_SetString(PyExc_BufferError,
                               "a read-only Field cannot be lent as a bare DLTensor"),
               -1;
    *out = (DLTensor){
        .data = f->geometry.size ? f->data : NULL,
        .device = gb_py_dl_device(f),
        .ndim = f->geometry.ndim,
        .dtype = {f->dtype->dl_code, f->dtype->dl_bits, 1},
        .shape = f->geometry.shape,
        .strides = f->geometry.steps,
    };
    return 0;
}

static int field_of_tensor(DLManagedTensorVersioned *tensor, void **out) {
    *out = gb_py_from_tensor(gb_py_FieldType, tensor, 0);
    return *out ? 0 : -1;
}

static int work_stream(DLDeviceType type, int32_t id, void **out) {
    *out = type == kDLCPU ? NULL : (void *)(uintptr_t)gb_py_queue_for(id).stream;
    return 0;
}

static DLPackExchangeAPI table = {
    .header = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, .prev_api = NULL},
    .managed_tensor_allocator = allocate,
    .managed_tensor_from_py_object_no_sync = field_to_tensor,
    .managed_tensor_to_py_object_no_sync = field_of_tensor,
    .dltensor_from_py_object_no_sync = lend_field,
    .current_work_stream = work_stream,
};

int gb_py_exchange_init(PyObject *module) {
    GB_PY_OWNED PyObject *capsule = PyCapsule_New(&table, "dlpack_exchange_api", NULL);
    if (!capsule) return -1;
    return PyObject_SetAttrString((PyObject *)gb_py_FieldType, "__dlpack_c_exchange_api__",
                                  capsule);
}
