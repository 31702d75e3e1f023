/* list.h: every loop of this package: the source of the declarations, the rows of the table, and
 * the documentation in Go and Python. ../sets_test.go tries all of them, and checks that the
 * documentation names them.
 *
 * T is the character of the element type, S the suffix of the functions for it and an
 * instruction set: the loop is gb_gu_k_NAME_S.
 */
#pragma once

/* X(S, name, form, folds rows where its output is its first input, types, signature, doc). Without
 * a doc: for Go programs only. */
#define GB_GU_LOOPS(X, T, S)                                                                       \
    X(S, inv, GB_GU_STATUS_LOOP, 0, T "->" T, "(n,n)->(n,n)",                                      \
      "The inverse of each matrix; singular ones fail.")                                           \
    X(S, det, GB_GU_STATUS_LOOP, 0, T "->" T, "(n,n)->()", "The determinant of each matrix.")      \
    X(S, solve, GB_GU_STATUS_LOOP, 0, T T "->" T, "(n,n),(n)->(n)",                                \
      "Solve a x = b for each matrix a and vector b; singular ones fail.")                         \
    X(S, cholesky, GB_GU_STATUS_LOOP, 0, T "->" T, "(n,n)->(n,n)",                                 \
      "The lower Cholesky factor; matrices that are not positive definite fail.")                  \
    X(S, tridiagonal, GB_GU_STATUS_LOOP, 0, T T T T "->" T, "(k),(k),(k),(k)->(k)",                \
      "Solve tridiagonal systems: lower, main and upper diagonal, right-hand side.")               \
    X(S, dot, GB_GU_NUMPY_LOOP, 0, T T "->" T, "(n),(n)->()", "The inner product of vectors.")     \
    X(S, matvec, GB_GU_NUMPY_LOOP, 0, T T "->" T, "(m,n),(n)->(m)", "Matrix times vector.")        \
    X(S, sqrt, GB_GU_NUMPY_LOOP, 0, T "->" T, "()->()", "The square root; negative numbers fail.") \
    X(S, divide, GB_GU_NUMPY_LOOP, 0, T T "->" T, "(),()->()",                                     \
      "The quotient; a zero divisor fails.")                                                       \
    X(S, add, GB_GU_NUMPY_LOOP, 1, T T "->" T, "(),()->()", NULL)                                  \
    X(S, maximum, GB_GU_NUMPY_LOOP, 1, T T "->" T, "(),()->()", NULL)                              \
    X(S, minimum, GB_GU_NUMPY_LOOP, 1, T T "->" T, "(),()->()", NULL)

/* X(S, name, state type, initial state, the index of an element does not count, types, signature,
 * doc): reductions with a state, gb_gu_k_NAME_step_S, _merge_S and _final_S, and a loop over rows,
 * gb_gu_k_NAME_rows_S. */
#define GB_GU_STATES(X, T, S)                                                      \
    X(S, argmin, gb_gu_extreme, no_extreme, 0, T "->l", "(n)->()",                 \
      "The index of the least element; rows with a nan or without elements fail.") \
    X(S, argmax, gb_gu_extreme, no_extreme, 0, T "->l", "(n)->()",                 \
      "The index of the greatest element.")                                        \
    X(S, minmax, gb_gu_range, no_range, 1, T "->" T T, "(n)->(),()",               \
      "The least and the greatest element in one pass.")                           \
    X(S, moments, gb_gu_moments, no_moments, 1, T "->" T T, "(n)->(),()",          \
      "The mean and the variance in one pass.")
