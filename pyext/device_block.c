/* device_block.c: blocks of the driver's pools as Python objects, and arrays and Fields over them. */
#include "device.h"
#include "memory.h"

#define LONG ((int64_t)1 << 20)   /* bytes; the driver may take its time with more */

PyTypeObject *gb_BlockType;

int gb_cuda_raise(const gb_cuda_error *e) {
    PyObject *type = e->status == GB_CUDA_NO_MEMORY || e->status == GB_CUDA_OVER_LIMIT ? PyExc_MemoryError
                     : e->status == GB_CUDA_ARGUMENT                                   ? PyExc_ValueError
                                                                                       : PyExc_RuntimeError;
    PyErr_SetString(type, e->text);
    return -1;
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

PyObject *gb_block_take(const gb_cuda_want *want) {
    gb_cuda_block *block;
    gb_cuda_error e;
    gb_drain();
    int rc;
    if (want->span > LONG) rc = GB_CUDA_UNLOCKED(&e, gb_cuda_take(want, &block, &e));
    else if ((rc = gb_cuda_take(want, &block, &e)) < 0) gb_cuda_raise(&e);
    return rc < 0 ? NULL : wrap(block);
}

PyObject *gb_block_for(const gb_plan *plan) {
    gb_cuda_want want = {.kind = plan->memory, .device = plan->device_id, .span = plan->want.span, .boundary = plan->want.boundary,
                         .offset = plan->want.offset, .stream = gb_queue_for(plan->device_id).stream, .plan = plan->want.plan};
    return gb_block_take(&want);
}

PyObject *gb_block_new(int kind, int64_t bytes, gb_cuda_queue on) {
    gb_cuda_want want = {.kind = kind, .device = on.device, .span = bytes, .boundary = 256, .stream = on.stream};
    return gb_block_take(&want);
}

gb_place gb_block_place(const gb_cuda_block *block, int gpu) {
    int pinned = block->kind == GB_CUDA_PINNED;
    return (gb_place){.kind = (uint8_t)(GB_ON_DEVICE + block->kind), .gpu = !pinned && gpu, .device = pinned ? 0 : (int16_t)block->device};
}

gb_block_object *gb_block_behind(PyObject *obj) {
    while (obj && PyArray_Check(obj)) obj = PyArray_BASE((PyArrayObject *)obj);
    if (obj && gb_is_field(obj)) obj = ((gb_field *)obj)->owner;
    return obj && gb_is_block(obj) ? (gb_block_object *)obj : NULL;
}

/* ---- over a new block ---- */

static gb_field *over_block(gb_plan_object *plan, PyObject *owner) {
    gb_cuda_block *block = ((gb_block_object *)owner)->block;
    gb_place place = gb_block_place(block, plan->plan->device == GB_GPU);
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

static int zero_block(const gb_plan *plan, gb_cuda_block *block) {
    if (block->kind == GB_CUDA_PINNED) return gb_fill_zero((void *)(uintptr_t)block->data, plan->want.span);
    return gb_device_zero(block, plan->want.span);
}

gb_field *gb_device_field(gb_plan_object *plan, int zero) {
    PyObject *owner = gb_block_for(plan->plan);
    gb_field *f = NULL;
    if (owner && (!zero || zero_block(plan->plan, ((gb_block_object *)owner)->block) == 0)) f = over_block(plan, owner);
    Py_XDECREF(owner);
    return f;
}

/* cupy frees and uses again by its own current stream, so its arrays are made there, unless gridbuf was told a stream. */
static int cupy_stream(int device, gb_cuda_stream *stream) {
    PyObject *module = PyImport_ImportModule("gridbuf._cupy");   /* says at once that cupy is missing */
    gb_cuda_stream told = gb_current_stream();
    PyObject *number = module && !told ? PyObject_CallMethod(module, "stream_of", "i", device) : NULL;
    int rc = module && (told || number) ? 0 : -1;
    *stream = number ? PyLong_AsUnsignedLongLong(number) : told;
    Py_XDECREF(module);
    Py_XDECREF(number);
    return rc;
}

static PyObject *cupy_array(gb_plan_object *plan, int zero, PyObject *value) {
    gb_cuda_stream stream;
    if (cupy_stream(plan->plan->device_id, &stream) < 0) return NULL;
    gb_thread_stream before = gb_use_stream(stream);
    gb_field *f = gb_device_field(plan, zero);
    if (f && value && gb_assign((PyObject *)f, value) < 0) Py_CLEAR(f);
    PyObject *array = f ? gb_cupy_over(f) : NULL;
    gb_use_again(before);
    Py_XDECREF((PyObject *)f);
    return array;
}

/* Pinned memory, and managed memory that was not asked for on a GPU, make NumPy's arrays; the rest cupy's. */
PyObject *gb_device_array(gb_plan_object *plan, int zero, PyObject *value) {
    if (plan->plan->device == GB_GPU) return cupy_array(plan, zero, value);
    gb_field *f = gb_device_field(plan, zero);
    PyObject *array = NULL;
    if (f && value && gb_assign((PyObject *)f, value) < 0) Py_CLEAR(f);
    if (f && gb_host_may_look(f) == 0) array = gb_array_over(&f->geometry, f->dtype, f->data, 1, f->owner);
    Py_XDECREF((PyObject *)f);
    return array;
}

/* ---- the type, to Python ---- */

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

int gb_device_block_init(PyObject *module) {
    gb_BlockType = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!gb_BlockType) return -1;
    return PyModule_AddObjectRef(module, "_DeviceBlock", (PyObject *)gb_BlockType);
}
