/* memory.c: taking blocks, and the handler through which NumPy gives them back.
 *
 * An array from gridbuf owns its data, as one from np.empty does: its memory
 * handler (NEP 49) is ours, and its free finds the block below the data. So there
 * is no base object to make, and no consumer takes the array for a view.
 */
#include "memory.h"
#include "go.h"

#include <string.h>

PyObject *gb_handler;

static int over_limit(int64_t bytes) {
    gb_heap_stats s;
    gb_get_stats(&s);
    PyErr_Format(PyExc_MemoryError,
                 "cannot allocate %lld bytes: %lld bytes are live in %lld buffers and the limit is %lld "
                 "(gridbuf.memory.set_limit)",
                 (long long)bytes, (long long)s.live_bytes, (long long)s.live_buffers, (long long)s.limit);
    return -1;
}

/* Not on the hot path: the heap has no block of this size. */
static int refill(int64_t reserve) {
    if (!gb_forked) {
        gb_error e;
        return GB_ENTER_GO(&e, gbridge_refill(reserve, &e));
    }
    if (gb_refill(reserve) == 0) return 0;
    PyErr_Format(PyExc_MemoryError, "cannot allocate %lld bytes: the system has none left", (long long)reserve);
    return -1;
}

int gb_allocate(const gb_want *want, void **data, int *fresh) {
    gb_drain();
    for (;;) {
        switch (gb_take(want, data, fresh)) {
        case GB_TAKEN:
            if (__builtin_expect(gb_tracing, 0)) gb_trace(*data);
            return 0;
        case GB_OVER_LIMIT: return over_limit(want->reserve);
        }
        if (refill(want->reserve) < 0) return -1;
    }
}

/* ---- NumPy's side: called for arrays that own one of our blocks ---- */

static void *take_bytes(size_t bytes, int *fresh) {
    if (bytes > INT64_MAX / 4) return NULL;
    gb_want want = { .span = (int64_t)bytes, .boundary = GB_BLOCK_ALIGN, .offset = 0 };
    want.reserve = gb_reserve(want.span, want.boundary);
    void *data;
    for (;;) {
        switch (gb_take(&want, &data, fresh)) {
        case GB_TAKEN: return data;
        case GB_OVER_LIMIT: return NULL;
        }
        if (gb_refill(want.reserve) < 0) return NULL;   /* NumPy may be on a thread of its own: no Go, no GIL */
    }
}

static void *handler_malloc(void *ctx, size_t bytes) {
    int fresh;
    return take_bytes(bytes, &fresh);
}

static void *handler_calloc(void *ctx, size_t n, size_t size) {
    size_t bytes;
    int fresh;
    if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
    void *data = take_bytes(bytes, &fresh);
    if (data && !fresh) memset(data, 0, bytes);
    return data;
}

static void handler_free(void *ctx, void *data, size_t bytes) {
    if (data) gb_release(data);
}

static void *handler_realloc(void *ctx, void *data, size_t bytes) {
    if (!data) return handler_malloc(ctx, bytes);
    void *moved = handler_malloc(ctx, bytes);
    if (!moved) return NULL;
    size_t had = (size_t)gb_block_bytes(data);
    memcpy(moved, data, had < bytes ? had : bytes);
    gb_release(data);
    return moved;
}

static PyDataMem_Handler handler = {
    "gridbuf", 1, { NULL, handler_malloc, handler_calloc, handler_realloc, handler_free }
};

int gb_handler_init(void) {
    gb_handler = PyCapsule_New(&handler, "mem_handler", NULL);
    return gb_handler ? 0 : -1;
}
