/* check.h: is a foreign DLPack tensor one that can be read safely?
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

/* These read a tensor that passed. */
static inline char *gb_dlpack_first(const DLTensor *t) {
    return t->data ? (char *)((uintptr_t)t->data + t->byte_offset)
                   : NULL; /* an empty tensor may say any offset */
}
void gb_dlpack_byte_strides(const DLTensor *t,
                            int64_t *strides); /* room for ndim; NULL strides are C order */
