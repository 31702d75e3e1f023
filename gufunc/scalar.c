/* scalar.c: loops around a function of one element; data is the function. */
#include "call.h"

#define AT(type, i) (*(const type *)(args[i] + e * steps[i]))
#define LOOP(name, type, n, params, values)                                                  \
    static void name(char **args, intptr_t const *dims, intptr_t const *steps, void *data) { \
        type(*f) params = (type(*) params)data;                                              \
        for (intptr_t e = 0; e < dims[0]; e++) *(type *)(args[n] + e * steps[n]) = f values; \
    }
#define LOOPS(suffix, type)                                                                    \
    LOOP(one_##suffix, type, 1, (type), (AT(type, 0)))                                         \
    LOOP(two_##suffix, type, 2, (type, type), (AT(type, 0), AT(type, 1)))                      \
    LOOP(three_##suffix, type, 3, (type, type, type), (AT(type, 0), AT(type, 1), AT(type, 2))) \
    LOOP(four_##suffix, type, 4, (type, type, type, type),                                     \
         (AT(type, 0), AT(type, 1), AT(type, 2), AT(type, 3)))
LOOPS(f64, double)
LOOPS(f32, float)

gb_gu_numpy_loop gb_gu_scalar_loop(int inputs, int single) {
    static const gb_gu_numpy_loop loops[2][4] = {{one_f64, two_f64, three_f64, four_f64},
                                                 {one_f32, two_f32, three_f32, four_f32}};
    return inputs >= 1 && inputs <= 4 ? loops[single != 0][inputs - 1] : NULL;
}
