/* import_dlpack.c: Fields and ndarrays over tensors of other libraries: capsules, the C exchange
 * API, and
 * __dlpack__. Tensors are checked before anything in them is used. */
#define _GNU_SOURCE
#include "exchange.h"
#include "../core/attribute.h"
#include "../core/references.h"
#include "../core/upcall.h"
#include "../../dlpack/tensor.h"

#include <dlfcn.h>

/* Owner of the memory of a consumed tensor. release is NULL until the tensor is taken over. */
typedef struct tensor_owner {
    PyObject_HEAD
    void *tensor;
    void (*release)(void *tensor);
} tensor_owner;
static PyTypeObject *owner_type;

static void free_versioned(void *tensor) {
    DLManagedTensorVersioned *m = tensor;
    if (m->deleter) m->deleter(m);
}

static void free_legacy(void *tensor) {
    DLManagedTensor *m = tensor;
    if (m->deleter) m->deleter(m);
}

/* A foreign deleter may run Python code while an exception is on its way. */
static void owner_dealloc(PyObject *self) {
    tensor_owner *k = (tensor_owner *)self;
    if (k->release) {
        GB_PY_SAVED_ERROR;
        k->release(k->tensor);
    }
    GB_PY_FREE_OBJECT(self);
}

static PyType_Slot owner_slots[] = {
    {Py_tp_dealloc, owner_dealloc},
    {Py_tp_doc,
     "A DLPack tensor of another library, deleted with the last Field or array over it."},
    {0, NULL},
};

int gb_py_import_dlpack_init(PyObject *module) {
    return gb_py_add_type(NULL, &owner_type,
                          (PyType_Spec){"gridbuf._core._DLPackOwner", sizeof(tensor_owner), 0,
                                        GB_PY_FINAL, owner_slots},
                          NULL);
}

/* NumPy's dtype of ml_dtypes for the type; none for types padded to a byte. */
static PyArray_Descr *extended_descr(DLDataType dtype) {
    const char *name = NULL;
    for (int i = 0; i < GB_DLPACK_EXTENDED_TYPES && dtype.bits >= 8; i++) {
        const gb_dlpack_extended *e = &gb_dlpack_extended_types[i];
        if (e->dtype.code == dtype.code && e->dtype.bits == dtype.bits) name = e->name;
    }
    return (PyArray_Descr *)gb_py_upcall_to(GB_PY_UP_EXTENDED_DTYPE, "(zii)", name, (int)dtype.code,
                                            (int)dtype.bits);
}

/* NumPy's dtype for a DLPack one, or NULL with a BufferError. */
static PyArray_Descr *descr_of(DLDataType dtype) {
    int type = gb_dlpack_number(dtype);
    PyArray_Descr *numpys = type ? PyArray_DescrFromType(gb_py_npy_type(type))
                                 : NULL; /* NULL for NOTYPE, without an error */
    return numpys || PyErr_Occurred() ? numpys : extended_descr(dtype);
}

/* Raise that the driver cannot confirm the location of a tensor. */
static int not_known(DLDevice device, const gb_cuda_error *e) {
    return gb_py_fail(PyExc_BufferError, "DLPack: the tensor lies on device (%d, %d), and %s",
                      (int)device.device_type, (int)device.device_id, e->text);
}

/* The number of a GPU that is there; a machine without a driver has none. */
static int check_gpu(DLDevice device) {
    gb_cuda_error e;
    int count = 0;
    if (GB_PY_CUDA_UNLOCKED(&e, gb_cuda_count(&count, &e)) < 0) return not_known(device, &e);
    if (device.device_id >= 0 && device.device_id < count) return 0;
    return gb_py_fail(PyExc_BufferError,
                      "DLPack: the tensor lies on device (%d, %d), and this process sees %d "
                      "GPUs, numbered from 0",
                      (int)device.device_type, (int)device.device_id, count);
}

/* DLPack does not say which GPU managed memory belongs to: the driver does. */
static int managed_location(const DLTensor *t, gb_py_location *location) {
    gb_cuda_error e;
    int kind = -1, device = 0;
    void *data = gb_dlpack_first(t);
    location->kind = GB_PY_ON_MANAGED;
    if (!data) return 0; /* no elements, nowhere */
    if (GB_PY_CUDA_UNLOCKED(&e, gb_cuda_pointer_attributes((uintptr_t)data, &kind, &device, &e)) <
        0)
        return not_known(t->device, &e);
    if (kind == GB_CUDA_MANAGED) {
        location->device = (int16_t)device;
        return 0;
    }
    return gb_py_fail(PyExc_BufferError,
                      "DLPack: the tensor lies on device (%d, %d), and its address %p is not "
                      "managed memory",
                      (int)t->device.device_type, (int)t->device.device_id, data);
}

static int find_location(PyTypeObject *type, const DLTensor *t, gb_py_location *location) {
    int where = t->device.device_type, on_host = !type || type == gb_py_HostFieldType;
    *location = (gb_py_location){0};
    if (where == kDLCUDAHost) location->kind = GB_PY_ON_PINNED;
    if (where == kDLCUDAManaged)
        return on_host ? (location->kind = GB_PY_ON_MANAGED, 0) : managed_location(t, location);
    if (where != kDLCUDA) return 0;
    *location = (gb_py_location){GB_PY_ON_DEVICE, 1, 0};
    if (on_host) return 0; /* refused for that */
    if (check_gpu(t->device) < 0) return -1;
    location->device = (int16_t)t->device.device_id;
    return 0;
}

static PyObject *over(PyTypeObject *type, const DLTensor *t, int readonly, PyObject *owner) {
    gb_py_location location;
    if (find_location(type, t, &location) < 0) return NULL;
    if (type == gb_py_HostFieldType && location.kind == GB_PY_ON_MANAGED)
        location.kind = GB_PY_HEAP; /* the producer's __dlpack_device__ is host memory */
    if (type == gb_py_DeviceFieldType && location.kind != GB_PY_ON_DEVICE)
        return PyErr_Format(
            PyExc_BufferError,
            "DLPack: the tensor lies on device (%d, %d), not on a GPU as its producer said",
            (int)t->device.device_type, (int)t->device.device_id);
    if (location.kind == GB_PY_ON_DEVICE && (!type || type == gb_py_HostFieldType))
        return PyErr_Format(PyExc_BufferError,
                            "DLPack: the tensor lies on device (%d, %d), not on the host",
                            (int)t->device.device_type, (int)t->device.device_id);
    int64_t strides[GB_MAXDIMS];
    GB_PY_OWNED PyArray_Descr *descr = descr_of(t->dtype);
    if (!descr) return NULL;
    gb_dlpack_byte_strides(t, strides);
    static char nowhere[16]; /* an empty tensor may have no address; NumPy wants one */
    char *data = gb_dlpack_first(t);
    gb_py_imported memory = {.descr = descr,
                             .ndim = t->ndim,
                             .shape = t->shape,
                             .strides = strides,
                             .data = data ? data : nowhere,
                             .readonly = readonly,
                             .owner = owner,
                             .location = location};
    return gb_py_from_memory(type, &memory);
}

/* Copy of a checked tensor: later Python code may change the producer's. */
typedef struct description {
    DLTensor t;
    int64_t shape[GB_MAXDIMS], strides[GB_MAXDIMS];
} description;

static void describe(description *d, const DLTensor *t) {
    d->t = *t;
    if (t->ndim) memcpy(d->shape, t->shape, (size_t)t->ndim * sizeof *d->shape);
    if (t->ndim && t->strides) memcpy(d->strides, t->strides, (size_t)t->ndim * sizeof *d->strides);
    d->t.shape = d->shape;
    d->t.strides = t->strides ? d->strides : NULL;
}

/* Names of a capsule before and after its tensor is taken. */
typedef struct names {
    const char *fresh, *used;
} names;

static void rename_back(PyObject *capsule, const char *fresh) {
    GB_PY_SAVED_ERROR;
    (void)PyCapsule_SetName(capsule, fresh);
}

/* Move the tensor into a tensor_owner. Its capsule is renamed as consumed before any Python code
 * can run, which might consume it again; nothing is taken over until all has worked. */
static PyObject *consume(PyTypeObject *type, PyObject *capsule, void *tensor, const DLTensor *t,
                         int readonly, names n, void (*release)(void *)) {
    description own;
    describe(&own, t);
    GB_PY_OWNED tensor_owner *k = (tensor_owner *)PyType_GenericAlloc(owner_type, 0);
    if (!k) return NULL;
    k->tensor = tensor;
    PyObject *object = NULL;
    if (!capsule || PyCapsule_SetName(capsule, n.used) == 0) {
        object = over(type, &own.t, readonly, (PyObject *)k);
        if (object) k->release = release;
        else if (capsule) rename_back(capsule, n.fresh);
    }
    return object;
}

static int check_versioned(const DLManagedTensorVersioned *m, int request) {
    gb_error e;
    if (gb_dlpack_check_versioned(m, &e) < 0)
        return gb_py_fail(PyExc_BufferError, "DLPack: %s", e.message);
    if (!(request & GB_PY_SHARE_ONLY) || !(m->flags & DLPACK_FLAG_BITMASK_IS_COPIED)) return 0;
    return gb_py_fail(PyExc_BufferError,
                      "DLPack: the producer made a copy where its memory was to be shared; "
                      "gridbuf.from_dlpack(x, copy=True) takes one on purpose");
}

/* Copy by gridbuf.field.copy: a subclass may override its method. */
PyObject *gb_py_copy_of(PyObject *field) {
    PyObject *copy = gb_py_upcall_to(GB_PY_UP_COPY_OF_FIELD, "(O)", field);
    if (copy && !gb_py_is_field(copy)) {
        PyErr_Format(PyExc_TypeError, "copy: expected gridbuf.field.copy to make a Field, got %R",
                     copy);
        Py_CLEAR(copy);
    }
    return copy;
}

PyObject *gb_py_copied(PyObject *object) {
    PyObject *copy = gb_py_copy_of(object);
    gb_py_decref_foreign(object);
    return copy;
}

static PyObject *versioned(PyTypeObject *type, PyObject *capsule, DLManagedTensorVersioned *m,
                           int request) {
    if (check_versioned(m, request) < 0) return NULL;
    int readonly = (m->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0,
        fresh = (m->flags & DLPACK_FLAG_BITMASK_IS_COPIED) && !readonly;
    PyObject *object =
        consume(type, capsule, m, &m->dl_tensor, readonly,
                (names){"dltensor_versioned", "used_dltensor_versioned"}, free_versioned);
    return object && request & GB_PY_OWN_COPY && !fresh ? gb_py_copied(object) : object;
}

PyObject *gb_py_from_tensor(PyTypeObject *type, DLManagedTensorVersioned *m, int request) {
    if (check_versioned(m, request) < 0) return NULL;
    return consume(type, NULL, m, &m->dl_tensor, m->flags & DLPACK_FLAG_BITMASK_READ_ONLY,
                   (names){NULL, NULL}, free_versioned);
}

PyObject *gb_py_from_capsule(PyTypeObject *type, PyObject *capsule, int request, int readonly) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return versioned(type, capsule, PyCapsule_GetPointer(capsule, "dltensor_versioned"),
                         request);
    if (!PyCapsule_IsValid(capsule, "dltensor"))
        return PyErr_Format(PyExc_BufferError,
                            "DLPack: %R is not a fresh 'dltensor' or 'dltensor_versioned' capsule",
                            capsule);
    gb_error e;
    DLManagedTensor *m = PyCapsule_GetPointer(capsule, "dltensor");
    if (gb_dlpack_check_legacy(m, &e) < 0)
        return PyErr_Format(PyExc_BufferError, "DLPack: %s", e.message);
    PyObject *object = consume(type, capsule, m, &m->dl_tensor, readonly,
                               (names){"dltensor", "used_dltensor"}, free_legacy);
    return object && request & GB_PY_OWN_COPY
               ? gb_py_copied(object)
               : object; /* a legacy tensor cannot say that it is a copy */
}

PyObject *gb_py_import_capsule(PyObject *self, PyObject *capsule) {
    return gb_py_from_capsule(NULL, capsule, 0, 0);
}

/* ---- the DLPack C exchange API (1.3) ----
 *
 * A Field keeps the memory, so the managed tensor is taken: a borrowed one is valid only until
 * control goes back to Python, and cannot say that it is read-only. */

#define LONGEST_CHAIN 16 /* entries: one for each major version of a producer */

static int refuse(PyObject *obj, const char *why) {
    return gb_py_fail(PyExc_BufferError, "__dlpack_c_exchange_api__ of %R: %s", Py_TYPE(obj), why);
}

/* The newest table of a major version that can be read; older ones hang behind newer ones. */
static int choose(PyObject *obj, const DLPackExchangeAPIHeader *header,
                  const DLPackExchangeAPI **api) {
    for (int i = 0; header; header = header->prev_api) {
        if ((uintptr_t)header % _Alignof(DLPackExchangeAPIHeader))
            return refuse(obj, "the table is not aligned");
        if (header->version.major == DLPACK_MAJOR_VERSION) {
            *api = (const DLPackExchangeAPI *)header;
            return (*api)->managed_tensor_from_py_object_no_sync
                       ? 1
                       : refuse(obj, "managed_tensor_from_py_object_no_sync is NULL");
        }
        if (++i == LONGEST_CHAIN) return refuse(obj, "the chain of prev_api does not end");
    }
    return 0;
}

int gb_py_exchange_find(PyObject *obj, const DLPackExchangeAPI **api) {
    GB_PY_HELD PyObject *capsule = NULL;
    int found = gb_py_optional((PyObject *)Py_TYPE(obj), gb_py_attr.exchange_api, &capsule);
    if (found <= 0) return found;
    if (capsule == Py_None) found = 0; /* how a subclass takes it back */
    else if (PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        found = choose(obj, PyCapsule_GetPointer(capsule, "dlpack_exchange_api"), api);
    else found = refuse(obj, "not a capsule 'dlpack_exchange_api'");
    return found;
}

/* torch's tables describe bytes of tensors whose values differ from them (a pending conjugate or
 * negation), or that take part in a gradient; its __dlpack__ refuses most of these. */
static int check_values(PyObject *obj) {
    static const char *const remedies[] = {"resolve_conj()", "resolve_neg()", "detach()"};
    PyObject *const names[] = {gb_py_attr.is_conj, gb_py_attr.is_neg, gb_py_attr.requires_grad};
    for (int i = 0; i < 3; i++) {
        GB_PY_OWNED PyObject *value = NULL, *flag = NULL;
        int found = gb_py_optional(obj, names[i], &value);
        if (found > 0)
            flag = PyCallable_Check(value) ? PyObject_CallNoArgs(value) : Py_NewRef(value);
        if (found && !flag) return -1;
        if (flag != Py_True) continue;
        return gb_py_fail(PyExc_BufferError,
                          "data: %S of this %R is true, so its memory alone is not its value; "
                          "call %s on it first",
                          names[i], Py_TYPE(obj), remedies[i]);
    }
    return 0;
}

/* A tensor from the exchange API is ours as soon as the call has succeeded. */
static void give_back(DLManagedTensorVersioned *m) {
    GB_PY_SAVED_ERROR;
    if (m && (uintptr_t)m % _Alignof(DLManagedTensorVersioned) == 0 && m->deleter) m->deleter(m);
}

/* The tensor comes without synchronisation: our stream waits for the one that the producer works
 * on. */
static int order(const DLPackExchangeAPI *api, const gb_py_location *location) {
    void *stream = NULL;
    if (location->kind != GB_PY_ON_DEVICE || !api->current_work_stream) return 0;
    if (api->current_work_stream(kDLCUDA, location->device, &stream) != 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_BufferError,
                            "DLPack: current_work_stream of the producer failed");
        return -1;
    }
    gb_cuda_queue producer;
    if (gb_py_queue_of((gb_cuda_stream)(uintptr_t)stream, location->device, &producer) < 0)
        return -1;
    return gb_py_queue_wait(gb_py_queue_for(location->device), producer);
}

PyObject *gb_py_from_exchange(PyTypeObject *type, PyObject *obj, const DLPackExchangeAPI *api,
                              int request) {
    DLManagedTensorVersioned *m = NULL;
    if (check_values(obj) < 0) return NULL; /* the table lives as long as the process */
    if (api->managed_tensor_from_py_object_no_sync(obj, &m) != 0) {
        if (!PyErr_Occurred()) refuse(obj, "it failed and did not say why");
        return NULL;
    }
    PyObject *object = PyErr_Occurred() ? NULL : gb_py_from_tensor(type, m, request);
    if (!object) give_back(m);
    else if (gb_py_is_field(object) && order(api, &((gb_py_field *)object)->location) < 0)
        Py_CLEAR(object);
    return object;
}

/* ---- obj.__dlpack__, of any version ---- */

/* PyObject_Vectorcall: in the limited API from 3.12 on, but exported since 3.9. Looked up by name.
 */
static PyObject *(*vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);

/* The keywords of a sharing and of a copying call, and their values. */
static PyObject *keywords[4], *version; /* index: 1 copying, 2 with a stream */

int gb_py_from_producer_init(PyObject *module) {
    vectorcall = (PyObject * (*)(PyObject *, PyObject *const *, size_t, PyObject *))
        dlsym(RTLD_DEFAULT, "PyObject_Vectorcall");
    if (!vectorcall)
        return gb_py_fail(PyExc_ImportError, "gridbuf: this Python has no PyObject_Vectorcall");
    version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    keywords[0] = Py_BuildValue("(s)", "max_version");
    keywords[1] = Py_BuildValue("(ss)", "max_version", "copy");
    keywords[2] = Py_BuildValue("(ss)", "max_version", "stream");
    keywords[3] = Py_BuildValue("(sss)", "max_version", "stream", "copy");
    return version && keywords[0] && keywords[1] && keywords[2] && keywords[3] ? 0 : -1;
}

static int is_host_memory(int64_t device_type) {
    return device_type == kDLCPU || device_type == kDLCUDAHost || device_type == kDLROCMHost ||
           device_type == kDLCUDAManaged;
}

/* The pair of ints that __dlpack_device__ gave; -1 with an error. */
static int read_device(PyObject *obj, PyObject *device, int64_t *type, int64_t *id) {
    if (PyTuple_Check(device) && PyTuple_Size(device) == 2 &&
        gb_py_int64(PyTuple_GetItem(device, 0), "device", "int", type) == 0 &&
        gb_py_int64(PyTuple_GetItem(device, 1), "device", "int", id) == 0)
        return 0;
    if (PyErr_Occurred() && !gb_py_clear_description_error()) return -1;
    return gb_py_fail(PyExc_BufferError,
                      "DLPack: __dlpack_device__ of %R gave %R, not a pair of ints", Py_TYPE(obj),
                      device);
}

/* Read obj.__dlpack_device__: narrow *type to the location; *gpu: the GPU whose stream must be
 * passed, or -1. Without the method, the tensor says where it lies. */
static int check_device(PyObject *obj, PyTypeObject **type, int *gpu) {
    int host_only = !*type || *type == gb_py_HostFieldType;
    *gpu = -1;
    GB_PY_OWNED PyObject *method = NULL;
    int found = gb_py_optional(obj, gb_py_attr.dlpack_device, &method);
    if (found <= 0) return found;
    GB_PY_HELD PyObject *device = PyObject_CallNoArgs(method);
    int64_t device_type, id;
    if (!device || read_device(obj, device, &device_type, &id) < 0) return -1;
    if (device_type == kDLCUDA && !host_only) {
        *gpu = id >= 0 && id <= INT16_MAX ? (int)id : 0; /* the tensor's own number is checked */
        if (*type == gb_py_FieldType) *type = gb_py_DeviceFieldType;
        return 0;
    }
    if (!is_host_memory(device_type))
        return gb_py_fail(PyExc_TypeError,
                          "data: %R lies on DLPack device %R, and a host array is needed",
                          Py_TYPE(obj), device);
    if (device_type == kDLCPU && *type == gb_py_FieldType) *type = gb_py_HostFieldType;
    return 0;
}

/* A legacy tensor cannot say that it is read-only, but its producer may: NumPy's
 * flags.writeable, or an attribute readonly. */
static int says_readonly(PyObject *obj) {
    GB_PY_OWNED PyObject *readonly = NULL, *flags = NULL, *writeable = NULL;
    int found = gb_py_optional(obj, gb_py_attr.readonly, &readonly);
    if (found < 0 || readonly == Py_True) return found;
    if ((found = gb_py_optional(obj, gb_py_attr.flags, &flags)) <= 0) return found;
    found = gb_py_optional(flags, gb_py_attr.writeable, &writeable);
    return found < 0 ? -1 : writeable == Py_False;
}

/* Call obj.__dlpack__, of any version. gpu: the GPU whose stream is passed, or -1. */
static PyObject *call_producer(PyObject *method, int gpu, int copying) {
    if (gpu < 0) {
        PyObject *values[] = {version, Py_True}; /* max_version, copy */
        PyObject *capsule = vectorcall(method, values, 0, keywords[copying]);
        if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
        PyErr_Clear(); /* a producer from before max_version */
        return PyObject_CallNoArgs(method);
    }
    gb_cuda_stream ours = gb_py_queue_for(gpu).stream;
    GB_PY_OWNED PyObject *stream = PyLong_FromUnsignedLongLong(ours ? ours : 1);
    if (!stream) return NULL;
    PyObject *values[] = {version, stream, Py_True};
    PyObject *capsule = vectorcall(method, values, 0, keywords[2 + copying]);
    if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
    PyErr_Clear();
    return PyObject_CallFunctionObjArgs(method, stream, NULL);
}

PyObject *gb_py_from_producer(PyTypeObject *type, PyObject *obj, PyObject *method, int request) {
    int gpu;
    if (check_device(obj, &type, &gpu) < 0) return NULL;
    if (!PyArray_Check(obj) && check_values(obj) < 0) return NULL;
    GB_PY_HELD PyObject *capsule = call_producer(method, gpu, (request & GB_PY_OWN_COPY) != 0);
    if (!capsule) return NULL;
    int readonly = PyCapsule_IsValid(capsule, "dltensor") ? says_readonly(obj) : 0;
    return readonly < 0 ? NULL : gb_py_from_capsule(type, capsule, request, readonly);
}
