/* table.h: the tables of this package: the loops that suit the machine best. */
#pragma once

#include <stdint.h>

typedef struct gb_gu_builtin {
    const char *name, *types, *signature; /* types as NumPy's characters */
    const char *doc;                      /* NULL: for Go programs only */
    int form, folds;                      /* form: gufunc.Form */
    void *loop;
} gb_gu_builtin;

/* A reduction with a state; its loop over rows is in the other table under the same name. */
typedef struct gb_gu_builtin_state {
    const char *name, *types;
    const void *init;
    long size;
    int any_order;
    void *step, *merge, *final;
} gb_gu_builtin_state;

const gb_gu_builtin *gb_gu_builtin_loops(int base, int *n); /* base: those for every machine */
const gb_gu_builtin_state *gb_gu_builtin_states(int *n);
const char *gb_gu_builtin_set(void); /* "base", "avx2", ... */

/* States of the reductions that carry more than one number. */
typedef struct gb_gu_extreme {
    double value;
    int64_t index; /* -1: no element yet */
} gb_gu_extreme;
typedef struct gb_gu_range {
    double low, high;
    int64_t n;
} gb_gu_range;
typedef struct gb_gu_moments {
    double n, mean, squares; /* squares: of the deviations */
} gb_gu_moments;
