/* field_dlpack.c: a Field as a DLPack producer (DLPack 1.3). Host memory of any kind
 * is exported as kDLCPU; other device types are given only on request. */
#include "device/device.h"
#include "exchange/exchange.h"
#include "core/attribute.h"
#include "core/memory.h"
#include "core/pending.h"
#include "../dlpack/export.h"

/* The keywords of __dlpack__, as slots. */
enum { STREAM, MAX_VERSION, DL_DEVICE, COPY, KEYWORDS };
static const char *const names[KEYWORDS] = {"stream", "max_version", "dl_device", "copy"};
static PyObject *interned[KEYWORDS];

int gb_py_field_dlpack_init(PyObject *module) {
    return gb_py_words_init(names, interned, KEYWORDS);
}

/* Consumers pass the same tuple of names every time: the one seen last is kept. */
static struct {
    PyObject *kwnames;
    int8_t slots[KEYWORDS];
    int n;
} seen;

static void see(PyObject *kwnames, const int8_t *slots, int n) {
    GB_PY_OWNED PyObject *before = seen.kwnames;
    seen.kwnames = Py_NewRef(kwnames);
    memcpy(seen.slots, slots, sizeof seen.slots);
    seen.n = n;
}

static int read_arguments(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                          PyObject **w) {
    for (int i = 0; i < KEYWORDS; i++) w[i] = Py_None;
    if (nargs > 1)
        return PyErr_Format(
                   PyExc_TypeError,
                   "__dlpack__() takes at most 1 positional argument, the stream (%zd given)",
                   nargs),
               -1;
    if (nargs == 1) w[STREAM] = args[0]; /* older consumers pass it so */
    if (kwnames && kwnames == seen.kwnames) {
        for (int i = 0; i < seen.n; i++) w[seen.slots[i]] = args[nargs + i];
        return 0;
    }
    int8_t slots[KEYWORDS];
    Py_ssize_t nkw = kwnames ? PyTuple_Size(kwnames) : 0;
    for (Py_ssize_t i = 0; i < nkw; i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        int slot = gb_py_word_find(interned, KEYWORDS, name);
        if (slot < 0)
            return PyErr_Format(PyExc_TypeError,
                                "__dlpack__() got an unexpected keyword argument %R", name),
                   -1;
        w[slot] = args[nargs + i];
        slots[i] = (int8_t)slot; /* no name comes twice */
    }
    if (kwnames) see(kwnames, slots, (int)nkw);
    return 0;
}

/* Consumers pass the same tuple every time: the one seen last is kept. */
static int read_version(PyObject *max_version, int *versioned) {
    static PyObject *last;
    int64_t version[2];
    *versioned = max_version == last;
    if (*versioned || max_version == Py_None) return 0;
    if (gb_py_dlpack_pair(max_version, "max_version", version) < 0) return -1;
    *versioned = version[0] >= 1;
    if (*versioned && gb_py_is_constant(max_version)) {
        PyObject *before = last;
        last = Py_NewRef(max_version);
        Py_XDECREF(before);
    }
    return 0;
}

static int check_device(PyObject *dl_device) {
    int64_t pair[2];
    if (dl_device == Py_None) return 0;
    if (gb_py_dlpack_pair(dl_device, "dl_device", pair) < 0) return -1;
    if (pair[0] == kDLCPU && pair[1] == 0) return 0;
    return PyErr_Format(
               PyExc_BufferError,
               "dl_device: this Field lies on the host, (%d, 0); it cannot be exported to %R",
               (int)kDLCPU, dl_device),
           -1;
}

int gb_py_field_exportable(const gb_py_field *f) {
    if (!f->dtype->dl_ok)
        return PyErr_Format(PyExc_BufferError, "DLPack has no type for %R", f->dtype->descr), -1;
    if (!f->geometry.whole_steps && f->geometry.size > 1)
        return PyErr_SetString(PyExc_BufferError, "DLPack counts strides in items, and a stride of "
                                                  "this Field is not a multiple of its item size"),
               -1;
    return 0;
}

/* Values a protocol does not allow are BufferErrors: a TypeError would make the consumer
 * believe in an older protocol and call again. What is of another kind is one. */
static int check_arguments(gb_py_field *f, PyObject *const *w, int *versioned, int *copy,
                           DLDevice *device) {
    int to_host = 0;
    *device = (DLDevice){kDLCPU, 0};
    if (f->location.kind != GB_PY_HEAP) {
        if (gb_py_device_request(f, w[STREAM], w[DL_DEVICE], device, &to_host) < 0) return -1;
    } else if (w[STREAM] != Py_None) {
        return PyErr_Format(PyExc_BufferError,
                            "stream: host memory has none; only None is allowed, got %R",
                            w[STREAM]),
               -1;
    } else if (check_device(w[DL_DEVICE]) < 0) {
        return -1;
    }
    if (read_version(w[MAX_VERSION], versioned) < 0) return -1;
    if ((*copy = gb_py_copy_word(w[COPY])) == -1) return -1;
    if (to_host && *copy == 0)
        return PyErr_SetString(
                   PyExc_BufferError,
                   "copy: device memory on the host is a copy, and copy=False was given"),
               -1;
    *copy = to_host ? 2 : *copy > 0;
    if (gb_py_field_exportable(f) < 0) return -1;
    if (f->readonly && !*copy && !*versioned)
        return PyErr_SetString(PyExc_BufferError,
                               "a read-only Field cannot be exported as a legacy DLPack tensor; "
                               "the consumer must pass max_version=(1, 0)"),
               -1;
    return 0;
}

/* The tensor of a capsule that nobody consumed, which still owns it; a consumed one was renamed,
 * and the names differ in their first letters: "used_". */
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

/* What an export keeps alive: the heap's block, which needs no Python, else the object
 * that owns the memory. */
static void release_cuda(void *block) { gb_cuda_release(block); }

static void *share(gb_py_field *f, gb_dlpack_release *release) {
    gb_cuda_block *block = f->location.kind == GB_PY_HEAP ? NULL : gb_py_field_block(f);
    if (block) {
        *release = release_cuda;
        gb_cuda_share(block);
        return block;
    }
    *release = f->block ? gb_heap_release : gb_py_deferred_decref;
    if (f->block) gb_heap_share(f->block);
    else Py_XINCREF(f->owner); /* NULL: garbage that a collection has cleared, without elements */
    return f->block ? f->block : (void *)f->owner;
}

DLManagedTensorVersioned *gb_py_field_tensor(gb_py_field *f, DLDevice device, uint64_t flags) {
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
    DLManagedTensorVersioned *m = gb_py_field_tensor(f, device, flags);
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
    if (!m) return release(owner), PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(m, "dltensor", drop_legacy);
    if (!capsule) m->deleter(m);
    return capsule;
}

/* Whoever reads it comes after what is queued on it: a copy made for the export is, too. */
static PyObject *export(gb_py_field *f, DLDevice device, int versioned, uint64_t flags,
                        PyObject *stream) {
    if (f->location.kind != GB_PY_HEAP && gb_py_device_ready(f, device, stream) < 0) return NULL;
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
    int ok = fresh && gb_py_field_exportable((gb_py_field *)fresh) == 0;
    return ok ? export((gb_py_field *)fresh, device, versioned, DLPACK_FLAG_BITMASK_IS_COPIED,
                       w[STREAM])
              : NULL;
}

PyObject *gb_py_field_dlpack_device(PyObject *self, PyObject *unused) {
    DLDevice device = gb_py_dl_device((gb_py_field *)self);
    return Py_BuildValue("(ii)", (int)device.device_type, (int)device.device_id);
}
