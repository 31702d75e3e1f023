/* matrix_body.h: small matrices, one per lane. n is a constant wherever these are
 * inlined, so every loop over rows and columns unrolls. */

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
            x[0] = a[3], x[1] = -a[1], x[2] = -a[2], x[3] = a[0];
        } else {
            x[0] = a[4] * a[8] - a[5] * a[7], x[1] = a[2] * a[7] - a[1] * a[8],
            x[2] = a[1] * a[5] - a[2] * a[4];
            x[3] = a[5] * a[6] - a[3] * a[8], x[4] = a[0] * a[8] - a[2] * a[6],
            x[5] = a[2] * a[3] - a[0] * a[5];
            x[6] = a[3] * a[7] - a[4] * a[6], x[7] = a[1] * a[6] - a[0] * a[7],
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
