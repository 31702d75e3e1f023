/* interface.h: is the memory that an array interface describes one that can be read safely?
 *
 * The one reader of both protocols: the extension calls it, a forked child too, and Go. It needs
 * neither Python nor Go. Whoever holds a dict converts its entries to plain data first and believes
 * none of it; what is decided is decided here. Each function returns 0, or -1 with the first thing
 * wrong in e: the key, what it says, what is allowed.
 */
#pragma once

#include "../alloc/errors.h"
#include "../alloc/plan.h"

#include <stddef.h>

/* ---- typestr.c: the type of an item ---- */

/* What a typestr says. */
typedef struct gb_interface_item_type {
    int64_t size;     /* bytes */
    char kind, order; /* order: '<', '>', or '|' where bytes stand for themselves */
    uint8_t
        unit; /* where the unit of a time begins, such as "25us" in "<M8[25us]"; 0: it has none */
} gb_interface_item_type;

/* n bytes of text; they need not end with a zero. A field may have no bytes, as NumPy allows. */
int gb_interface_typestr(const char *text, size_t n, gb_interface_item_type *item, gb_error *e);

/* The type of a whole array's items, which have bytes. */
int gb_interface_item(const char *text, size_t n, gb_interface_item_type *item, gb_error *e);

/* ---- memory.c: where the elements lie ---- */

typedef struct gb_interface {
    int64_t itemsize;
    int64_t shape[GB_MAXDIMS];
    int64_t strides[GB_MAXDIMS]; /* bytes */
    int32_t ndim, nstrides; /* nstrides is -1 where there are no strides: then they are filled in,
                               in C order */
    uint64_t data;          /* an address, or where a buffer begins */
    int64_t length;         /* bytes of that buffer; -1: data is an address */
    int64_t offset;         /* None is 0 */
    int32_t mask;           /* there is one that is not None */
} gb_interface;

int gb_interface_version(int64_t version, gb_error *e);

/* Afterwards the strides are filled in, data is the first element and offset 0. */
int gb_interface_memory(gb_interface *d, gb_error *e);

/* The sizes and strides alone. */
int gb_interface_layout(gb_interface *d, gb_error *e);
