/* device.h: device, pinned and managed memory for Python objects, on top of cuda/. */
#ifndef GRIDBUF_DEVICE_H
#define GRIDBUF_DEVICE_H

#include "../cuda/cuda.h"
#include "copying.h"

int gb_device_block_init(PyObject *module), gb_device_field_init(PyObject *module), gb_device_functions_init(PyObject *module);
int gb_async_copy_init(PyObject *module), gb_device_copy_init(PyObject *module), gb_device_stats_init(PyObject *module);

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

/* The block that an object's memory lies in, or NULL: through the bases of arrays. Borrowed. */
gb_block_object *gb_block_behind(PyObject *obj);
static inline gb_cuda_block *gb_field_block(const gb_field *f) {
    return f->owner && gb_is_block(f->owner) ? ((gb_block_object *)f->owner)->block : NULL;
}

/* device_new.c: what is asked for when a plan is not for the heap. */
#define gb_plan_on_heap(plan) __builtin_expect((plan)->device != GB_GPU && (plan)->memory == GB_PLAIN, 1)
PyObject *gb_device_array(gb_plan_object *plan, int zero, PyObject *value);
gb_field *gb_device_field(gb_plan_object *plan, int zero);

/* ---- device_field.c ---- */

/* Our own work on a Field's memory that is under way: 1 with its stream, 0, -1 with an error. */
int gb_field_pending(gb_field *f, gb_cuda_stream *stream);
PyObject *gb_cupy_over(gb_field *f);   /* new reference */
PyObject *gb_on_host(gb_field *f);     /* a Field of its own memory on the host with its values */

/* ---- device_wrap.c ---- */

/* A Field over an object with __cuda_array_interface__; NotImplemented for those that turn out not to have it. */
PyObject *gb_wrap_cuda(PyTypeObject *type, PyObject *obj);
int gb_may_be_cuda(PyObject *obj);   /* its type or itself has the attribute; -1 with an error */

/* The queue waits for what is on the other one now. */
int gb_queue_wait(gb_cuda_queue later, gb_cuda_queue earlier);

/* ---- device_dlpack.c ---- */

/* What a consumer asked of a Field that is not on the heap: 0, or -1 with BufferError. *copy_to_host: dl_device=(1, 0) of
 * device memory. *device: what the tensor says. */
int gb_device_request(gb_field *f, PyObject *stream, PyObject *dl_device, DLDevice *device, int *copy_to_host);

/* The last thing before a Field is exported, when nothing more will be queued on it: the consumer's stream, or the host,
 * comes after all that is in flight. */
int gb_device_ready(gb_field *f, DLDevice device, PyObject *stream);
DLDevice gb_dl_device(const gb_field *f);
int gb_dlpack_pair(PyObject *obj, const char *arg, int64_t *pair);   /* a pair of ints that a consumer passed */

/* ---- device_copy.c ---- */

/* Copies and fills in which a GPU takes part. 1: done; 0: both sides are on the host; -1: an error. */
int gb_device_copyto(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress);
int gb_device_fill(PyObject *dst, PyObject *value);
int gb_device_assign(PyObject *dst, PyObject *value);   /* dst[...] = value: 0 or -1 */

#endif
