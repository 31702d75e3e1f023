/* import_dlpack.c: a Field or an ndarray over a tensor that another library hands us.
 * What comes in is checked before anything in it is believed. */
#include "../core/attribute.h"
#include "exchange.h"
#include "../core/pending.h"
#include "../core/upcall.h"
#include "../../dlpack/check.h"

/* The owner of what is made over a consumed tensor. release is NULL until the tensor is ours. */
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
        GB_PY_ASIDE;
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

/* What ml_dtypes has under the name of the type; none for those that are padded to a byte. */
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
                                 : NULL; /* of NOTYPE none, and no error */
    return numpys || PyErr_Occurred() ? numpys : extended_descr(dtype);
}

/* The driver cannot say what the tensor claims. */
static int not_known(DLDevice device, const gb_cuda_error *e) {
    return PyErr_Format(PyExc_BufferError, "DLPack: the tensor lies on device (%d, %d), and %s",
                        (int)device.device_type, (int)device.device_id, e->text),
           -1;
}

/* The number of a GPU that is there; a machine without a driver has none. */
static int check_gpu(DLDevice device) {
    gb_cuda_error e;
    int count = 0;
    if (GB_PY_CUDA_UNLOCKED(&e, gb_cuda_count(&count, &e)) < 0) return not_known(device, &e);
    if (device.device_id >= 0 && device.device_id < count) return 0;
    return PyErr_Format(PyExc_BufferError,
                        "DLPack: the tensor lies on device (%d, %d), and this process sees %d "
                        "GPUs, numbered from 0",
                        (int)device.device_type, (int)device.device_id, count),
           -1;
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
    if (kind == GB_CUDA_MANAGED) return location->device = (int16_t)device, 0;
    return PyErr_Format(PyExc_BufferError,
                        "DLPack: the tensor lies on device (%d, %d), and its address %p is not "
                        "managed memory",
                        (int)t->device.device_type, (int)t->device.device_id, data),
           -1;
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
        location.kind = GB_PY_HEAP; /* as a producer on the host said */
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

/* What a checked tensor says, of our own: Python code that runs afterwards may change the
 * producer's. */
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

/* The names of a capsule before and after somebody has taken the tensor out of it. */
typedef struct names {
    const char *fresh, *used;
} names;

static void rename_back(PyObject *capsule, const char *fresh) {
    GB_PY_ASIDE;
    (void)PyCapsule_SetName(capsule, fresh);
}

/* The tensor moves into a tensor_owner of ours. Its capsule, if it came in one, is renamed as
 * consumed before any Python code can run, which might consume it again; until all has worked
 * nothing is taken over. */
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
        return PyErr_Format(PyExc_BufferError, "DLPack: %s", e.message), -1;
    if (!(request & GB_PY_SHARE_ONLY) || !(m->flags & DLPACK_FLAG_BITMASK_IS_COPIED)) return 0;
    return PyErr_SetString(PyExc_BufferError,
                           "DLPack: the producer made a copy where its memory was to be shared; "
                           "gridbuf.from_dlpack(x, copy=True) takes one on purpose"),
           -1;
}

/* Not the object's method: a subclass's copy may be anything. */
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
    gb_py_let_go(object);
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
