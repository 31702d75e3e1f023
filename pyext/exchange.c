/* exchange.c: the DLPack C exchange API (1.3): a static table behind the types, through
 * which a C consumer takes a Field without a Python call. */
#include "exchange.h"
#include "memory.h"
#include "../dlpack/check.h"
#include "../dlpack/export.h"

/* A new tensor like the prototype, in C order. No Python and no Go: consumers call this
 * without the GIL. */
static int allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *ctx, void (*fail)(void *, const char *, const char *)) {
    char why[200];
    DLTensor wanted = *prototype;   /* its data and strides say nothing */
    wanted.data = &wanted;
    wanted.strides = NULL;
    wanted.byte_offset = 0;
    if (wanted.device.device_type != kDLCPU) return fail(ctx, "BufferError", "gridbuf allocates on the host here"), -1;
    if (gb_dlpack_check(&wanted, why, sizeof why) < 0) return fail(ctx, "BufferError", why), -1;
    gb_want want = {.span = gb_dlpack_itemsize(wanted.dtype, 0), .boundary = GB_BLOCK_ALIGN};
    for (int i = 0; i < wanted.ndim; i++) want.span *= wanted.shape[i];
    want.reserve = gb_reserve(want.span, want.boundary);
    void *data;
    int fresh, taken;
    while ((taken = gb_take(&want, &data, &fresh)) != GB_TAKEN)
        if (taken == GB_OVER_LIMIT || gb_refill(want.reserve) < 0) return fail(ctx, "MemoryError", "gridbuf: no memory for the tensor"), -1;
    gb_dltensor_desc d = {.data = data, .shape = wanted.shape, .device = {kDLCPU, 0}, .dtype = wanted.dtype, .ndim = wanted.ndim};
    if ((*out = gb_dlpack_versioned(&d, data, gb_release))) return 0;
    gb_release(data);
    return fail(ctx, "MemoryError", "gridbuf: no memory for the tensor's description"), -1;
}

static gb_field *as_field(void *obj) {
    if (gb_is_field((PyObject *)obj)) return gb_field_exportable(obj) < 0 ? NULL : obj;
    PyErr_Format(PyExc_TypeError, "expected a gridbuf.Field, got %R", Py_TYPE((PyObject *)obj));
    return NULL;
}

static int from_object(void *obj, DLManagedTensorVersioned **out) {
    gb_field *f = as_field(obj);
    *out = f ? gb_field_tensor(f, f->readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0) : NULL;
    return *out ? 0 : -1;
}

/* Borrowed: shape and strides are the Field's own. A lent tensor cannot say that it is
 * read-only, so a read-only Field is not lent. */
static int lend(void *obj, DLTensor *out) {
    gb_field *f = as_field(obj);
    if (!f) return -1;
    if (f->readonly) {
        PyErr_SetString(PyExc_BufferError, "a read-only Field cannot be lent as a bare DLTensor");
        return -1;
    }
    *out = (DLTensor){
        .data = f->geometry.size ? f->data : NULL, .device = {kDLCPU, 0}, .ndim = f->geometry.ndim,
        .dtype = {f->dtype->dl_code, f->dtype->dl_bits, 1}, .shape = f->geometry.shape, .strides = f->geometry.steps,
    };
    return 0;
}

static int to_object(DLManagedTensorVersioned *tensor, void **out) {
    *out = gb_from_tensor(gb_HostFieldType, tensor, 0);
    return *out ? 0 : -1;
}

static int no_stream(DLDeviceType type, int32_t id, void **out) {
    *out = NULL;
    return 0;
}

static DLPackExchangeAPI table = {
    .header = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, .prev_api = NULL},
    .managed_tensor_allocator = allocate,
    .managed_tensor_from_py_object_no_sync = from_object,
    .managed_tensor_to_py_object_no_sync = to_object,
    .dltensor_from_py_object_no_sync = lend,
    .current_work_stream = no_stream,
};

int gb_exchange_init(void) {
    PyObject *capsule = PyCapsule_New(&table, "dlpack_exchange_api", NULL);
    if (!capsule) return -1;
    int rc = PyObject_SetAttrString((PyObject *)gb_FieldType, "__dlpack_c_exchange_api__", capsule);
    Py_DECREF(capsule);
    return rc;
}
