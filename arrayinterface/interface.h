/* interface.h: the one strict reader of __array_interface__ and __cuda_array_interface__.
 *
 * The extension calls it, also in a forked child, and Go does. The caller converts the entries of a
 * dictionary to plain data, and trusts none of it. Each function returns 0, or -1 with the first
 * error in e: the key, its value, what is allowed. */
#pragma once

#include "../alloc/errors.h"
#include "../alloc/plan.h"

#include <stddef.h>

/* ---- the type of an item ---- */

typedef struct gb_interface_item_type {
    int64_t size;     /* bytes */
    char kind, order; /* order: '<', '>', or '|' where bytes stand for themselves */
    uint8_t unit;     /* index of the unit of a time, as of 25us in "<M8[25us]"; 0: none */
} gb_interface_item_type;

/* n bytes of text, without a closing zero. The type of a field, which may have no bytes. */
int gb_interface_typestr(const char *text, size_t n, gb_interface_item_type *item, gb_error *e);

/* The type of a whole array's items, which have bytes. */
int gb_interface_item(const char *text, size_t n, gb_interface_item_type *item, gb_error *e);

/* ---- the memory of the elements ---- */

typedef struct gb_interface {
    int64_t itemsize;
    int64_t shape[GB_MAXDIMS];
    int64_t strides[GB_MAXDIMS]; /* bytes */
    int32_t ndim, nstrides;      /* nstrides -1: none are given; they are filled in, in C order */
    uint64_t data;               /* an address, or the start of a buffer */
    int64_t length;              /* bytes of that buffer; -1: data is an address */
    int64_t offset;              /* None is 0 */
    int32_t mask;                /* there is a mask that is not None */
} gb_interface;

int gb_interface_version(int64_t version, gb_error *e);

/* Fills in the strides; afterwards data is the first element, and offset 0. */
int gb_interface_memory(gb_interface *d, gb_error *e);

/* The sizes and strides alone. */
int gb_interface_layout(gb_interface *d, gb_error *e);

/* ---- __cuda_array_interface__ ---- */

/* Versions 0 to 3, which differ only in the keys they leave out. */
int gb_interface_cuda_version(int64_t version, gb_error *e);
/* A stream that is not None. */
int gb_interface_cuda_stream(int64_t stream, gb_error *e);
