/* types.h: element types and kernels, as Go and C both see them. */
#ifndef GRIDBUF_GUFUNC_TYPES_H
#define GRIDBUF_GUFUNC_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* gufunc.Type */
enum {
    GT_NO_TYPE, GT_BOOL, GT_I8, GT_U8, GT_I16, GT_U16, GT_I32, GT_U32, GT_I64, GT_U64,
    GT_F16, GT_F32, GT_F64, GT_LONGDOUBLE, GT_C64, GT_C128, GT_CLONGDOUBLE, GT_MOMENT, GT_DURATION, GT_TYPES
};

/* A loop as NumPy's: args and steps as the header of a chunk, dims = [N, core sizes]. */
typedef void (*gb_numpy_loop)(char **args, intptr_t const *dims, intptr_t const *steps, void *data);

/* The same, and for every element a byte that says whether it failed (NULL: not
 * wanted); it returns how many did. */
typedef intptr_t (*gb_status_loop)(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status);

enum { GT_LONGDOUBLE_SIZE = sizeof(long double) };

/* Codes of failed elements. */
enum { GB_INVALID = 1, GB_DIVIDE = 2, GB_OVERFLOW = 4, GB_STATUS = 8, GB_PANICKED = 0x80 };
enum { GB_FLAGS = GB_INVALID | GB_DIVIDE | GB_OVERFLOW };

#endif
