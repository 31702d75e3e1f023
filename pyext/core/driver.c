/* driver.c: errors of cuda/ as exceptions, the stream of the running thread, order between streams,
 * and blocks of the driver's pools as Python objects. */
#include "driver.h"
#include "memory.h"
#include "../../cuda/strided.h"

int gb_py_cuda_raise(const gb_cuda_error *e) {
    PyObject *type = PyExc_RuntimeError;
    if (e->status == GB_CUDA_NO_MEMORY || e->status == GB_CUDA_OVER_LIMIT) type = PyExc_MemoryError;
    if (e->status == GB_CUDA_ARGUMENT) type = PyExc_ValueError;
    return gb_py_fail(type, "%s", e->text);
}

static __thread gb_py_thread_stream current = {0, GB_PY_EVERY_GPU};

gb_cuda_stream gb_py_current_stream(void) { return current.stream; }

gb_py_thread_stream gb_py_use_stream(gb_cuda_stream stream) {
    gb_py_thread_stream before = current;
    current = (gb_py_thread_stream){stream, stream <= 2 ? GB_PY_EVERY_GPU : GB_PY_NOT_ASKED};
    return before;
}

void gb_py_restore_stream(gb_py_thread_stream before) { current = before; }

/* The driver is called once for the owner of a stream, and never where there is one GPU. */
gb_cuda_queue gb_py_queue_for(int device) {
    gb_cuda_error e;
    if (current.device == GB_PY_NOT_ASKED && gb_cuda_owner(current.stream, &current.device, &e) < 0)
        current.device = GB_PY_EVERY_GPU; /* the first use reports the error */
    return (gb_cuda_queue){device,
                           current.device >= 0 && current.device != device ? 0 : current.stream};
}

int gb_py_queue_of(gb_cuda_stream stream, int device, gb_cuda_queue *queue) {
    gb_cuda_error e;
    int owner;
    if (gb_cuda_owner(stream, &owner, &e) < 0) return gb_py_cuda_raise(&e);
    *queue = (gb_cuda_queue){owner < 0 ? device : owner, stream};
    return 0;
}

int gb_py_queue_wait(gb_cuda_queue later, gb_cuda_queue earlier) {
    gb_cuda_error e;
    return gb_cuda_stream_wait_stream(later, earlier, &e) < 0 ? gb_py_cuda_raise(&e) : 0;
}

/* ---- blocks ---- */

#define LONG ((int64_t)1 << 20) /* bytes; the driver may take its time with more */

PyTypeObject *gb_py_BlockType;

static void dealloc(PyObject *self) {
    gb_py_block_object *b = (gb_py_block_object *)self;
    if (b->block) gb_cuda_release(b->block);
    GB_PY_FREE_OBJECT(self);
}

static PyObject *wrap(gb_cuda_block *block) {
    gb_py_block_object *b = (gb_py_block_object *)PyType_GenericAlloc(gb_py_BlockType, 0);
    if (b) b->block = block;
    else gb_cuda_release(block);
    return (PyObject *)b;
}

PyObject *gb_py_block_alloc(const gb_cuda_request *want) {
    gb_cuda_block *block;
    gb_cuda_error e;
    gb_py_decref_waiting();
    int rc;
    if (want->span > LONG) rc = GB_PY_CUDA_UNLOCKED(&e, gb_cuda_alloc(want, &block, &e));
    else if ((rc = gb_cuda_alloc(want, &block, &e)) < 0) gb_py_cuda_raise(&e);
    return rc < 0 ? NULL : wrap(block);
}

PyObject *gb_py_block_for(const gb_plan *plan) {
    gb_cuda_request want = {.kind = plan->memory,
                            .device = plan->device_id,
                            .span = plan->want.span,
                            .boundary = plan->want.boundary,
                            .offset = plan->want.offset,
                            .stream = gb_py_queue_for(plan->device_id).stream,
                            .plan = plan->want.plan};
    return gb_py_block_alloc(&want);
}

gb_py_location gb_py_block_location(const gb_cuda_block *block, int gpu) {
    int pinned = block->kind == GB_CUDA_PINNED;
    return (gb_py_location){.kind = (uint8_t)(GB_PY_ON_DEVICE + block->kind),
                            .gpu = !pinned && gpu,
                            .device = pinned ? 0 : (int16_t)block->device};
}

int gb_py_device_zero(gb_cuda_block *block, int64_t bytes) {
    gb_cuda_error e;
    return gb_cuda_zero(block, bytes, gb_py_queue_for(block->device), &e) < 0 ? gb_py_cuda_raise(&e)
                                                                              : 0;
}

/* ---- the type ---- */

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_doc, "Device, pinned or managed memory; it goes back to its pool with the last array or "
                "Field over it."},
    {0, NULL},
};

int gb_py_device_block_init(PyObject *module) {
    return gb_py_add_type(module, &gb_py_BlockType,
                          (PyType_Spec){"gridbuf._core._DeviceBlock", sizeof(gb_py_block_object), 0,
                                        GB_PY_FINAL, slots},
                          NULL);
}
