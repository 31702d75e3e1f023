/* types.h: element types and kernels, as Go and C both see them. */
#ifndef GRIDBUF_GUFUNC_TYPES_H
#define GRIDBUF_GUFUNC_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* gufunc.Type */
enum {
    GB_NO_TYPE, GB_BOOL, GB_I8, GB_U8, GB_I16, GB_U16, GB_I32, GB_U32, GB_I64, GB_U64,
    GB_F16, GB_F32, GB_F64, GB_LONGDOUBLE, GB_C64, GB_C128, GB_CLONGDOUBLE, GB_MOMENT, GB_DURATION, GB_TYPES
};

/* A loop as NumPy's: args and steps as the header of a chunk, dims = [N, core sizes]. */
typedef void (*gb_loop)(char **args, intptr_t const *dims, intptr_t const *steps, void *data);

/* The same, and for every element a byte that says whether it failed (NULL: not
 * wanted); it returns how many did. */
typedef intptr_t (*gb_status_loop)(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status);

enum { GB_LONGDOUBLE_SIZE = sizeof(long double) };

/* Codes of failed elements. */
enum { GB_INVALID = 1, GB_DIVIDE = 2, GB_OVERFLOW = 4, GB_STATUS = 8, GB_PANICKED = 0x80 };
enum { GB_FLAGS = GB_INVALID | GB_DIVIDE | GB_OVERFLOW };

#endif
