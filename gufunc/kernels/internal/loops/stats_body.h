/* stats_body.h: extremes with their index, ranges, mean and variance: as reductions with
 * a state, and as kernels over rows, which are the same with one state per row.
 * A NaN is an extreme of its own: the first one wins, as in NumPy. */

/* Nothing is fused here, also where the processor could: every machine gives the same bits. */
#ifdef __clang__
#pragma clang fp contract(off)
#else
#pragma GCC optimize("fp-contract=off")
#endif

/* Vectors of LANE_BYTES; four of them side by side hide the latency of each. */
typedef REAL stats_vec __attribute__((vector_size(LANE_BYTES)));
typedef WORD stats_mask __attribute__((vector_size(LANE_BYTES)));
enum { STATS_LANES = LANE_BYTES / sizeof(REAL), STATS_STEP = 4 * STATS_LANES };
static inline stats_vec stats_splat(REAL v) { return v - (stats_vec){0}; }
static inline stats_vec stats_load(const char *p) {
    stats_vec v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline stats_vec stats_choose(stats_mask m, stats_vec a, stats_vec b) {
    return (stats_vec)(((stats_mask)a & m) | ((stats_mask)b & ~m));
}

/* Single instructions where the set has them: the further of two, top where v is a NaN; whether one
 * of two is a NaN; whether a mask has any bit. */
#ifdef AVX2
#ifdef SINGLE
#define STATS_MAX(v, top) ((stats_vec)_mm256_max_ps(v, top))
#define STATS_MIN(v, top) ((stats_vec)_mm256_min_ps(v, top))
#define STATS_NAN(v, w) ((stats_mask)_mm256_cmp_ps(v, w, _CMP_UNORD_Q))
#else
#define STATS_MAX(v, top) ((stats_vec)_mm256_max_pd(v, top))
#define STATS_MIN(v, top) ((stats_vec)_mm256_min_pd(v, top))
#define STATS_NAN(v, w) ((stats_mask)_mm256_cmp_pd(v, w, _CMP_UNORD_Q))
#endif
static inline int stats_any(stats_mask m) { return !_mm256_testz_si256((__m256i)m, (__m256i)m); }
#else
#define STATS_MAX(v, top) stats_choose((v) > (top), v, top)
#define STATS_MIN(v, top) stats_choose((v) < (top), v, top)
#define STATS_NAN(v, w) (((v) != (v)) | ((w) != (w)))
static inline int stats_any(stats_mask m) {
    WORD any = 0;
    for (int l = 0; l < STATS_LANES; l++) any |= m[l];
    return any != 0;
}
#endif

#define STEP(name, state_t)                                                     \
    void ISA(name##_step)(void *state, intptr_t first, intptr_t n, char **args, \
                          intptr_t const *steps, void *data) {                  \
        name##_scan((state_t *)state, first, n, args[0], steps[0]);             \
    }
#define ROWS(name, state_t, start, results)                                                \
    intptr_t ISA(name##_rows)(char **args, intptr_t const *dims, intptr_t const *steps,    \
                              void *data, uint8_t *status) {                               \
        intptr_t failed = 0;                                                               \
        for (intptr_t e = 0; e < dims[0]; e++) {                                           \
            state_t state = start;                                                         \
            char *outs[2] = {args[1] + e * steps[1],                                       \
                             (results) > 1 ? args[2] + e * steps[2] : NULL};               \
            name##_scan(&state, 0, dims[1], args[0] + e * steps[0], steps[1 + (results)]); \
            if (!ISA(name##_final)(&state, outs, data)) continue;                          \
            failed++;                                                                      \
            if (status) status[e] = 1;                                                     \
        }                                                                                  \
        return failed;                                                                     \
    }

/* better: whether v is further out than the best so far; further: the further elements of two
 * vectors. The extreme of a packed stretch is found in vectors, then its index. */
enum { STRETCH_OF_EXTREMES = 256 };
#define EXTREME(name, better, further)                                                            \
    static void name##_each(gb_gu_extreme *s, intptr_t first, intptr_t n, const char *p,          \
                            intptr_t step) {                                                      \
        REAL best = (REAL)s->value;                                                               \
        int64_t index = s->index;                                                                 \
        for (intptr_t i = 0; i < n && (index < 0 || best == best); i++) {                         \
            REAL v = ITEM(p + i * step);                                                          \
            if (index < 0 || v better best || v != v) best = v, index = first + i;                \
        }                                                                                         \
        s->value = best;                                                                          \
        s->index = index;                                                                         \
    }                                                                                             \
    static void name##_scan(gb_gu_extreme *s, intptr_t first, intptr_t n, const char *p,          \
                            intptr_t step) {                                                      \
        intptr_t i = 0;                                                                           \
        if (step == sizeof(REAL) && n >= STATS_STEP) {                                            \
            const char *found = NULL;                                                             \
            if (s->index < 0) name##_each(s, first, i = 1, p, step);                              \
            for (intptr_t k; n - i >= STATS_STEP && s->value == s->value; i += k) {               \
                const char *here = p + i * step;                                                  \
                k = n - i < STRETCH_OF_EXTREMES ? (n - i) / STATS_STEP * STATS_STEP               \
                                                : STRETCH_OF_EXTREMES;                            \
                stats_vec top[4];                                                                 \
                stats_mask nan[2] = {{0}};                                                        \
                for (int u = 0; u < 4; u++) top[u] = stats_splat((REAL)s->value);                 \
                for (intptr_t j = 0; j < k; j += STATS_STEP) {                                    \
                    stats_vec v[4];                                                               \
                    for (int u = 0; u < 4; u++) {                                                 \
                        v[u] = stats_load(here + (j + u * STATS_LANES) * (intptr_t)sizeof(REAL)); \
                        top[u] = further(v[u], top[u]);                                           \
                    }                                                                             \
                    nan[0] |= STATS_NAN(v[0], v[1]);                                              \
                    nan[1] |= STATS_NAN(v[2], v[3]);                                              \
                }                                                                                 \
                REAL best = (REAL)s->value;                                                       \
                for (int u = 1; u < 4; u++) top[0] = further(top[u], top[0]);                     \
                for (int l = 0; l < STATS_LANES; l++)                                             \
                    best = top[0][l] better best ? top[0][l] : best;                              \
                if (stats_any(nan[0] | nan[1])) {                                                 \
                    name##_each(s, first + i, k, here, step);                                     \
                    found = NULL;                                                                 \
                } else if (best better(REAL) s->value) {                                          \
                    s->value = best;                                                              \
                    found = here;                                                                 \
                    s->index = first + i;                                                         \
                }                                                                                 \
            }                                                                                     \
            if (found) { /* looked for once, in the last stretch with a new best */               \
                intptr_t j = 0;                                                                   \
                stats_vec wanted = stats_splat((REAL)s->value);                                   \
                for (stats_mask is = {0}; !stats_any(is); j += STATS_STEP)                        \
                    for (int u = 0; u < 4; u++)                                                   \
                        is |= stats_load(found + (j + u * STATS_LANES) *                          \
                                                     (intptr_t)sizeof(REAL)) == wanted;           \
                for (j -= STATS_STEP; !stats_any(stats_load(found + j * step) == wanted);)        \
                    j += STATS_LANES;                                                             \
                while (ITEM(found + j * step) != (REAL)s->value) j++;                             \
                s->index += j;                                                                    \
            }                                                                                     \
        }                                                                                         \
        if (s->index < 0 || s->value == s->value)                                                 \
            name##_each(s, first + i, n - i, p + i * step, step);                                 \
    }                                                                                             \
    void ISA(name##_merge)(void *state, void const *later, void *data) {                          \
        gb_gu_extreme *s = state;                                                                 \
        const gb_gu_extreme *t = later;                                                           \
        if (t->index < 0 || (s->index >= 0 && s->value != s->value)) return;                      \
        if (s->index < 0 || t->value better s->value || t->value != t->value) *s = *t;            \
    }                                                                                             \
    int ISA(name##_final)(void const *state, char **outs, void *data) {                           \
        *(int64_t *)outs[0] = ((const gb_gu_extreme *)state)->index;                              \
        return ((const gb_gu_extreme *)state)->index < 0;                                         \
    }                                                                                             \
    STEP(name, gb_gu_extreme)                                                                     \
    ROWS(name, gb_gu_extreme, ((gb_gu_extreme){0, -1}), 1)

EXTREME(argmin, <, STATS_MIN)
EXTREME(argmax, >, STATS_MAX)

static void minmax_scan(gb_gu_range *s, intptr_t first, intptr_t n, const char *p, intptr_t step) {
    if (n == 0) return;
    REAL low = s->n ? (REAL)s->low : ITEM(p), high = s->n ? (REAL)s->high : ITEM(p);
    intptr_t i = 0;
    int nan = low != low;
    if (step == sizeof(REAL) && n >= STATS_STEP) {
        stats_vec lows[4], highs[4];
        stats_mask bad[2] = {{0}};
        for (int u = 0; u < 4; u++) lows[u] = stats_splat(low), highs[u] = stats_splat(high);
        for (; n - i >= STATS_STEP; i += STATS_STEP) {
            stats_vec v[4];
            for (int u = 0; u < 4; u++) {
                v[u] = stats_load(p + (i + u * STATS_LANES) * (intptr_t)sizeof(REAL));
                lows[u] = STATS_MIN(v[u], lows[u]);
                highs[u] = STATS_MAX(v[u], highs[u]);
            }
            bad[0] |= STATS_NAN(v[0], v[1]);
            bad[1] |= STATS_NAN(v[2], v[3]);
        }
        nan |= stats_any(bad[0] | bad[1]);
        for (int u = 0; u < 4; u++)
            for (int l = 0; l < STATS_LANES; l++) {
                low = lows[u][l] < low ? lows[u][l] : low;
                high = highs[u][l] > high ? highs[u][l] : high;
            }
    }
    for (; i < n; i++) {
        REAL v = ITEM(p + i * step);
        low = v < low ? v : low;
        high = v > high ? v : high;
        nan |= v != v;
    }
    s->low = nan ? __builtin_nan("") : low;
    s->high = nan ? __builtin_nan("") : high;
    s->n += n;
}
void ISA(minmax_merge)(void *state, void const *later, void *data) {
    gb_gu_range *s = state;
    const gb_gu_range *t = later;
    if (!t->n) return;
    if (!s->n) {
        *s = *t;
        return;
    }
    if (t->low < s->low || t->low != t->low) s->low = t->low;
    if (t->high > s->high || t->high != t->high) s->high = t->high;
    s->n += t->n;
}
int ISA(minmax_final)(void const *state, char **outs, void *data) {
    const gb_gu_range *s = state;
    *(REAL *)outs[0] = s->n ? (REAL)s->low : (REAL)__builtin_nan("");
    *(REAL *)outs[1] = s->n ? (REAL)s->high : (REAL)__builtin_nan("");
    return !s->n;
}
STEP(minmax, gb_gu_range)
ROWS(minmax, gb_gu_range, ((gb_gu_range){0, 0, 0}), 2)

void ISA(moments_merge)(void *state, void const *later, void *data) {
    gb_gu_moments *s = state;
    const gb_gu_moments *t = later;
    if (t->n == 0) return;
    double n = s->n + t->n, delta = t->mean - s->mean;
    s->mean += delta * (t->n / n);
    s->squares += t->squares + delta * delta * (s->n * t->n / n);
    s->n = n;
}
/* Mean and squares of a stretch that stays in cache, then joined to what came before. */
static void moments_scan(gb_gu_moments *s, intptr_t first, intptr_t n, const char *p,
                         intptr_t step) {
    enum { STRETCH = 1024, SUMS = 8 };
    while (n > 0) {
        intptr_t k = n < STRETCH ? n : STRETCH;
        double sum[SUMS] = {0}, squares[SUMS] = {0};
        for (intptr_t i = 0; i < k; i++) sum[i % SUMS] += ITEM(p + i * step);
        for (int i = 1; i < SUMS; i++) sum[0] += sum[i];
        gb_gu_moments here = {(double)k, sum[0] / (double)k, 0};
        for (intptr_t i = 0; i < k; i++) {
            double d = ITEM(p + i * step) - here.mean;
            squares[i % SUMS] += d * d;
        }
        for (int i = 0; i < SUMS; i++) here.squares += squares[i];
        ISA(moments_merge)(s, &here, NULL);
        p += k * step;
        n -= k;
    }
}
int ISA(moments_final)(void const *state, char **outs, void *data) {
    const gb_gu_moments *s = state;
    *(REAL *)outs[0] = s->n ? (REAL)s->mean : (REAL)__builtin_nan("");
    *(REAL *)outs[1] = s->n ? (REAL)(s->squares / s->n) : (REAL)__builtin_nan("");
    return s->n == 0;
}
STEP(moments, gb_gu_moments)
ROWS(moments, gb_gu_moments, ((gb_gu_moments){0, 0, 0}), 2)
