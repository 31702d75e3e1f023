/* reduce.h: running a reduction, and which of its outputs failed. */
#pragma once

#include "reduction.h"

gb_gu_reduction *gb_gu_reduction_new(int nout);
void gb_gu_reduction_free(gb_gu_reduction *r);

/* The kernel of r->call, whose data is a gb_gu_reducing. */
intptr_t gb_gu_reduce_tasks(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status);

/* Get ready; -1: no memory. Everything else: gb_gu_reduce_begin, the tasks, gb_gu_reduce_end. */
int gb_gu_reduce_begin(gb_gu_reducing *run);
void gb_gu_reduce_here(gb_gu_reducing *run);          /* all tasks on this thread */
void gb_gu_reduce_end(gb_gu_reducing *run);           /* join the parts; gives them back */
int64_t gb_gu_reduce_failed(const gb_gu_reducing *run);   /* outputs that failed */
