/* device_async.h: a copy on its way: what it must keep until the GPU has done its part. */
#ifndef GRIDBUF_DEVICE_TRANSIT_H
#define GRIDBUF_DEVICE_TRANSIT_H

#include "../cuda/strided.h"
#include "device.h"

#define GB_HELD (2 + GB_CUDA_TEMPORARIES)

typedef struct gb_transit {
    PyObject_HEAD
    gb_cuda_queue on, from;   /* dst's, or that of the only GPU; src's, which is behind all of it in the end */
    gb_cuda_event *event;     /* behind all of it; NULL before that, and once it has passed */
    int host_free;            /* the host's side may be written again */
    int passed, waiting;      /* the event has; threads that look at it */
    int n_held;
    struct held { PyObject *object; gb_cuda_block *block; gb_cuda_queue on; } held[GB_HELD];   /* Fields, or temporaries' blocks; who used them last */
} gb_transit;

static inline int gb_on_gpu(const gb_field *f) { return gb_needs_driver(&f->place); }

/* device_copy.c: sends dst = src on its way. 1 with a transit; 0: no GPU takes part; -1. What has been sent when it fails has
 * arrived before it returns. */
int gb_transit_begin(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress, gb_transit **t);
int gb_is_values(PyObject *obj);   /* a value or a list of them that is no memory; -1 with an error */

gb_transit *gb_transit_new(gb_cuda_queue on, gb_cuda_queue from);
void gb_transit_hold(gb_transit *t, gb_field *f, gb_cuda_queue on);
void gb_transit_hold_blocks(gb_transit *t, const gb_cuda_job *job);   /* steals them */
int gb_transit_end(gb_transit *t);                      /* nothing more follows: records the event */

/* Our work on the blocks that it holds is pending from now on, where it was done. */
int gb_transit_mark(gb_transit *t);

/* Lets go of it at once where the pools know what is pending on all memory that takes part: 1, 0 (wait for it), or -1. */
int gb_transit_leave(gb_transit *t);

/* Until everything has passed, or nanoseconds (< 0: for ever) are over: 1, 0, or -1 with an error, such as KeyboardInterrupt. */
int gb_transit_wait(gb_transit *t, int64_t nanoseconds);
int gb_host_settle(gb_field *f);   /* the host waits for our own work on a side that it is about to touch */

#endif
