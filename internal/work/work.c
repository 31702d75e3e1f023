/* work.c: a gb_work shared by the caller and helpers, batch by batch. */
#include "work.h"
#include "../../alloc/system.h"
#include "helpers.h"

typedef struct share {
    const gb_work *work;
    int64_t next, deadline; /* next: atomic */
} share;

static void take_batches(void *of) {
    share *s = of;
    const gb_work *work = s->work;
    for (;;) {
        int64_t first = __atomic_fetch_add(&s->next, work->batch, __ATOMIC_RELAXED),
                end = first + work->batch;
        if (first >= work->pieces) return;
        work->run(work->of, first, end < work->pieces ? end : work->pieces);
        if (gb_nanoseconds() >= s->deadline) return;
    }
}

int gb_work_resume(gb_work *work, int64_t nanoseconds) {
    share s = {work, work->at, gb_nanoseconds() + nanoseconds};
    gb_work_together(take_batches, &s, work->threads - 1);
    work->at = s.next < work->pieces ? s.next : work->pieces;
    return work->at == work->pieces;
}
