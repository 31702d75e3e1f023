/* types.h: what crosses the border between C and Go. Plain data only; C zeroes it
 * before Go sees it, and no Go pointer ever enters it. */
#ifndef GRIDBUF_BRIDGE_TYPES_H
#define GRIDBUF_BRIDGE_TYPES_H

#include "../alloc/plan.h"

/* Which Python exception an error becomes. The first four are alloc.Kind. */
enum { GB_VALUE_ERROR = 1, GB_TYPE_ERROR, GB_MEMORY_ERROR, GB_RUNTIME_ERROR, GB_BUFFER_ERROR, GB_BACKEND_ERROR, GB_PANIC,
       GB_SIGNATURE_ERROR };

typedef struct gb_error {
    int32_t kind;
    char message[1020];
} gb_error;

/* alloc.Spec for C. A list whose length is -1 was not given. */
typedef struct gb_request {
    int32_t ndim, sub_ndim, backend, device, device_id, memory;
    int32_t dims_len, aligned_len, layout_len, reserved;
    int64_t itemsize, byte_alignment, padding, alignment;
    int64_t shape[GB_MAXDIMS], aligned_index[GB_MAXDIMS];
    int32_t dims[GB_MAXDIMS], layout[GB_MAXDIMS];
} gb_request;

/* alloc.Preset for C. */
typedef struct gb_preset {
    int32_t number, order, device, reserved;
    int64_t alignment;
    char axes[8];
} gb_preset;

#endif
