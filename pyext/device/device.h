/* device.h: device, pinned and managed memory for Python objects, on top of cuda/. */
#pragma once

#include "../copies/copies.h"
#include "../exchange/exchange.h"
#include "../../cuda/strided.h"

/* device_new.c: what is asked for when a plan is not for the heap. */
#define gb_py_plan_on_heap(plan) \
    __builtin_expect((plan)->device != GB_GPU && (plan)->memory == GB_PLAIN, 1)
gb_py_field *gb_py_device_field(gb_py_plan_object *plan, int zero);

/* ---- field.c ---- */

PyObject *gb_py_on_host(gb_py_field *f); /* a Field of its own memory on the host with its values */

/* ---- dlpack.c ---- */

/* What a consumer asked of a Field that is not on the heap: 0, or -1 with BufferError.
 * *copy_to_host: dl_device=(1, 0) of device memory. *device: what the tensor says. */
int gb_py_device_request(gb_py_field *f, PyObject *stream, PyObject *dl_device, DLDevice *device,
                         int *copy_to_host);

/* The last thing before a Field is exported, when nothing more will be queued on it: the consumer's
 * stream, or the host, comes after all that is in flight. */
int gb_py_device_ready(gb_py_field *f, DLDevice device, PyObject *stream);
DLDevice gb_py_dl_device(const gb_py_field *f);
int gb_py_dlpack_pair(PyObject *obj, const char *arg,
                      int64_t *pair); /* a pair of ints that a consumer passed */

/* ---- copy.c ---- */

/* Copies and fills in which a GPU takes part. 1: done; 0: both sides are on the host; -1: an error.
 */
int gb_py_device_copyto(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress);
int gb_py_device_fill(PyObject *dst, PyObject *value);
int gb_py_device_assign(PyObject *dst, PyObject *value); /* dst[...] = value: 0 or -1 */

/* ---- an asynchronous copy: what it must keep until the GPU has done its part. ---- */

#define GB_PY_ASYNC_COPY_HELD (2 + GB_CUDA_TEMPORARIES)

typedef struct gb_py_async_copy {
    PyObject_HEAD
    gb_cuda_queue on,
        from; /* dst's, or that of the only GPU; src's, which is behind all of it in the end */
    gb_cuda_event *event; /* behind all of it; NULL before that, and once it has passed */
    char host_free;       /* the host's side may be written again */
    int passed, waiting;  /* the event has; threads that look at it */
    int n_held;
    /* Fields, or temporaries' blocks; who used them last */
    struct held {
        PyObject *object;
        gb_cuda_block *block;
        gb_cuda_queue on;
    } held[GB_PY_ASYNC_COPY_HELD];
} gb_py_async_copy;

static inline int gb_py_on_gpu(const gb_py_field *f) { return gb_py_needs_driver(&f->location); }

/* copy.c: sends dst = src on its way. 1 with the copy; 0: no GPU takes part; -1. What has been sent
 * when it fails has arrived before it returns. */
int gb_py_async_copy_begin(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress,
                           gb_py_async_copy **copy);
int gb_py_is_values(
    PyObject *obj); /* a value or a list of them that is no memory; -1 with an error */

gb_py_async_copy *gb_py_async_copy_new(gb_cuda_queue on, gb_cuda_queue from);
void gb_py_async_copy_hold(gb_py_async_copy *copy, gb_py_field *f, gb_cuda_queue on);
void gb_py_async_copy_hold_blocks(gb_py_async_copy *copy, const gb_cuda_job *job); /* steals them */
int gb_py_async_copy_record(gb_py_async_copy *copy); /* nothing more follows: records the event */

/* Our work on the blocks that it holds is in flight from now on, where it was queued. */
int gb_py_async_copy_record_use(gb_py_async_copy *copy);

/* Lets go of it at once where the pools know what is in flight on all memory that takes part: 1, 0
 * (wait for it), or -1. */
int gb_py_async_copy_detach(gb_py_async_copy *copy);

/* Until everything has passed, or nanoseconds (< 0: for ever) are over: 1, 0, or -1 with an error,
 * such as KeyboardInterrupt. */
int gb_py_async_copy_wait(gb_py_async_copy *copy, int64_t nanoseconds);
int gb_py_host_wait(
    gb_py_field *f); /* the host waits for our own work on a side that it is about to touch */
