/* large_body.h: matrices beyond n = 8, one at a time, in scratch memory of their own. */

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
