/* driver.h: the driver's blocks and streams for Python objects, on top of cuda/. */
#pragma once

#include "../../cuda/cuda.h"
#include "plan.h"

/* Raise an error of cuda/; returns -1. */
int gb_py_cuda_raise(const gb_cuda_error *e);

/* Call into cuda/ without the GIL: -1 with a Python error set, or the result. */
#define GB_PY_CUDA_UNLOCKED(error, call)             \
    __extension__({                                  \
        int rc_;                                     \
        PyThreadState *state_ = PyEval_SaveThread(); \
        rc_ = (call);                                \
        PyEval_RestoreThread(state_);                \
        rc_ < 0 ? gb_py_cuda_raise(error) : rc_;     \
    })

/* ---- blocks ---- */

typedef struct gb_py_block_object {
    PyObject_HEAD
    gb_cuda_block *block;
} gb_py_block_object;
extern PyTypeObject *gb_py_BlockType;
#define gb_py_is_block(obj) (Py_TYPE(obj) == gb_py_BlockType)

/* ---- the stream of a thread (gridbuf.cuda.stream) ---- */

/* A stream belongs to one GPU; a default stream belongs to all. Work on another GPU uses that GPU's
 * default stream. */
typedef struct gb_py_thread_stream {
    gb_cuda_stream stream;
    int device; /* GPU of the stream; GB_PY_EVERY_GPU; GB_PY_NOT_ASKED: not looked up yet */
} gb_py_thread_stream;
enum { GB_PY_EVERY_GPU = -1, GB_PY_NOT_ASKED = -2 };
gb_cuda_queue gb_py_queue_for(int device);
gb_cuda_stream gb_py_current_stream(void);                   /* the stream of gridbuf.cuda.stream */
gb_py_thread_stream gb_py_use_stream(gb_cuda_stream stream); /* returns the previous one */
void gb_py_restore_stream(gb_py_thread_stream before);

/* Blocks; memory of a device on its queue. New references. */
PyObject *gb_py_block_alloc(const gb_cuda_request *want);
PyObject *gb_py_block_for(const gb_plan *plan);
int gb_py_device_zero(gb_cuda_block *block, int64_t bytes); /* asynchronously */
gb_py_location gb_py_block_location(const gb_cuda_block *block, int gpu);

/* Queue of a foreign stream: on the GPU that the stream was made on; a default stream on `device`.
 * 0 or -1. */
int gb_py_queue_of(gb_cuda_stream stream, int device, gb_cuda_queue *queue);

/* `later` waits for the work that is on `earlier` now. */
int gb_py_queue_wait(gb_cuda_queue later, gb_cuda_queue earlier);
