/* casts.c: which conversions to half precision say that a number was too large, and which say so of
 * one that fits: none may be named. */
#include "../../gufunc/cast_base.c"

#include <fenv.h>
#include <stdio.h>

#define TRY(S, value, overflows)                                                          \
    do {                                                                                  \
        T_##S from[8];                                                                    \
        T_F16 to[8];                                                                      \
        for (int i = 0; i < 8; i++) from[i] = (T_##S)(value);                             \
        for (int step = 1; step < 3; step++) { /* packed, and every other one */          \
            feclearexcept(FE_ALL_EXCEPT);                                                 \
            gb_gu_casts_base[GB_F16][GB_##S]((char *)to, step * (intptr_t)sizeof *to,     \
                                             (char *)from, step * (intptr_t)sizeof *from, \
                                             8 / step);                                   \
            if ((fetestexcept(FE_OVERFLOW) != 0) != (overflows))                          \
                wrong |= printf("%s of %s, step %d\n", #value, #S, step);                 \
        }                                                                                 \
    } while (0)

int main(void) {
    int wrong = 0;
    TRY(F32, 1e5f, 1);
    TRY(F64, 1e5, 1);
    TRY(F64, -1e300, 1);
    TRY(LONGDOUBLE, 1e5L, 1);
    TRY(I32, 100000, 1);
    TRY(I64, -100000, 1);
    TRY(U64, 100000, 1);
    TRY(F32, 65504.0f, 0);
    TRY(F64, -65504.0, 0);
    TRY(F64, __builtin_inf(), 0);
    TRY(F64, __builtin_nan(""), 0);
    TRY(LONGDOUBLE, __builtin_infl(), 0);
    TRY(I64, 65504, 0);
    TRY(U8, 255, 0);
    return wrong != 0;
}
