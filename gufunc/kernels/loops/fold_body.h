/* fold_body.h: loops that add and compare, also as reductions call them: where the output is the
 * first input with a step of 0, they fold a row. */

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
