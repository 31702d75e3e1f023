/* matrices_body.h: matrices and tridiagonal systems for one type and one instruction set. */
#include "lanes.h"

/* ---- small matrices, one per lane: n is a constant where these are inlined, so that every loop
 * over rows and columns unrolls ---- */

#define AT(a, i, j) (a)[(i) * n + (j)]

INLINE void load_matrix(vec *a, const char *p, intptr_t step, intptr_t rows, intptr_t cols, int n,
                        int lanes) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) AT(a, i, j) = get(p + i * rows + j * cols, step, lanes);
}

#define NOT_A_NUMBER splat((REAL)__builtin_nan(""))

/* Where a matrix failed, its results are no numbers. */
INLINE void store_matrix(const vec *a, mask good, char *p, intptr_t step, intptr_t rows,
                         intptr_t cols, int n, int lanes) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            put(p + i * rows + j * cols, step, choose(good, AT(a, i, j), NOT_A_NUMBER), lanes);
}

/* Bring the largest entry of column k, from row k down, to row k of a and of b. */
INLINE vec pivot(vec *a, vec *b, int k, int n, int b_cols) {
    vec sign = splat(1), best = magnitude(AT(a, k, k));
    for (int i = k + 1; i < n; i++) {
        vec size = magnitude(AT(a, i, k));
        mask better = (mask)(size > best);
        best = choose(better, size, best);
        for (int j = k; j < n; j++) exchange(better, &AT(a, k, j), &AT(a, i, j));
        for (int j = 0; j < b_cols; j++) exchange(better, b + k * b_cols + j, b + i * b_cols + j);
        sign = choose(better, -sign, sign);
    }
    return sign;
}

/* a becomes upper triangular, b follows; returns the sign of the row exchanges. */
INLINE vec eliminate(vec *a, vec *b, int n, int b_cols, mask *good) {
    vec sign = splat(1);
    for (int k = 0; k < n; k++) {
        sign *= pivot(a, b, k, n, b_cols);
        *good &= (mask)(AT(a, k, k) != 0);
        vec inverse = 1 / AT(a, k, k);
        for (int i = k + 1; i < n; i++) {
            vec factor = AT(a, i, k) * inverse;
            for (int j = k + 1; j < n; j++) AT(a, i, j) -= factor * AT(a, k, j);
            for (int j = 0; j < b_cols; j++) b[i * b_cols + j] -= factor * b[k * b_cols + j];
        }
    }
    return sign;
}

INLINE void back_substitute(const vec *a, vec *b, int n, int b_cols) {
    for (int k = n - 1; k >= 0; k--) {
        vec inverse = 1 / AT(a, k, k);
        for (int j = 0; j < b_cols; j++) {
            vec sum = b[k * b_cols + j];
            for (int i = k + 1; i < n; i++) sum -= AT(a, k, i) * b[i * b_cols + j];
            b[k * b_cols + j] = sum * inverse;
        }
    }
}

INLINE vec determinant2(const vec *a) { return a[0] * a[3] - a[1] * a[2]; }
INLINE vec determinant3(const vec *a) {
    return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
           a[2] * (a[3] * a[7] - a[4] * a[6]);
}

/* Up to n = 3 by cofactors, scaled so that products of entries neither overflow nor
 * vanish; beyond by elimination with row exchanges. */
INLINE mask invert(vec *a, vec *x, int n) {
    mask good = (mask)(splat(0) == splat(0));
    if (n > 3) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) AT(x, i, j) = splat(i == j);
        eliminate(a, x, n, n, &good);
        back_substitute(a, x, n, n);
    } else {
        vec largest = splat(0);
        for (int i = 0; i < n * n; i++) {
            vec size = magnitude(a[i]);
            largest = choose((mask)(size > largest), size, largest);
        }
        vec scale = 1 / choose((mask)(largest > 0), largest, splat(1));
        for (int i = 0; i < n * n; i++) a[i] *= scale;
        vec det;
        if (n == 1) {
            det = a[0];
            x[0] = splat(1);
        } else if (n == 2) {
            det = determinant2(a);
            x[0] = a[3];
            x[1] = -a[1];
            x[2] = -a[2];
            x[3] = a[0];
        } else {
            x[0] = a[4] * a[8] - a[5] * a[7];
            x[1] = a[2] * a[7] - a[1] * a[8];
            x[2] = a[1] * a[5] - a[2] * a[4];
            x[3] = a[5] * a[6] - a[3] * a[8];
            x[4] = a[0] * a[8] - a[2] * a[6];
            x[5] = a[2] * a[3] - a[0] * a[5];
            x[6] = a[3] * a[7] - a[4] * a[6];
            x[7] = a[1] * a[6] - a[0] * a[7];
            x[8] = a[0] * a[4] - a[1] * a[3];
            det = a[0] * x[0] + a[1] * x[3] + a[2] * x[6];
        }
        good &= (mask)(det != 0);
        vec factor = scale / det;
        for (int i = 0; i < n * n; i++) x[i] *= factor;
    }
    for (int i = 0; i < n * n; i++) good &= is_finite(x[i]);
    return good;
}

INLINE mask factorize(vec *a, int n) { /* Cholesky: the lower triangle, zeros above */
    mask good = (mask)(splat(0) == splat(0));
    for (int j = 0; j < n; j++) {
        vec d = AT(a, j, j);
        for (int k = 0; k < j; k++) d -= AT(a, j, k) * AT(a, j, k);
        good &= (mask)(d > 0) & is_finite(d);
        vec root;
        for (int l = 0; l < LANES; l++) root[l] = SQRT(d[l] > 0 ? d[l] : (REAL)1);
        vec inverse = 1 / root;
        AT(a, j, j) = root;
        for (int i = j + 1; i < n; i++) {
            vec sum = AT(a, i, j);
            for (int k = 0; k < j; k++) sum -= AT(a, i, k) * AT(a, j, k);
            AT(a, i, j) = sum * inverse;
            AT(a, j, i) = splat(0);
        }
    }
    return good;
}

/* ---- whole stacks, n a constant ---- */

#define STACK_ARGS char **args, intptr_t const *dims, intptr_t const *steps, uint8_t *status
#define EACH_LANES(e, lanes)    \
    for (intptr_t e = 0, lanes; \
         e < dims[0] && (lanes = dims[0] - e < LANES ? dims[0] - e : LANES); e += LANES)

INLINE intptr_t matrices(STACK_ARGS, int n, int inverts) {
    intptr_t failed = 0;
    EACH_LANES(e, lanes) {
        vec a[n * n], x[n * n];
        load_matrix(a, args[0] + e * steps[0], steps[0], steps[2], steps[3], n, (int)lanes);
        mask good = inverts ? invert(a, x, n) : factorize(a, n);
        store_matrix(inverts ? x : a, good, args[1] + e * steps[1], steps[1], steps[4], steps[5], n,
                     (int)lanes);
        failed += report(good, status ? status + e : NULL, (int)lanes);
    }
    return failed;
}
INLINE intptr_t inv_stack(STACK_ARGS, int n) { return matrices(args, dims, steps, status, n, 1); }
INLINE intptr_t cholesky_stack(STACK_ARGS, int n) {
    return matrices(args, dims, steps, status, n, 0);
}

/* The determinant of a singular matrix is 0 and no failure; only what is not finite is. */
INLINE intptr_t det_stack(STACK_ARGS, int n) {
    intptr_t failed = 0;
    EACH_LANES(e, lanes) {
        vec a[n * n], det;
        load_matrix(a, args[0] + e * steps[0], steps[0], steps[2], steps[3], n, (int)lanes);
        if (n == 1) det = a[0];
        else if (n == 2) det = determinant2(a);
        else if (n == 3) det = determinant3(a);
        else {
            mask good = (mask)(splat(0) == splat(0));
            det = eliminate(a, NULL, n, 0, &good);
            for (int k = 0; k < n; k++) det *= AT(a, k, k);
            det = choose(good, det, splat(0));
        }
        put(args[1] + e * steps[1], steps[1], det, (int)lanes);
        failed += report(is_finite(det), status ? status + e : NULL, (int)lanes);
    }
    return failed;
}

INLINE intptr_t solve_stack(STACK_ARGS, int n) {
    intptr_t failed = 0;
    EACH_LANES(e, lanes) {
        vec a[n * n], b[n];
        mask good = (mask)(splat(0) == splat(0));
        load_matrix(a, args[0] + e * steps[0], steps[0], steps[3], steps[4], n, (int)lanes);
        for (int i = 0; i < n; i++)
            b[i] = get(args[1] + e * steps[1] + i * steps[5], steps[1], (int)lanes);
        eliminate(a, b, n, 1, &good);
        back_substitute(a, b, n, 1);
        for (int i = 0; i < n; i++) good &= is_finite(b[i]);
        for (int i = 0; i < n; i++)
            put(args[2] + e * steps[2] + i * steps[6], steps[2], choose(good, b[i], NOT_A_NUMBER),
                (int)lanes);
        failed += report(good, status ? status + e : NULL, (int)lanes);
    }
    return failed;
}

/* Written out for n up to 4 where UNROLL says so; up to 8 the loops stay loops, because unrolled
 * they would be five times the code; larger matrices one at a time. */
#ifdef __clang__
#define AS_LOOPS __attribute__((noinline))
#else
#define AS_LOOPS __attribute__((noinline, optimize("O2")))
#endif
#define LOOPED(name)                                                  \
    static AS_LOOPS intptr_t name##_looped(STACK_ARGS) {              \
        return name##_stack(args, dims, steps, status, (int)dims[1]); \
    }
#define WHEN(name, n) \
    if (UNROLL && dims[1] == n) return name##_stack(args, dims, steps, status, n)
#define PER_SIZE(name)                                                                       \
    LOOPED(name)                                                                             \
    intptr_t ISA(name)(char **args, intptr_t const *dims, intptr_t const *steps, void *data, \
                       uint8_t *status) {                                                    \
        WHEN(name, 1);                                                                       \
        WHEN(name, 2);                                                                       \
        WHEN(name, 3);                                                                       \
        WHEN(name, 4);                                                                       \
        return dims[1] && dims[1] <= 8 ? name##_looped(args, dims, steps, status)            \
                                       : REFUSE(name)(args, dims, steps, status);            \
    }

/* ---- matrices beyond n = 8, one at a time, in scratch memory of their own ---- */

#define REFUSE(name) large_##name

INLINE void fetch(REAL *a, const char *p, intptr_t rows, intptr_t cols, intptr_t n) {
    for (intptr_t i = 0; i < n; i++)
        for (intptr_t j = 0; j < n; j++) a[i * n + j] = *(const REAL *)(p + i * rows + j * cols);
}

/* LU with row exchanges, b (n by cols) follows. Returns the determinant's sign, 0 singular. */
static int lu(REAL *a, REAL *b, intptr_t n, intptr_t cols) {
    int sign = 1;
    for (intptr_t k = 0; k < n; k++) {
        intptr_t best = k;
        for (intptr_t i = k + 1; i < n; i++)
            if (FABS(a[i * n + k]) > FABS(a[best * n + k])) best = i;
        if (!(a[best * n + k] != 0)) return 0;
        if (best != k) {
            sign = -sign;
            for (intptr_t j = k; j < n; j++) {
                REAL t = a[k * n + j];
                a[k * n + j] = a[best * n + j];
                a[best * n + j] = t;
            }
            for (intptr_t j = 0; j < cols; j++) {
                REAL t = b[k * cols + j];
                b[k * cols + j] = b[best * cols + j];
                b[best * cols + j] = t;
            }
        }
        for (intptr_t i = k + 1; i < n; i++) {
            REAL factor = a[i * n + k] / a[k * n + k];
            for (intptr_t j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
            for (intptr_t j = 0; j < cols; j++) b[i * cols + j] -= factor * b[k * cols + j];
        }
    }
    return sign;
}

/* b becomes the solution; 0 when something in it is not finite. */
static int upper_solve(const REAL *a, REAL *b, intptr_t n, intptr_t cols) {
    int good = 1;
    for (intptr_t k = n - 1; k >= 0; k--) {
        for (intptr_t i = k + 1; i < n; i++)
            for (intptr_t j = 0; j < cols; j++) b[k * cols + j] -= a[k * n + i] * b[i * cols + j];
        for (intptr_t j = 0; j < cols; j++) {
            b[k * cols + j] /= a[k * n + k];
            good &= b[k * cols + j] - b[k * cols + j] == 0;
        }
    }
    return good;
}

static intptr_t large_fail(uint8_t *status, intptr_t e) {
    if (status) status[e] = 1;
    return 1;
}

/* Room for a matrix and a right side; without it every element fails. */
#define LARGE(name, extra)                                                                  \
    static intptr_t large_##name(char **args, intptr_t const *dims, intptr_t const *steps,  \
                                 uint8_t *status) {                                         \
        intptr_t n = dims[1], failed = 0;                                                   \
        REAL *a = malloc(sizeof(REAL) * (size_t)(n * n + (extra) + 1)), *b = a + n * n;     \
        (void)b;                                                                            \
        for (intptr_t e = 0; e < dims[0]; e++) {                                            \
            if (!a) failed += large_fail(status, e);                                        \
            else if (!one_##name(a, b, args, steps, e, n)) failed += large_fail(status, e); \
        }                                                                                   \
        free(a);                                                                            \
        return failed;                                                                      \
    }

static int one_inv(REAL *a, REAL *b, char **args, intptr_t const *steps, intptr_t e, intptr_t n) {
    fetch(a, args[0] + e * steps[0], steps[2], steps[3], n);
    for (intptr_t i = 0; i < n * n; i++) b[i] = i % (n + 1) == 0;
    int good = lu(a, b, n, n) && upper_solve(a, b, n, n);
    for (intptr_t i = 0; i < n; i++)
        for (intptr_t j = 0; j < n; j++)
            *(REAL *)(args[1] + e * steps[1] + i * steps[4] + j * steps[5]) =
                good ? b[i * n + j] : (REAL)__builtin_nan("");
    return good;
}

static int one_det(REAL *a, REAL *b, char **args, intptr_t const *steps, intptr_t e, intptr_t n) {
    fetch(a, args[0] + e * steps[0], steps[2], steps[3], n);
    REAL det = (REAL)lu(a, NULL, n, 0);
    for (intptr_t k = 0; k < n && det != 0; k++) det *= a[k * n + k];
    for (intptr_t k = 0; k < n * n && det == 0; k++) det += a[k] - a[k]; /* not finite stays so */
    *(REAL *)(args[1] + e * steps[1]) = det;
    return det - det == 0;
}

static int one_solve(REAL *a, REAL *b, char **args, intptr_t const *steps, intptr_t e, intptr_t n) {
    fetch(a, args[0] + e * steps[0], steps[3], steps[4], n);
    for (intptr_t i = 0; i < n; i++) b[i] = *(const REAL *)(args[1] + e * steps[1] + i * steps[5]);
    int good = lu(a, b, n, 1) && upper_solve(a, b, n, 1);
    for (intptr_t i = 0; i < n; i++)
        *(REAL *)(args[2] + e * steps[2] + i * steps[6]) = good ? b[i] : (REAL)__builtin_nan("");
    return good;
}

static int one_cholesky(REAL *a, REAL *b, char **args, intptr_t const *steps, intptr_t e,
                        intptr_t n) {
    int good = 1;
    fetch(a, args[0] + e * steps[0], steps[2], steps[3], n);
    for (intptr_t j = 0; j < n && good; j++) {
        REAL d = a[j * n + j];
        for (intptr_t k = 0; k < j; k++) d -= a[j * n + k] * a[j * n + k];
        good = d > 0 && d - d == 0;
        REAL root = a[j * n + j] = SQRT(good ? d : (REAL)1);
        for (intptr_t i = j + 1; i < n; i++) {
            REAL sum = a[i * n + j];
            for (intptr_t k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = sum / root;
        }
    }
    for (intptr_t i = 0; i < n; i++)
        for (intptr_t j = 0; j < n; j++)
            *(REAL *)(args[1] + e * steps[1] + i * steps[4] + j * steps[5]) =
                !good   ? (REAL)__builtin_nan("")
                : j > i ? 0
                        : a[i * n + j];
    return good;
}

LARGE(inv, n *n)
LARGE(det, 0)
LARGE(solve, n)
LARGE(cholesky, 0)

PER_SIZE(inv)
PER_SIZE(det)
PER_SIZE(solve)
PER_SIZE(cholesky)

/* ---- tridiagonal systems by the Thomas algorithm, one per lane ----
 *
 * (k),(k),(k),(k)->(k) for the lower, main and upper diagonals and the right side. lower[0] and
 * upper[k-1] are not read. A pivot of zero, or a result that is not finite, is a failure. */

INLINE intptr_t thomas(char **args, intptr_t const *steps, intptr_t n, vec *c, vec *d, int lanes,
                       uint8_t *status) {
    const intptr_t *k = steps + 5;
    const char *lower = args[0], *main_ = args[1], *upper = args[2], *right = args[3];
    char *x = args[4];
    vec inverse = get(main_, steps[1], lanes);
    mask good = (mask)(inverse != 0);
    inverse = 1 / inverse;
    vec above = get(upper, steps[2], lanes) * inverse,
        value = get(right, steps[3], lanes) * inverse;
    c[0] = above;
    d[0] = value;
    for (intptr_t i = 1; i < n; i++) {
        vec a = get(lower + i * k[0], steps[0], lanes);
        vec pivot = get(main_ + i * k[1], steps[1], lanes) - a * above;
        good &= (mask)(pivot != 0);
        inverse = 1 / pivot;
        value = (get(right + i * k[3], steps[3], lanes) - a * value) * inverse;
        if (i + 1 < n) above = get(upper + i * k[2], steps[2], lanes) * inverse;
        c[i] = above;
        d[i] = value;
    }
    for (intptr_t i = n - 2; i >= 0; i--) {
        value = d[i] - c[i] * value;
        d[i] = value;
        good &= is_finite(value);
    }
    good &= is_finite(d[n - 1]);
    for (intptr_t i = 0; i < n; i++)
        put(x + i * k[4], steps[4], choose(good, d[i], NOT_A_NUMBER), lanes);
    return report(good, status, lanes);
}

intptr_t ISA(tridiagonal)(char **args, intptr_t const *dims, intptr_t const *steps, void *data,
                          uint8_t *status) {
    intptr_t n = dims[1], failed = 0;
    vec few[2 * 160], *room = few;
    if (n == 0) return 0;
    if (n > 160)
        room = aligned_alloc(64, (size_t)(2 * n) * sizeof *room + 64 -
                                     (size_t)(2 * n) * sizeof *room % 64);
    EACH_LANES(e, lanes) {
        char *here[5];
        for (int i = 0; i < 5; i++) here[i] = args[i] + e * steps[i];
        if (room)
            failed += lanes == LANES ? thomas(here, steps, n, room, room + n, LANES,
                                              status ? status + e : NULL)
                                     : thomas(here, steps, n, room, room + n, (int)lanes,
                                              status ? status + e : NULL);
        else failed += lanes;
        if (!room && status) memset(status + e, 1, (size_t)lanes);
    }
    if (room != few) free(room);
    return failed;
}
