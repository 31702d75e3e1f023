/* fold.h: folding elements into accumulators, by loops and by functions with a state. */
#pragma once

#include "folder.h"

/* n outputs from the k-th on, over the elements [from, to) of what is folded. */
char *gb_gu_fold(gb_gu_folder *w, const char *in, const char *where, int64_t n, int64_t from, int64_t to, int first);
void gb_gu_combine(gb_gu_folder *w, char **into, const char *x, intptr_t step, int64_t n);

/* fold_state.c: the same with a state. */
char *gb_gu_fold_states(gb_gu_folder *w, const char *in, int64_t n, int64_t from, int64_t to);
