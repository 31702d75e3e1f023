/* export.h: hand memory over as a managed DLPack tensor.
 *
 * The struct and its shape and strides are one malloc, which the deleter frees after
 * it has called release(owner). Nothing here knows Go or Python: the deleter may run
 * on any thread, after the interpreter is gone, and in a forked child.
 */
#pragma once

#include "dlpack.h"

/* What is exported; shape and strides are copied. */
typedef struct gb_dlpack_desc {
    void *data; /* the first element */
    const int64_t *shape;
    const int64_t *strides; /* items; NULL: C order */
    uint64_t flags;         /* DLPACK_FLAG_BITMASK_* */
    DLDevice device;
    DLDataType dtype;
    int32_t ndim;
} gb_dlpack_desc;

typedef void (*gb_dlpack_release)(void *owner);

/* Both return NULL with errno set, and then release has not been called: the caller
 * still owns the owner. release may be NULL. A read-only legacy tensor cannot be
 * said and is EINVAL. */
DLManagedTensorVersioned *gb_dlpack_versioned(const gb_dlpack_desc *d, void *owner,
                                              gb_dlpack_release release);
DLManagedTensor *gb_dlpack_legacy(const gb_dlpack_desc *d, void *owner, gb_dlpack_release release);
