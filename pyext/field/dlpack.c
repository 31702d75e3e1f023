/* dlpack.c: a Field as a DLPack producer (1.3): __dlpack__ and the C exchange API. Host memory of
 * any kind is exported as kDLCPU, device memory as kDLCUDA, managed memory as the device that asked
 * for it; kDLCUDAHost and kDLCUDAManaged only on request. */
#include "../core/attribute.h"
#include "../core/memory.h"
#include "../core/references.h"
#include "../device/device.h"
#include "../exchange/exchange.h"
#include "../../dlpack/tensor.h"

static DLDevice device_of(const gb_py_field *f) {
    return f->location.gpu ? (DLDevice){kDLCUDA, f->location.device} : (DLDevice){kDLCPU, 0};
}

/* Stream on which the consumer will read: 1 with it, 0: no synchronisation, -1 with BufferError:
 * after a TypeError consumers try an older protocol. */
static int read_stream(PyObject *obj, gb_cuda_stream *stream) {
    *stream = 1; /* None: the legacy default stream */
    if (obj == Py_None) return 1;
    int overflow = 0;
    long long value =
        PyLong_Check(obj) && !PyBool_Check(obj) ? PyLong_AsLongLongAndOverflow(obj, &overflow) : 0;
    *stream = (gb_cuda_stream)value;
    if (!overflow && value > 0) return 1;
    if (!overflow && value == -1) return 0;
    return gb_py_fail(PyExc_BufferError,
                      "stream: %R is not allowed; give None or 1 (legacy default), 2 (per "
                      "thread), -1 (no synchronisation) or "
                      "a stream's handle",
                      obj);
}

/* Order the consumer's stream behind gridbuf's work on the block, and, once other libraries have
 * seen the memory, behind the work of this thread. */
static int order(gb_py_field *f, PyObject *stream_obj) {
    gb_cuda_queue on;
    gb_cuda_stream stream;
    gb_cuda_error e;
    gb_cuda_block *block = gb_py_field_block(f);
    int wanted = read_stream(stream_obj, &stream), seen = !block || block->exported;
    if (block) gb_cuda_mark_exported(block);
    if (wanted <= 0) return wanted;
    if (gb_py_queue_of(stream, f->location.device, &on) < 0) return -1;
    if (block && gb_cuda_stream_wait_block(block, on, &e) < 0) return gb_py_cuda_raise(&e);
    return seen ? gb_py_queue_wait(on, gb_py_queue_for(f->location.device)) : 0;
}

static int unknown(PyObject *dl_device, const gb_py_field *f) {
    static const char *const allowed[] = {"(1, 0)", "its own (2, n), and (1, 0), which is a copy",
                                          "(1, 0) and (3, 0)",
                                          "(1, 0), its own (2, n) and (13, 0)"};
    return gb_py_fail(PyExc_BufferError,
                      "dl_device: this Field cannot be exported to %R; allowed are %s", dl_device,
                      allowed[f->location.kind]);
}

static int is_gpu(DLDevice device) {
    return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged;
}

static int host_stream(PyObject *stream) {
    if (stream == Py_None) return 0;
    return gb_py_fail(PyExc_BufferError,
                      "stream: host memory has none; only None is allowed, got %R", stream);
}

/* A pair of ints from a consumer: another type is a TypeError, a pair that DLPack does not have a
 * BufferError. */
static int read_pair(PyObject *obj, const char *arg, int64_t *pair) {
    if (!PyTuple_Check(obj) || PyTuple_Size(obj) != 2)
        return gb_py_fail(PyExc_TypeError, "%s: expected a pair of ints, got %R", arg, obj);
    for (int i = 0; i < 2; i++)
        if (gb_py_int64(PyTuple_GetItem(obj, i), arg, "a pair of ints", &pair[i]) < 0) {
            if (PyErr_ExceptionMatches(PyExc_ValueError) && gb_py_clear_description_error())
                PyErr_Format(PyExc_BufferError, "%s: %R is no pair that DLPack has", arg, obj);
            return -1;
        }
    return 0;
}

/* Whether a Field can be exported to the device. */
static int exports_to(const gb_py_field *f, int64_t type, int64_t id) {
    int kind = f->location.kind;
    switch (type) {
    case kDLCPU: return id == 0;
    case kDLCUDA:
        return id == f->location.device && (kind == GB_PY_ON_MANAGED || kind == GB_PY_ON_DEVICE);
    case kDLCUDAHost: return id == 0 && kind == GB_PY_ON_PINNED;
    case kDLCUDAManaged: return id == 0 && kind == GB_PY_ON_MANAGED;
    default: return 0;
    }
}

/* Read stream and dl_device for a Field that is not on the heap: 0, or -1 with BufferError.
 * *copy_to_host: dl_device=(1, 0) of device memory. *device: the device of the tensor. */
static int read_device_request(gb_py_field *f, PyObject *stream, PyObject *dl_device,
                               DLDevice *device, int *copy_to_host) {
    *copy_to_host = 0;
    *device = device_of(f);
    if (dl_device != Py_None) {
        int64_t pair[2];
        if (read_pair(dl_device, "dl_device", pair) < 0) return -1;
        if (!exports_to(f, pair[0], pair[1])) return unknown(dl_device, f);
        *device = (DLDevice){(DLDeviceType)pair[0], (int32_t)pair[1]};
        *copy_to_host = pair[0] == kDLCPU && f->location.kind == GB_PY_ON_DEVICE;
    }
    if (*copy_to_host) return 0; /* the copy waits for the values */
    if (!is_gpu(*device)) return host_stream(stream);
    gb_cuda_stream unused;
    return read_stream(stream, &unused) < 0 ? -1 : 0;
}

static int make_ready(gb_py_field *f, DLDevice device, PyObject *stream) {
    return is_gpu(device) ? order(f, stream) : gb_py_require_host_access(f);
}

/* ---- __dlpack__ ---- */

/* Keywords of __dlpack__, as slots. */
enum { STREAM, MAX_VERSION, DL_DEVICE, COPY, KEYWORDS };
static const char *const names[KEYWORDS] = {"stream", "max_version", "dl_device", "copy"};
static PyObject *interned[KEYWORDS];

int gb_py_field_dlpack_init(PyObject *module) {
    return gb_py_intern_names(names, interned, KEYWORDS);
}

/* Slots of the tuple of names seen last: consumers pass the same one every time. */
static struct {
    PyObject *kwnames;
    int8_t slots[KEYWORDS];
    int n;
} last;

static void remember(PyObject *kwnames, const int8_t *slots, int n) {
    GB_PY_OWNED PyObject *before = last.kwnames;
    last.kwnames = Py_NewRef(kwnames);
    memcpy(last.slots, slots, sizeof last.slots);
    last.n = n;
}

static int read_names(PyObject *const *values, PyObject *kwnames, PyObject **w) {
    int8_t slots[KEYWORDS];
    int n = (int)PyTuple_Size(kwnames);
    for (int i = 0; i < n; i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        int slot = gb_py_find_name(interned, KEYWORDS, name);
        if (slot < 0)
            return gb_py_fail(PyExc_TypeError, "__dlpack__() got an unexpected keyword argument %R",
                              name);
        w[slot] = values[i];
        slots[i] = (int8_t)slot; /* names are unique */
    }
    remember(kwnames, slots, n);
    return 0;
}

static int read_arguments(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                          PyObject **w) {
    for (int i = 0; i < KEYWORDS; i++) w[i] = Py_None;
    if (nargs > 1)
        return gb_py_fail(
            PyExc_TypeError,
            "__dlpack__() takes at most 1 positional argument, the stream (%zd given)", nargs);
    if (nargs == 1) w[STREAM] = args[0]; /* older consumers pass the stream by position */
    if (!kwnames) return 0;
    if (kwnames != last.kwnames) return read_names(args + nargs, kwnames, w);
    for (int i = 0; i < last.n; i++) w[last.slots[i]] = args[nargs + i];
    return 0;
}

/* A pair seen last is known by its address: consumers pass the same tuple every time. */
static int read_version(PyObject *max_version, int *versioned) {
    static PyObject *known;
    int64_t version[2];
    *versioned = max_version == known;
    if (*versioned || max_version == Py_None) return 0;
    if (read_pair(max_version, "max_version", version) < 0) return -1;
    *versioned = version[0] >= 1;
    if (*versioned && gb_py_is_constant(max_version)) {
        GB_PY_OWNED PyObject *before = known;
        known = Py_NewRef(max_version);
    }
    return 0;
}

static int check_device(PyObject *dl_device) {
    int64_t pair[2];
    if (dl_device == Py_None) return 0;
    if (read_pair(dl_device, "dl_device", pair) < 0) return -1;
    if (pair[0] == kDLCPU && pair[1] == 0) return 0;
    return gb_py_fail(
        PyExc_BufferError,
        "dl_device: this Field lies on the host, (%d, 0); it cannot be exported to %R", (int)kDLCPU,
        dl_device);
}

static int check_exportable(const gb_py_field *f) {
    if (!f->dtype->dl_ok)
        return gb_py_fail(PyExc_BufferError, "DLPack has no type for %R", f->dtype->descr);
    if (!f->geometry.whole_steps && f->geometry.size > 1)
        return gb_py_fail(PyExc_BufferError, "DLPack counts strides in items, and a stride of "
                                             "this Field is not a multiple of its item size");
    return 0;
}

/* A value that the protocol does not allow is a BufferError: after a TypeError consumers would try
 * an older protocol. A wrong type is a TypeError. */
static int check_arguments(gb_py_field *f, PyObject *const *w, int *versioned, int *copy,
                           DLDevice *device) {
    int to_host = 0;
    *device = (DLDevice){kDLCPU, 0};
    if (f->location.kind != GB_PY_HEAP) {
        if (read_device_request(f, w[STREAM], w[DL_DEVICE], device, &to_host) < 0) return -1;
    } else if (w[STREAM] != Py_None) {
        return gb_py_fail(PyExc_BufferError,
                          "stream: host memory has none; only None is allowed, got %R", w[STREAM]);
    } else if (check_device(w[DL_DEVICE]) < 0) {
        return -1;
    }
    if (read_version(w[MAX_VERSION], versioned) < 0) return -1;
    if ((*copy = gb_py_read_copy(w[COPY])) == -1) return -1;
    if (to_host && *copy == 0)
        return gb_py_fail(PyExc_BufferError,
                          "copy: device memory on the host is a copy, and copy=False was given");
    *copy = to_host ? 2 : *copy > 0;
    if (check_exportable(f) < 0) return -1;
    if (f->readonly && !*copy && !*versioned)
        return gb_py_fail(PyExc_BufferError,
                          "a read-only Field cannot be exported as a legacy DLPack tensor; "
                          "the consumer must pass max_version=(1, 0)");
    return 0;
}

/* Tensor of a capsule that was not consumed and still owns it. Consumed capsules are renamed; the
 * names differ in their first letters, "used_". */
static void *unconsumed(PyObject *capsule, const char *name) {
    const char *now = PyCapsule_GetName(capsule);
    return now && now[0] == name[0] && strcmp(now, name) == 0 ? PyCapsule_GetPointer(capsule, name)
                                                              : NULL;
}

static void drop_versioned(PyObject *capsule) {
    DLManagedTensorVersioned *m = unconsumed(capsule, "dltensor_versioned");
    if (m && m->deleter) m->deleter(m);
}

static void drop_legacy(PyObject *capsule) {
    DLManagedTensor *m = unconsumed(capsule, "dltensor");
    if (m && m->deleter) m->deleter(m);
}

static void describe(const gb_py_field *f, DLDevice device, uint64_t flags, gb_dlpack_desc *d) {
    const gb_geometry *g = &f->geometry;
    *d = (gb_dlpack_desc){
        .data = g->size ? f->data : NULL,
        .shape = g->shape,
        .strides = g->steps,
        .flags = flags,
        .device = device,
        .dtype = {f->dtype->dl_code, f->dtype->dl_bits, 1},
        .ndim = g->ndim,
    };
}

/* Take a reference for an export: to the heap's block, which needs no Python, else to the owner of
 * the memory. */
static void release_cuda(void *block) { gb_cuda_release(block); }

static void *share(gb_py_field *f, gb_dlpack_release *release) {
    gb_cuda_block *block = f->location.kind == GB_PY_HEAP ? NULL : gb_py_field_block(f);
    if (block) {
        *release = release_cuda;
        gb_cuda_share(block);
        return block;
    }
    *release = f->block ? gb_heap_release : gb_py_decref_any_thread;
    if (f->block) gb_heap_share(f->block);
    else Py_XINCREF(f->owner); /* NULL: cleared by the collector, without elements */
    return f->block ? f->block : (void *)f->owner;
}

static DLManagedTensorVersioned *tensor_of(gb_py_field *f, DLDevice device, uint64_t flags) {
    gb_dlpack_desc d;
    gb_dlpack_release release;
    describe(f, device, flags, &d);
    void *owner = share(f, &release);
    DLManagedTensorVersioned *m = gb_dlpack_versioned(&d, owner, release);
    if (m) return m;
    release(owner);
    PyErr_NoMemory();
    return NULL;
}

static PyObject *versioned_capsule(gb_py_field *f, DLDevice device, uint64_t flags) {
    DLManagedTensorVersioned *m = tensor_of(f, device, flags);
    PyObject *capsule = m ? PyCapsule_New(m, "dltensor_versioned", drop_versioned) : NULL;
    if (m && !capsule) m->deleter(m);
    return capsule;
}

static PyObject *legacy_capsule(gb_py_field *f, DLDevice device) {
    gb_dlpack_desc d;
    gb_dlpack_release release;
    describe(f, device, 0, &d);
    void *owner = share(f, &release);
    DLManagedTensor *m = gb_dlpack_legacy(&d, owner, release);
    if (!m) {
        release(owner);
        return PyErr_NoMemory();
    }
    PyObject *capsule = PyCapsule_New(m, "dltensor", drop_legacy);
    if (!capsule) m->deleter(m);
    return capsule;
}

/* Order the consumer behind all queued work, also that of a copy made for the export. */
static PyObject *export(gb_py_field *f, DLDevice device, int versioned, uint64_t flags,
                        PyObject *stream) {
    if (f->location.kind != GB_PY_HEAP && make_ready(f, device, stream) < 0) return NULL;
    return versioned ? versioned_capsule(f, device, flags) : legacy_capsule(f, device);
}

PyObject *gb_py_field_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames) {
    gb_py_field *f = (gb_py_field *)self;
    PyObject *w[KEYWORDS];
    int versioned, copy;
    DLDevice device;
    if (read_arguments(args, nargs, kwnames, w) < 0 ||
        check_arguments(f, w, &versioned, &copy, &device) < 0)
        return NULL;
    if (!copy)
        return export(f, device, versioned, f->readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0,
                      w[STREAM]);
    GB_PY_OWNED PyObject *fresh = copy == 2 ? gb_py_on_host(f) : gb_py_copy_of(self);
    int ok = fresh && check_exportable((gb_py_field *)fresh) == 0;
    return ok ? export((gb_py_field *)fresh, device, versioned, DLPACK_FLAG_BITMASK_IS_COPIED,
                       w[STREAM])
              : NULL;
}

PyObject *gb_py_field_dlpack_device(PyObject *self, PyObject *unused) {
    DLDevice device = device_of((gb_py_field *)self);
    return Py_BuildValue("(ii)", (int)device.device_type, (int)device.device_id);
}

/* ---- the C exchange API ----
 *
 * A static table on the types, through which C takes a Field without a Python call. */

static int allocate_cuda(const DLTensor *wanted, int64_t bytes, DLManagedTensorVersioned **out,
                         void *ctx, void (*fail)(void *, const char *, const char *)) {
    gb_cuda_request want = {.kind = GB_CUDA_DEVICE,
                            .device = wanted->device.device_id,
                            .span = bytes,
                            .boundary = 256,
                            .stream = gb_py_queue_for(wanted->device.device_id).stream};
    gb_cuda_block *block;
    gb_cuda_error e;
    if (gb_cuda_alloc(&want, &block, &e) < 0) {
        fail(ctx,
             e.status == GB_CUDA_NO_MEMORY || e.status == GB_CUDA_OVER_LIMIT ? "MemoryError"
                                                                             : "RuntimeError",
             e.text);
        return -1;
    }
    gb_dlpack_desc d = {.data = (void *)(uintptr_t)block->data,
                        .shape = wanted->shape,
                        .device = wanted->device,
                        .dtype = wanted->dtype,
                        .ndim = wanted->ndim};
    gb_cuda_mark_exported(block);
    if ((*out = gb_dlpack_versioned(&d, block, release_cuda))) return 0;
    gb_cuda_release(block);
    fail(ctx, "MemoryError", "gridbuf: no memory for the tensor's description");
    return -1;
}

/* A new tensor like the prototype, in C order. No Python and no Go: consumers call this
 * without the GIL. */
static int allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *ctx,
                    void (*fail)(void *, const char *, const char *)) {
    gb_error e;
    DLTensor wanted = *prototype; /* data and strides of a prototype mean nothing */
    wanted.data = &wanted;
    wanted.strides = NULL;
    wanted.byte_offset = 0;
    if (wanted.device.device_type != kDLCPU && wanted.device.device_type != kDLCUDA) {
        fail(ctx, "BufferError", "gridbuf allocates here on the host and on CUDA devices");
        return -1;
    }
    if (gb_dlpack_check(&wanted, &e) < 0) {
        fail(ctx, "BufferError", e.message);
        return -1;
    }
    gb_heap_layout want = {.span = gb_dlpack_itemsize(wanted.dtype, 0),
                           .boundary = GB_HEAP_BLOCK_ALIGN};
    for (int i = 0; i < wanted.ndim; i++) want.span *= wanted.shape[i]; /* fits: checked above */
    if (want.span > GB_LARGEST) {
        fail(ctx, "MemoryError", "gridbuf: no machine has that much memory");
        return -1;
    }
    if (wanted.device.device_type == kDLCUDA)
        return allocate_cuda(&wanted, want.span, out, ctx, fail);
    want.reserve = gb_heap_reserve(want.span, want.boundary);
    void *data;
    int fresh, taken;
    while ((taken = gb_heap_take(&want, &data, &fresh)) != GB_HEAP_TAKEN)
        if (taken == GB_HEAP_OVER_LIMIT || gb_heap_refill(want.reserve) < 0) {
            fail(ctx, "MemoryError", "gridbuf: no memory for the tensor");
            return -1;
        }
    gb_dlpack_desc d = {.data = data,
                        .shape = wanted.shape,
                        .device = {kDLCPU, 0},
                        .dtype = wanted.dtype,
                        .ndim = wanted.ndim};
    if ((*out = gb_dlpack_versioned(&d, data, gb_heap_release))) return 0;
    gb_heap_release(data);
    fail(ctx, "MemoryError", "gridbuf: no memory for the tensor's description");
    return -1;
}

static gb_py_field *as_field(void *obj) {
    if (gb_py_is_field((PyObject *)obj)) return check_exportable(obj) < 0 ? NULL : obj;
    return (gb_py_field *)PyErr_Format(PyExc_TypeError, "expected a gridbuf.Field, got %R",
                                       Py_TYPE((PyObject *)obj));
}

/* No synchronisation, as the API says; but the stream of current_work_stream waits for gridbuf's
 * own work on other streams. A consumer on the host has no stream: managed memory is waited for. */
static int let_read(gb_py_field *f) {
    gb_cuda_error e;
    gb_cuda_block *block = f->location.kind == GB_PY_HEAP ? NULL : gb_py_field_block(f);
    if (!f->location.gpu) return f->location.kind == GB_PY_HEAP ? 0 : gb_py_require_host_access(f);
    if (block) gb_cuda_mark_exported(block);
    return block && gb_cuda_stream_wait_block(block, gb_py_queue_for(f->location.device), &e) < 0
               ? gb_py_cuda_raise(&e)
               : 0;
}

static int field_to_tensor(void *obj, DLManagedTensorVersioned **out) {
    gb_py_field *f = as_field(obj);
    *out = f && let_read(f) == 0
               ? tensor_of(f, device_of(f), f->readonly ? DLPACK_FLAG_BITMASK_READ_ONLY : 0)
               : NULL;
    return *out ? 0 : -1;
}

/* Borrowed: shape and strides are the Field's own. A lent tensor cannot say that it is
 * read-only, so a read-only Field is not lent. */
static int lend_field(void *obj, DLTensor *out) {
    gb_py_field *f = as_field(obj);
    if (!f || let_read(f) < 0) return -1;
    if (f->readonly)
        return gb_py_fail(PyExc_BufferError, "a read-only Field cannot be lent as a bare DLTensor");
    *out = (DLTensor){
        .data = f->geometry.size ? f->data : NULL,
        .device = device_of(f),
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
