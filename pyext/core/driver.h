/* driver.h: the driver's blocks and streams for Python objects, on top of cuda/. */
#pragma once

#include "../../cuda/cuda.h"
#include "plan.h"

/* device_stream.c: raises what the driver's room reported; returns -1. */
int gb_py_cuda_raise(const gb_cuda_error *e);

/* A call into cuda/ that may take long, without the GIL: -1 with a Python error set, or what it
 * returned. */
#define GB_PY_CUDA_UNLOCKED(error, call)             \
    __extension__({                                  \
        int rc_;                                     \
        PyThreadState *state_ = PyEval_SaveThread(); \
        rc_ = (call);                                \
        PyEval_RestoreThread(state_);                \
        rc_ < 0 ? gb_py_cuda_raise(error) : rc_;     \
    })

/* ---- device_block.c: the Python object that owns a block ---- */

typedef struct gb_py_block_object {
    PyObject_HEAD
    gb_cuda_block *block;
} gb_py_block_object;
extern PyTypeObject *gb_py_BlockType;
#define gb_py_is_block(obj) (Py_TYPE(obj) == gb_py_BlockType)

/* ---- device_stream.c: where this thread's work goes (gridbuf.cuda.stream) ---- */

/* The stream that was set is that of one GPU, unless it is a default stream, which every GPU has.
 * Work on another GPU goes to that one's default stream. */
typedef struct gb_py_thread_stream {
    gb_cuda_stream stream;
    int device; /* whose it is; GB_PY_EVERY_GPU, or GB_PY_NOT_ASKED yet */
} gb_py_thread_stream;
enum { GB_PY_EVERY_GPU = -1, GB_PY_NOT_ASKED = -2 };
gb_cuda_queue gb_py_queue_for(int device);
gb_cuda_stream gb_py_current_stream(void);                   /* as it was set */
gb_py_thread_stream gb_py_use_stream(gb_cuda_stream stream); /* returns the one before */
void gb_py_restore_stream(gb_py_thread_stream before);

/* Blocks; memory of a device on its queue. New references. */
PyObject *gb_py_block_alloc(const gb_cuda_request *want);
PyObject *gb_py_block_for(const gb_plan *plan);
int gb_py_device_zero(gb_cuda_block *block, int64_t bytes); /* asynchronously */
gb_py_location gb_py_block_location(const gb_cuda_block *block, int gpu);

/* Where a stream of another library's works: on the GPU that it was made on, whose memory need not
 * be meant; a default stream on the one that is. 0 or -1. */
int gb_py_queue_of(gb_cuda_stream stream, int device, gb_cuda_queue *queue);

/* The queue waits for what is on the other one now. */
int gb_py_queue_wait(gb_cuda_queue later, gb_cuda_queue earlier);
