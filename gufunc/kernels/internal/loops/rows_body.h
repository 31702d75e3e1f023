/* rows_body.h: products of rows; loops that add and compare.
 *
 * As in NumPy's gufuncs: dims[0] elements, then the sizes of the signature's core dimensions, each
 * once; steps in bytes to the next element of each operand, then along the core of the first
 * operand, of the second, ... : of (m,n),(n)->(m) steps[3] is along m of the first, steps[5] along
 * n of the second, steps[6] along m of the result. */
#include "lanes.h"

#define PLAIN_ARGS char **args, intptr_t const *dims, intptr_t const *steps, void *data

/* A long packed row: four vectors of partial sums. */
INLINE REAL packed_dot(const char *a, const char *b, intptr_t n) {
    vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    intptr_t i = 0, size = sizeof(REAL), v = LANES;
    for (; i + 4 * v <= n; i += 4 * v) {
        s0 += load(a + i * size, size) * load(b + i * size, size);
        s1 += load(a + (i + v) * size, size) * load(b + (i + v) * size, size);
        s2 += load(a + (i + 2 * v) * size, size) * load(b + (i + 2 * v) * size, size);
        s3 += load(a + (i + 3 * v) * size, size) * load(b + (i + 3 * v) * size, size);
    }
    s0 = (s0 + s1) + (s2 + s3);
    REAL sum = 0;
    for (int l = 0; l < LANES; l++) sum += s0[l];
    for (; i < n; i++) sum += ITEM(a + i * size) * ITEM(b + i * size);
    return sum;
}

INLINE REAL row_dot(const char *a, intptr_t a_step, const char *b, intptr_t b_step, intptr_t n) {
    if (n >= 2 * LANES && a_step == sizeof(REAL) && b_step == sizeof(REAL))
        return packed_dot(a, b, n);
    REAL sum = 0;
    for (intptr_t i = 0; i < n; i++) sum += ITEM(a + i * a_step) * ITEM(b + i * b_step);
    return sum;
}

/* Short rows of a known length: no inner loop is left. */
INLINE void short_dots(PLAIN_ARGS, intptr_t n) {
    const char *a = args[0], *b = args[1];
    char *out = args[2];
    for (intptr_t e = 0; e < dims[0]; e++, a += steps[0], b += steps[1], out += steps[2]) {
        REAL sum = 0;
        for (intptr_t i = 0; i < n; i++) sum += ITEM(a + i * steps[3]) * ITEM(b + i * steps[4]);
        *(REAL *)out = sum;
    }
}

INLINE void packed_dots(PLAIN_ARGS, intptr_t n) {
    const REAL *a = (const REAL *)args[0], *b = (const REAL *)args[1];
    REAL *out = (REAL *)args[2];
    for (intptr_t e = 0; e < dims[0]; e++) {
        REAL sum = 0;
        for (intptr_t i = 0; i < n; i++) sum += a[e * n + i] * b[e * n + i];
        out[e] = sum;
    }
}

void ISA(dot)(PLAIN_ARGS) {
    intptr_t n = dims[1], row = n * (intptr_t)sizeof(REAL);
    int packed = steps[0] == row && steps[1] == row && steps[2] == sizeof(REAL) &&
                 steps[3] == sizeof(REAL) && steps[4] == sizeof(REAL);
    switch (n) {
    case 2:
        packed ? packed_dots(args, dims, steps, data, 2) : short_dots(args, dims, steps, data, 2);
        return;
    case 3:
        packed ? packed_dots(args, dims, steps, data, 3) : short_dots(args, dims, steps, data, 3);
        return;
    case 4:
        packed ? packed_dots(args, dims, steps, data, 4) : short_dots(args, dims, steps, data, 4);
        return;
    }
    for (intptr_t e = 0; e < dims[0]; e++)
        *(REAL *)(args[2] + e * steps[2]) =
            row_dot(args[0] + e * steps[0], steps[3], args[1] + e * steps[1], steps[4], n);
}

void ISA(matvec)(PLAIN_ARGS) { /* (m,n),(n)->(m) */
    intptr_t m = dims[1], n = dims[2];
    for (intptr_t e = 0; e < dims[0]; e++)
        for (intptr_t i = 0; i < m; i++)
            *(REAL *)(args[2] + e * steps[2] + i * steps[6]) =
                row_dot(args[0] + e * steps[0] + i * steps[3], steps[4], args[1] + e * steps[1],
                        steps[5], n);
}

/* ---- elementwise ---- */

void ISA(sqrt)(PLAIN_ARGS) {
    if (steps[0] == sizeof(REAL) && steps[1] == sizeof(REAL)) {
        const REAL *x = (const REAL *)args[0];
        REAL *y = (REAL *)args[1];
        for (intptr_t e = 0; e < dims[0]; e++) y[e] = SQRT(x[e]);
        return;
    }
    for (intptr_t e = 0; e < dims[0]; e++)
        *(REAL *)(args[1] + e * steps[1]) = SQRT(ITEM(args[0] + e * steps[0]));
}

void ISA(divide)(PLAIN_ARGS) {
    if (steps[0] == sizeof(REAL) && steps[1] == sizeof(REAL) && steps[2] == sizeof(REAL)) {
        const REAL *x = (const REAL *)args[0], *y = (const REAL *)args[1];
        REAL *z = (REAL *)args[2];
        for (intptr_t e = 0; e < dims[0]; e++) z[e] = x[e] / y[e];
        return;
    }
    for (intptr_t e = 0; e < dims[0]; e++)
        *(REAL *)(args[2] + e * steps[2]) =
            ITEM(args[0] + e * steps[0]) / ITEM(args[1] + e * steps[1]);
}

/* ---- loops that add and compare; called by reductions they fold a row: the output is the first
 * input, with a step of 0 ---- */

INLINE int folds(char **args, intptr_t const *steps) {
    return args[0] == args[2] && steps[0] == 0 && steps[2] == 0;
}

INLINE vec added(vec a, vec b) { return a + b; }
INLINE vec greater(vec a, vec b) { return choose((a >= b) | (a != a), a, b); } /* a NaN stays */
INLINE vec less(vec a, vec b) { return choose((a <= b) | (a != a), a, b); }
#define ADD(a, b) ((a) + (b))
#define MAXIMUM(a, b) ((a) >= (b) || (a) != (a) ? (a) : (b))
#define MINIMUM(a, b) ((a) <= (b) || (a) != (a) ? (a) : (b))

/* A row along memory in eight vectors of partial results, one across it in four. */
#define FOLDING(name, both, one)                                                           \
    static REAL name##_row(const char *x, intptr_t step, intptr_t n) {                     \
        REAL result = ITEM(x);                                                             \
        intptr_t i = 1;                                                                    \
        if (step == sizeof(REAL) && n >= 8 * LANES) {                                      \
            vec s[8];                                                                      \
            for (int k = 0; k < 8; k++) s[k] = load(x + k * LANE_BYTES, step);             \
            for (i = 8 * LANES; i + 8 * LANES <= n; i += 8 * LANES)                        \
                for (int k = 0; k < 8; k++)                                                \
                    s[k] = both(s[k], load(x + i * step + k * LANE_BYTES, step));          \
            for (int k = 1; k < 8; k *= 2)                                                 \
                for (int j = 0; j < 8; j += 2 * k) s[j] = both(s[j], s[j + k]);            \
            result = s[0][0];                                                              \
            for (int l = 1; l < LANES; l++) result = one(result, s[0][l]);                 \
        } else if (n >= 8) {                                                               \
            REAL s[4] = {ITEM(x), ITEM(x + step), ITEM(x + 2 * step), ITEM(x + 3 * step)}; \
            for (i = 4; i + 4 <= n; i += 4)                                                \
                for (int k = 0; k < 4; k++) s[k] = one(s[k], ITEM(x + (i + k) * step));    \
            s[0] = one(s[0], s[1]), s[2] = one(s[2], s[3]);                                \
            result = one(s[0], s[2]);                                                      \
        }                                                                                  \
        for (; i < n; i++) result = one(result, ITEM(x + i * step));                       \
        return result;                                                                     \
    }                                                                                      \
    void ISA(name)(PLAIN_ARGS) {                                                           \
        intptr_t n = dims[0], size = sizeof(REAL);                                         \
        if (n < 1) return;                                                                 \
        if (folds(args, steps)) {                                                          \
            REAL row = name##_row(args[1], steps[1], n), *out = (REAL *)args[2];           \
            *out = one(*out, row);                                                         \
            return;                                                                        \
        }                                                                                  \
        if (steps[0] == size && steps[1] == size && steps[2] == size) {                    \
            const REAL *x = (const REAL *)args[0], *y = (const REAL *)args[1];             \
            REAL *z = (REAL *)args[2];                                                     \
            for (intptr_t e = 0; e < n; e++) z[e] = one(x[e], y[e]);                       \
            return;                                                                        \
        }                                                                                  \
        for (intptr_t e = 0; e < n; e++)                                                   \
            *(REAL *)(args[2] + e * steps[2]) =                                            \
                one(ITEM(args[0] + e * steps[0]), ITEM(args[1] + e * steps[1]));           \
    }

FOLDING(add, added, ADD)
FOLDING(maximum, greater, MAXIMUM)
FOLDING(minimum, less, MINIMUM)
