/* driver.h: the driver's blocks and streams for Python objects, on top of cuda/. */
#ifndef GRIDBUF_DRIVER_H
#define GRIDBUF_DRIVER_H

#include "../../cuda/cuda.h"
#include "plan.h"

int gb_device_block_init(PyObject *module);

/* device_error.c: raises what the driver's room reported; returns -1. */
int gb_cuda_raise(const gb_cuda_error *e);

/* A call into cuda/ that may take long, without the GIL: -1 with a Python error set, or what it returned. */
#define GB_CUDA_UNLOCKED(error, call)                          \
    __extension__({                                            \
        int rc_;                                               \
        PyThreadState *state_ = PyEval_SaveThread();           \
        rc_ = (call);                                          \
        PyEval_RestoreThread(state_);                          \
        rc_ < 0 ? gb_cuda_raise(error) : rc_;                  \
    })

/* ---- device_block.c: the Python object that owns a block ---- */

typedef struct gb_block_object {
    PyObject_HEAD
    gb_cuda_block *block;
} gb_block_object;
extern PyTypeObject *gb_BlockType;
#define gb_is_block(obj) (Py_TYPE(obj) == gb_BlockType)

/* ---- device_stream.c: where this thread's work goes (gridbuf.cuda.stream) ---- */

/* The stream that was set is that of one GPU, unless it is a default stream, which every GPU has. Work on another GPU
 * goes to that one's default stream. */
typedef struct gb_thread_stream {
    gb_cuda_stream stream;
    int device;               /* whose it is; GB_EVERY_GPU, or GB_NOT_ASKED yet */
} gb_thread_stream;
enum { GB_EVERY_GPU = -1, GB_NOT_ASKED = -2 };
gb_cuda_queue gb_queue_for(int device);
gb_cuda_stream gb_current_stream(void);                          /* as it was set */
gb_thread_stream gb_use_stream(gb_cuda_stream stream);           /* returns the one before */
void gb_use_again(gb_thread_stream before);

/* Blocks; memory of a device on its queue. New references. */
PyObject *gb_block_alloc(const gb_cuda_request *want);
PyObject *gb_block_for(const gb_plan *plan);
int gb_device_zero(gb_cuda_block *block, int64_t bytes);   /* asynchronously */
gb_place gb_block_place(const gb_cuda_block *block, int gpu);


/* The queue waits for what is on the other one now. */
int gb_queue_wait(gb_cuda_queue later, gb_cuda_queue earlier);

#endif
