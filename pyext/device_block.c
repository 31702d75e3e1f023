/* device_block.c: blocks of the driver's pools as Python objects, and arrays and Fields over them. */
#include "device.h"
#include "../cuda/exports.h"
#include "memory.h"

PyTypeObject *gb_BlockType;

int gb_cuda_raise(const gb_cuda_error *e) {
    PyObject *type = e->status == GB_CUDA_NO_MEMORY || e->status == GB_CUDA_OVER_LIMIT ? PyExc_MemoryError
                     : e->status == GB_CUDA_ARGUMENT                                   ? PyExc_ValueError
                                                                                       : PyExc_RuntimeError;
    PyErr_SetString(type, e->text);
    return -1;
}

/* ---- this thread's stream ---- */

static __thread gb_cuda_stream current;

gb_cuda_stream gb_current_stream(void) { return current; }

static PyObject *set_stream(PyObject *self, PyObject *handle) {
    unsigned long long value = PyLong_AsUnsignedLongLong(handle);
    if (value == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
    gb_cuda_stream before = current;
    current = value;
    return PyLong_FromUnsignedLongLong(before);
}

/* ---- the type ---- */

static void dealloc(PyObject *self) {
    gb_block_object *b = (gb_block_object *)self;
    if (b->block) gb_cuda_release(b->block);
    GB_FREE_OBJECT(self);
}

static PyObject *wrap(gb_cuda_block *block) {
    gb_block_object *b = (gb_block_object *)PyType_GenericAlloc(gb_BlockType, 0);
    if (b) b->block = block;
    else gb_cuda_release(block);
    return (PyObject *)b;
}

static PyObject *take(const gb_cuda_want *want) {
    gb_cuda_block *block;
    gb_cuda_error e;
    gb_drain();
    if (gb_cuda_take(want, &block, &e) < 0) {
        gb_cuda_raise(&e);
        return NULL;
    }
    return wrap(block);
}

static int kind_of(const gb_plan *plan) {
    return plan->memory == 1 ? GB_CUDA_PINNED : plan->memory == 2 ? GB_CUDA_MANAGED : GB_CUDA_DEVICE;
}

PyObject *gb_block_for(const gb_plan *plan, gb_cuda_stream stream) {
    gb_cuda_want want = {.kind = kind_of(plan), .device = plan->device_id, .span = plan->want.span, .boundary = plan->want.boundary,
                         .offset = plan->want.offset, .stream = stream, .plan = plan->want.plan};
    return take(&want);
}

PyObject *gb_block_new(int kind, int device, int64_t bytes, gb_cuda_stream stream) {
    gb_cuda_want want = {.kind = kind, .device = device, .span = bytes, .boundary = 256, .stream = stream};
    return take(&want);
}

gb_place gb_block_place(const gb_cuda_block *block, int gpu) {
    int pinned = block->kind == GB_CUDA_PINNED;
    return (gb_place){.kind = (uint8_t)(block->kind + 1), .gpu = !pinned && gpu, .device = pinned ? 0 : (int16_t)block->device};
}

gb_block_object *gb_block_behind(PyObject *obj) {
    while (obj && PyArray_Check(obj)) obj = PyArray_BASE((PyArrayObject *)obj);
    if (obj && gb_is_field(obj)) obj = ((gb_field *)obj)->owner;
    return obj && gb_is_block(obj) ? (gb_block_object *)obj : NULL;
}

/* ---- over a new block ---- */

static gb_field *over_block(gb_plan_object *plan, PyObject *owner) {
    gb_cuda_block *block = ((gb_block_object *)owner)->block;
    gb_place place = gb_block_place(block, plan->plan->device == 2);
    PyTypeObject *type = gb_type_for(gb_FieldType, place);
    gb_field *f = type ? gb_field_alloc(type, -1) : NULL;
    if (!f) return NULL;
    f->geometry = plan->plan->geometry;
    f->plan = (gb_plan_object *)Py_NewRef((PyObject *)plan);
    f->dtype = (gb_dtype *)Py_NewRef((PyObject *)plan->dtype);
    f->data = (char *)(uintptr_t)block->data;
    f->owner = Py_NewRef(owner);
    f->place = place;
    return f;
}

static int zero_block(const gb_plan *plan, gb_cuda_block *block, gb_cuda_stream stream) {
    if (block->kind == GB_CUDA_PINNED) return gb_fill_zero((void *)(uintptr_t)block->data, plan->want.span);
    return gb_device_zero(block, plan->want.span, stream);
}

gb_field *gb_device_field(gb_plan_object *plan, int zero) {
    PyObject *owner = gb_block_for(plan->plan, current);
    gb_field *f = NULL;
    if (owner && (!zero || zero_block(plan->plan, ((gb_block_object *)owner)->block, current) == 0)) f = over_block(plan, owner);
    Py_XDECREF(owner);
    return f;
}

/* Pinned memory, and managed memory that was not asked for on a GPU, make NumPy's arrays; the rest cupy's. */
PyObject *gb_device_array(gb_plan_object *plan, int zero, PyObject *value) {
    int gpu = plan->plan->device == 2;
    PyObject *module = gpu ? PyImport_ImportModule("gridbuf._cupy") : NULL;   /* says at once that cupy is missing */
    gb_field *f = gpu && !module ? NULL : gb_device_field(plan, zero);
    PyObject *array = NULL;
    if (f && value && gb_assign((PyObject *)f, value) < 0) Py_CLEAR(f);
    if (f && gpu) array = gb_cupy_over(f);
    else if (f && gb_host_may_look(f) == 0)
        array = gb_array_over(&f->geometry, f->dtype, f->data, 1, f->owner);
    Py_XDECREF(module);
    Py_XDECREF((PyObject *)f);
    return array;
}

/* ---- the module ---- */

static PyObject *start(PyObject *self, PyObject *none) {
    gb_cuda_error e;
    return GB_CUDA_UNLOCKED(&e, gb_cuda_start(&e)) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *started(PyObject *self, PyObject *none) { return PyBool_FromLong(gb_cuda_started()); }

static PyObject *devices(PyObject *self, PyObject *none) {
    gb_cuda_error e;
    int n = 0;
    if (GB_CUDA_UNLOCKED(&e, gb_cuda_count(&n, &e)) < 0) return NULL;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < n; i++) {
        gb_cuda_device_info d;
        PyObject *entry = NULL;
        if (GB_CUDA_UNLOCKED(&e, gb_cuda_info(i, &d, &e)) == 0)
            entry = Py_BuildValue("{s:i,s:s,s:i,s:(ii),s:N,s:N,s:N,s:N,s:L,s:L}", "number", i, "name", d.name, "driver_version",
                                  (int)d.driver_version, "compute_capability", (int)d.compute_major, (int)d.compute_minor,
                                  "memory_pools", PyBool_FromLong(d.memory_pools), "managed_memory", PyBool_FromLong(d.managed_memory),
                                  "concurrent_managed", PyBool_FromLong(d.concurrent_managed), "integrated",
                                  PyBool_FromLong(d.integrated), "total_bytes", (long long)d.total_bytes, "free_bytes",
                                  (long long)d.free_bytes);
        if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

static PyObject *get_stream(PyObject *self, PyObject *none) { return PyLong_FromUnsignedLongLong(current); }

static PyObject *count(PyObject *self, PyObject *none) {
    gb_cuda_error e;
    int n = 0;
    return GB_CUDA_UNLOCKED(&e, gb_cuda_count(&n, &e)) < 0 ? NULL : PyLong_FromLong(n);
}

/* block(kind, device, span, boundary, offset) -> (owner, address) */
static PyObject *block(PyObject *self, PyObject *args) {
    gb_cuda_want want = {.stream = current};
    long long span, boundary, offset;
    if (!PyArg_ParseTuple(args, "iiLLL", &want.kind, &want.device, &span, &boundary, &offset)) return NULL;
    want.span = span;
    want.boundary = boundary;
    want.offset = offset;
    PyObject *owner = take(&want);
    return owner ? Py_BuildValue("(NK)", owner, (unsigned long long)((gb_block_object *)owner)->block->data) : NULL;
}

/* {name: address} of the functions that other libraries allocate with (cuda/exports.h). */
static PyObject *exports(PyObject *self, PyObject *none) {
    return Py_BuildValue("{s:N,s:N,s:N,s:N,s:N,s:N,s:N}", "cupy_malloc", PyLong_FromVoidPtr((void *)gb_cuda_cupy_malloc),
                         "cupy_malloc_managed", PyLong_FromVoidPtr((void *)gb_cuda_cupy_malloc_managed), "cupy_malloc_pinned",
                         PyLong_FromVoidPtr((void *)gb_cuda_cupy_malloc_pinned), "cupy_free", PyLong_FromVoidPtr((void *)gb_cuda_cupy_free),
                         "torch_malloc", PyLong_FromVoidPtr((void *)gb_cuda_torch_malloc), "torch_free",
                         PyLong_FromVoidPtr((void *)gb_cuda_torch_free), "torch_record_stream",
                         PyLong_FromVoidPtr((void *)gb_cuda_torch_record_stream));
}

static PyObject *synchronize(PyObject *self, PyObject *number) {
    gb_cuda_error e;
    int64_t device;
    if (gb_int64(number, "device", "an int", &device) < 0) return NULL;
    return GB_CUDA_UNLOCKED(&e, gb_cuda_synchronize((int)device, &e)) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"cuda_start", start, METH_NOARGS, NULL},
    {"cuda_started", started, METH_NOARGS, NULL},
    {"cuda_devices", devices, METH_NOARGS, NULL},
    {"cuda_synchronize", synchronize, METH_O, NULL},
    {"cuda_count", count, METH_NOARGS, NULL},
    {"cuda_exports", exports, METH_NOARGS, NULL},
    {"cuda_block", block, METH_VARARGS, NULL},
    {"cuda_set_stream", set_stream, METH_O, NULL},
    {"cuda_get_stream", get_stream, METH_NOARGS, NULL},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_doc, "Device, pinned or managed memory; it goes back to its pool with the last array or Field over it."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "gridbuf._core._DeviceBlock",
    .basicsize = sizeof(gb_block_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int gb_device_block_init(PyObject *module);
int gb_device_block_init(PyObject *module) {
    gb_BlockType = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!gb_BlockType || PyModule_AddFunctions(module, functions) < 0) return -1;
    return PyModule_AddObjectRef(module, "_DeviceBlock", (PyObject *)gb_BlockType);
}
