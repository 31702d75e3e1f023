/* memory.c: taking blocks for Python objects. */
#include "memory.h"
#include "trace.h"

#include <errno.h>

static int over_limit(int64_t bytes) {
    gb_heap_stats s;
    gb_heap_trim(0); /* a program at its limit wants its memory back where it can be had */
    gb_heap_get_stats(&s);
    return PyErr_Format(PyExc_MemoryError,
                        "cannot allocate %lld bytes: %lld bytes are live in %lld buffers and the "
                        "limit is %lld "
                        "(gridbuf.memory.set_limit)",
                        (long long)bytes, (long long)s.live_bytes, (long long)s.live_buffers,
                        (long long)s.limit),
           -1;
}

/* Not on the hot path: the heap has no block of this size. */
static int refill(int64_t reserve) {
    if (gb_heap_refill(reserve) == 0) return 0;
    const char *why = strerror(errno);
    gb_heap_stats s;
    gb_heap_get_stats(&s);
    return PyErr_Format(PyExc_MemoryError,
                        "cannot allocate %lld bytes: the system has none left (%s); %lld bytes are "
                        "live in %lld buffers, %lld are cached",
                        (long long)reserve, why, (long long)s.live_bytes, (long long)s.live_buffers,
                        (long long)s.cached_bytes),
           -1;
}

int gb_py_allocate(const gb_heap_layout *want, void **data, int *fresh) {
    gb_py_decref_deferred();
    for (;;) {
        switch (gb_heap_take(want, data, fresh)) {
        case GB_HEAP_TAKEN:
            if (__builtin_expect(gb_py_tracing, 0)) gb_py_trace(*data, want->span, want->plan);
            return 0;
        case GB_HEAP_OVER_LIMIT: return over_limit(want->reserve);
        }
        if (refill(want->reserve) < 0) return -1;
    }
}
