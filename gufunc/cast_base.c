/* cast_base.c: every conversion, for any machine. */
#include "cast_body.h"

/* With gcc -O2 alone makes no vectors of loops whose length is not known. */
#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif
FROM_ALL(I64)
FROM_ALL(F32)
FROM_ALL(F64)
#ifndef __clang__
#pragma GCC pop_options
#endif

/* The types that kernels rarely have: without vector code. */
FROM_ALL(BOOL)
FROM_ALL(I8)
FROM_ALL(U8)
FROM_ALL(I16)
FROM_ALL(U16)
FROM_ALL(I32)
FROM_ALL(U32)
FROM_ALL(U64)
FROM_ALL(F16)
FROM_ALL(LONGDOUBLE)

const gb_gu_cast_loop gb_gu_casts_base[GB_REALS][GB_REALS] = {
    ALL_ROWS,
};
