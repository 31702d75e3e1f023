/* tensor.h: DLPack tensors in C: foreign ones checked before they are read, and memory handed over
 * as managed ones (export.c).
 *
 * The checks trust nothing but that non-NULL pointers can be read. Each returns 0, or
 * -1 with the first thing wrong. They take over nothing: the receiver of the tensor still
 * calls its deleter, refused or not.
 */
#pragma once

#include "../alloc/errors.h"
#include "datatypes.h"

#include <stddef.h>

#define GB_DLPACK_MAXDIMS 32

/* A tensor without its manager, as the exchange API lends it. */
int gb_dlpack_check(const DLTensor *t, gb_error *e);

/* The two capsule flavours. A versioned tensor of another major version has nothing
 * read but its version. */
int gb_dlpack_check_versioned(const DLManagedTensorVersioned *m, gb_error *e);
int gb_dlpack_check_legacy(const DLManagedTensor *m, gb_error *e);

/* Bytes of one item as NumPy would hold it, or 0 if it has no such type. A sub-byte
 * type has an item size only where each item is padded to a byte. */
int64_t gb_dlpack_itemsize(DLDataType dtype, int padded);

/* Read a tensor that has passed its check. */
static inline char *gb_dlpack_first(const DLTensor *t) {
    return t->data ? (char *)((uintptr_t)t->data + t->byte_offset)
                   : NULL; /* an empty tensor may say any offset */
}
void gb_dlpack_byte_strides(const DLTensor *t,
                            int64_t *strides); /* room for ndim; NULL strides are C order */

/* ---- export.c ----
 *
 * The struct of an exported tensor and its shape and strides are one malloc, which the deleter
 * frees after it has called release(owner). Nothing here knows Go or Python: the deleter may run
 * on any thread, after the interpreter is gone, and in a forked child. */

/* The memory to export; shape and strides are copied. */
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
 * still owns the owner. release may be NULL. A legacy tensor cannot be read-only: EINVAL. */
DLManagedTensorVersioned *gb_dlpack_versioned(const gb_dlpack_desc *d, void *owner,
                                              gb_dlpack_release release);
DLManagedTensor *gb_dlpack_legacy(const gb_dlpack_desc *d, void *owner, gb_dlpack_release release);
