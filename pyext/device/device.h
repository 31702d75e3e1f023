/* device.h: device, pinned and managed memory for Python objects, on top of cuda/. */
#pragma once

#include "../copies/copies.h"
#include "../exchange/exchange.h"
#include "../../cuda/strided.h"

/* Whether a plan is for the heap. */
#define gb_py_plan_on_heap(plan) \
    __builtin_expect((plan)->device != GB_GPU && (plan)->memory == GB_PLAIN, 1)
gb_py_field *gb_py_device_field(gb_py_plan_object *plan, int zero);

/* ---- Fields ---- */

PyObject *gb_py_on_host(gb_py_field *f); /* Copy a Field to new memory on the host. */

/* ---- copy.c ---- */

/* Copies and fills in which a GPU takes part. 1: done; 0: both sides are on the host; -1: an error.
 */
int gb_py_device_copyto(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress);
int gb_py_device_fill(PyObject *dst, PyObject *value);
int gb_py_device_assign(PyObject *dst, PyObject *value); /* dst[...] = value: 0 or -1 */

/* ---- asynchronous copies ---- */

#define GB_PY_ASYNC_COPY_HELD (2 + GB_CUDA_TEMPORARIES)

typedef struct gb_py_async_copy {
    PyObject_HEAD
    /* on: dst's queue, or that of the only GPU; from: src's, behind which all of it is in the end
     */
    gb_cuda_queue on, from;
    gb_cuda_event *event; /* recorded behind all work; NULL before, and once it has passed */
    char host_free;       /* the side on the host may be written again */
    int passed, waiting;  /* the event has passed; threads that wait for it */
    int n_held;
    /* Fields, or blocks of temporaries, and the queue of their last use. */
    struct held {
        PyObject *object;
        gb_cuda_block *block;
        gb_cuda_queue on;
    } held[GB_PY_ASYNC_COPY_HELD];
} gb_py_async_copy;

static inline int gb_py_on_gpu(const gb_py_field *f) { return gb_py_needs_driver(&f->location); }

/* copy.c: start dst = src. 1 with the copy; 0: no GPU takes part; -1: an error, after queued work
 * has completed. */
int gb_py_async_copy_begin(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress,
                           gb_py_async_copy **copy);
/* Whether obj is values without memory (a number, a list); -1 with an error. */
int gb_py_is_values(PyObject *obj);

gb_py_async_copy *gb_py_async_copy_new(gb_cuda_queue on, gb_cuda_queue from);
void gb_py_async_copy_hold(gb_py_async_copy *copy, gb_py_field *f, gb_cuda_queue on);
void gb_py_async_copy_hold_blocks(gb_py_async_copy *copy,
                                  const gb_cuda_job *job); /* Steals the blocks. */
int gb_py_async_copy_record(gb_py_async_copy *copy); /* Record the event: no more work follows. */

/* Mark the held blocks as in use by the queues of the copy. */
int gb_py_async_copy_record_use(gb_py_async_copy *copy);

/* Release everything at once where pools track all memory that takes part: 1, 0 (wait for the
 * copy), or -1. */
int gb_py_async_copy_detach(gb_py_async_copy *copy);

/* Wait until the copy has completed, or nanoseconds (< 0: no limit) are over: 1, 0, or -1 with an
 * error, such as KeyboardInterrupt. */
int gb_py_async_copy_wait(gb_py_async_copy *copy, int64_t nanoseconds);
/* Wait for pending work on memory that the host is about to use. */
int gb_py_host_wait(gb_py_field *f);
