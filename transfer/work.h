/* work.h: planned work as pieces, any range of which may be done by any thread. What runs it need not know what it is: C on its
 * own thread (gb_work_go_on), or Go with helpers (internal/work). */
#pragma once

#include <stdint.h>

typedef struct gb_work {
    void (*run)(void *of, int64_t first, int64_t end);
    void *of;
    int64_t pieces, at;   /* at: the first that nobody has begun */
    int64_t batch;        /* pieces worth taking at a time */
    int threads;          /* that the work is worth */
} gb_work;

static inline void gb_work_run(const gb_work *work, int64_t first, int64_t end) { work->run(work->of, first, end); }

int gb_work_go_on(gb_work *work, int64_t nanoseconds);   /* threads.c: for about as long as the budget says; whether all is done */
