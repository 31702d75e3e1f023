/* types.h: kernels, as Go and C both see them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../alloc/elements.h"

/* A loop as NumPy's: args and steps as the header of a chunk, dims = [N, core sizes]. */
typedef void (*gb_gu_numpy_loop)(char **args, intptr_t const *dims, intptr_t const *steps,
                                 void *data);

/* The same, and for every element a byte that says whether it failed (NULL: not
 * wanted); it returns how many did. */
typedef intptr_t (*gb_gu_status_loop)(char **args, intptr_t const *dims, intptr_t const *steps,
                                      void *data, uint8_t *status);

/* A kernel written in Go is called as a status loop, whose data is its call. */

/* The rules of casting, with NumPy's names; the first is the one that counts where none is given.
 */
#define GB_GU_EACH_CASTING(X) \
    X(SAME_KIND, "same_kind") \
    X(NO_CASTING, "no") X(EQUIVALENT, "equiv") X(SAFE, "safe") X(UNSAFE, "unsafe")
#define GB_GU_CASTING_(name, text) GB_GU_##name,
enum { GB_GU_EACH_CASTING(GB_GU_CASTING_) GB_GU_CASTINGS };
#undef GB_GU_CASTING_
#define GB_GU_CASTING_(name, text) text,
static inline const char *gb_gu_casting_name(int casting) {
    static const char *const names[] = {GB_GU_EACH_CASTING(GB_GU_CASTING_)};
    return names[casting];
}
#undef GB_GU_CASTING_

/* Kinds of Python numbers, which take the type of the arrays around them (NEP 50). */
enum { GB_GU_STRONG, GB_GU_WEAK_INT, GB_GU_WEAK_FLOAT, GB_GU_WEAK_COMPLEX };

/* Codes of failed elements. */
enum {
    GB_GU_INVALID = 1,
    GB_GU_DIVIDE = 2,
    GB_GU_OVERFLOW = 4,
    GB_GU_STATUS = 8,
    GB_GU_PANICKED = 0x80
};
enum { GB_GU_FLAGS = GB_GU_INVALID | GB_GU_DIVIDE | GB_GU_OVERFLOW };

/* The conversion loops of each instruction set (cast_base.c, cast_avx2_amd64.c): [to][from]. */
typedef void (*gb_gu_cast_loop)(char *dst, intptr_t dst_step, const char *src, intptr_t src_step,
                                int64_t n);
extern const gb_gu_cast_loop gb_gu_casts_base[GB_REALS][GB_REALS],
    gb_gu_casts_avx2[GB_REALS][GB_REALS];
