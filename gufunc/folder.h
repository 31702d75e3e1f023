/* folder.h: one worker of a reduction: its accumulators, its scratch memory, and where it is; and
 * what it does: it folds elements into accumulators, by loops and by functions with a state. */
#pragma once

#include "reduction.h"

typedef struct gb_gu_folder {
    gb_gu_reducing *run;
    const gb_gu_reduction *r;
    char *acc[GB_GU_R_LEVELS], *spare, *stage, *raw, *lanes[2];
    int64_t count[GB_GU_R_LEVELS]; /* what went into each accumulator; 0: nothing is there */
    uint8_t *status, *bad;         /* bad: per output of the run at hand, where any_bad is set */
    uint8_t any_bad;
    int64_t since; /* elements since the last look at the clock */
    double ns;     /* an element, of kernels that may be slow */
} gb_gu_folder;

int gb_gu_folder_init(gb_gu_folder *w, gb_gu_reducing *run, char *room);
int gb_gu_folder_stopped(gb_gu_folder *w, int64_t n); /* n more elements are done */

/* A place in nested loops. */
typedef struct gb_gu_walk {
    int64_t index[GB_MAXDIMS];
    const char *in, *where;
} gb_gu_walk;

void gb_gu_walk_fold(const gb_gu_reduction *r, gb_gu_walk *at, const char *in, const char *where,
                     int64_t linear);
void gb_gu_walk_on(const gb_gu_reduction *r, gb_gu_walk *at,
                   int64_t n); /* n: at most to the end of the innermost loop */

/* fold.c: n outputs from the k-th on, over the elements [from, to) of what is folded. */
char *gb_gu_fold(gb_gu_folder *w, const char *in, const char *where, int64_t n, int64_t from,
                 int64_t to, int first);
void gb_gu_combine(gb_gu_folder *w, char **into, const char *x, intptr_t step, int64_t n);

/* fold_state.c: the same with a state. */
char *gb_gu_fold_states(gb_gu_folder *w, const char *in, int64_t n, int64_t from, int64_t to);
