/* memory.c: do the elements of an array that somebody describes lie in memory? NumPy does not look.
 */
#include "interface.h"
#include "../alloc/strides.h"

#include <inttypes.h>

int gb_interface_version(int64_t version, gb_error *e) {
    return version == 3
               ? 0
               : gb_refuse(e, GB_VALUE_ERROR, "version: %" PRId64 "; only 3 is read", version);
}

/* Sizes of 0 count as 1, so that strides of an array without elements can be worked out too. */
static int check_shape(const gb_interface *d, gb_error *e) {
    int64_t bytes = d->itemsize ? d->itemsize : 1;
    char text[GB_TEXT(GB_MAXDIMS)];
    if (d->ndim < 0 || d->ndim > GB_MAXDIMS)
        return gb_refuse(e, GB_VALUE_ERROR, "shape: %" PRId32 " dimensions; at most %d are allowed",
                         d->ndim, GB_MAXDIMS);
    for (int i = 0; i < d->ndim; i++)
        if (d->shape[i] < 0)
            return gb_refuse(e, GB_VALUE_ERROR,
                             "shape: entry %d is %" PRId64 "; sizes are 0 or more", i, d->shape[i]);
    for (int i = 0; i < d->ndim; i++)
        if (__builtin_mul_overflow(bytes, d->shape[i] ? d->shape[i] : 1, &bytes))
            return gb_refuse(e, GB_VALUE_ERROR,
                             "shape: %s of %" PRId64
                             "-byte items is larger than any memory (2^63 bytes)",
                             gb_text_ints(text, d->shape, d->ndim), d->itemsize);
    return 0;
}

static int is_empty(const gb_interface *d) {
    for (int i = 0; i < d->ndim; i++)
        if (d->shape[i] == 0) return 1;
    return 0;
}

/* How far the elements go from the first one, in bytes: low <= 0 <= high. */
static int find_reach(const gb_interface *d, int64_t *low, int64_t *high, gb_error *e) {
    *low = *high = 0;
    int i = is_empty(d) ? -1 : gb_reach(d->shape, d->strides, d->ndim, d->itemsize, low, high);
    if (i < 0) return 0;
    return gb_refuse(e, GB_VALUE_ERROR,
                     "strides: with entry %d (%" PRId64 " bytes, %" PRId64
                     " elements) the elements leave the address space",
                     i, d->strides[i], d->shape[i]);
}

int gb_interface_layout(gb_interface *d, gb_error *e) {
    int64_t low, high;
    if (check_shape(d, e) < 0) return -1;
    if (d->nstrides >= 0 && d->nstrides != d->ndim)
        return gb_refuse(e, GB_VALUE_ERROR,
                         "strides: %" PRId32 " entries for a shape of %" PRId32
                         " dimensions; they must be as many",
                         d->nstrides, d->ndim);
    if (d->nstrides < 0) gb_c_strides(d->strides, d->shape, d->ndim, d->itemsize);
    d->nstrides = d->ndim;
    return find_reach(d, &low, &high, e);
}

/* The elements around data stay in the address space. */
static int check_ends(const gb_interface *d, int64_t low, int64_t high, gb_error *e) {
    if (d->data >= -(uint64_t)low && d->data <= UINT64_MAX - (uint64_t)high) return 0;
    return gb_refuse(e, GB_VALUE_ERROR,
                     "strides: elements from %" PRId64 " to %" PRId64
                     " bytes around address %#" PRIx64 " leave the address space",
                     low, high, d->data);
}

/* Where data is a buffer, the elements stay in it. */
static int check_buffer(const gb_interface *d, int64_t low, int64_t high, gb_error *e) {
    if (d->length < 0)
        return !d->offset
                   ? 0
                   : gb_refuse(e, GB_VALUE_ERROR,
                               "offset: %" PRId64
                               "; one is allowed only where data is a buffer, not an address",
                               d->offset);
    if (d->offset < 0 || d->offset > d->length)
        return gb_refuse(e, GB_VALUE_ERROR, "offset: %" PRId64 "; the buffer has %" PRId64 " bytes",
                         d->offset, d->length);
    if (low >= -d->offset && high <= d->length - d->offset) return 0;
    return gb_refuse(e, GB_VALUE_ERROR,
                     "data: elements from %" PRId64 " to %" PRId64 " bytes around offset %" PRId64
                     " leave the buffer of %" PRId64 " bytes",
                     low, high, d->offset, d->length);
}

int gb_interface_memory(gb_interface *d, gb_error *e) {
    int64_t low, high;
    if (d->mask)
        return gb_refuse(
            e, GB_VALUE_ERROR,
            "mask: masked arrays are not taken; give the data without mask, or fill it");
    if (gb_interface_layout(d, e) < 0 || find_reach(d, &low, &high, e) < 0 ||
        check_buffer(d, low, high, e) < 0)
        return -1;
    if (!d->data && high)
        return gb_refuse(e, GB_VALUE_ERROR,
                         "data: the address is 0 for an array that has elements");
    if (__builtin_add_overflow(d->data, (uint64_t)d->offset, &d->data))
        return gb_refuse(e, GB_VALUE_ERROR,
                         "offset: %" PRId64 " bytes from data leave the address space", d->offset);
    d->offset = 0;
    return check_ends(d, low, high, e);
}
