/* job.c: sums of arrays: any strides and types, cut into pieces that threads share. */
#define _GNU_SOURCE
#include "block.h"
#include "../transfer/kernels.h"
#include "../alloc/strides.h"

#include <sched.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define PIECE (32 << 10) /* elements */

/* ---- how floating point is set ---- */

/* Some libraries make the processor take subnormal numbers for 0; and rounding is to nearest here.
 */
static uint64_t set_plain(void) {
#if defined(__x86_64__)
    unsigned before = _mm_getcsr();
    if (before & 0xe040) _mm_setcsr(before & ~0xe040u);
    return before;
#elif defined(__aarch64__)
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before & ~(uint64_t)0x1c00000));
    return before;
#else
    return 0;
#endif
}

static void set_back(uint64_t before) {
#if defined(__x86_64__)
    if (before & 0xe040) _mm_setcsr((unsigned)before);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
#else
    (void)before;
#endif
}

/* ---- planning ---- */

static int read_side(gb_exact_side *side, const gb_copy_view *view) {
    *side = (gb_exact_side){view->data, view->itemsize, view->type};
    if (view->type <= GB_RAW || view->type >= GB_LONGDOUBLE || view->itemsize > 8 ||
        gb_type_size(view->type) != view->itemsize)
        return GB_COPY_NO_CAST;
    return GB_COPY_OK;
}

static int is_float(int type) { return type == GB_F16 || type == GB_F32 || type == GB_F64; }

int gb_exact_plan(gb_exact_job *job, gb_exact *total, const gb_copy_view *a, const gb_copy_view *b,
                  int negative) {
    *job = (gb_exact_job){.total = total, .negative = negative, .elements = 1};
    int rc = read_side(&job->a, a);
    if (rc == GB_COPY_OK && b) rc = read_side(&job->b, b);
    if (rc != GB_COPY_OK) return rc;
    if (a->ndim < 0 || a->ndim > GB_COPY_DIMS || (b && b->ndim != a->ndim)) return GB_COPY_BAD_VIEW;
    job->integers = !is_float(a->type);
    if (b && job->integers == is_float(b->type)) return GB_COPY_NO_CAST;
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] < 0 || (b && b->shape[i] != a->shape[i])) return GB_COPY_BAD_VIEW;
        if (__builtin_mul_overflow(job->elements, a->shape[i], &job->elements))
            return GB_COPY_BAD_VIEW;
    }
    for (int i = 0; i < a->ndim && job->elements; i++) {
        gb_copy_axis x = {a->shape[i], a->strides[i], b ? b->strides[i] : a->strides[i]};
        if (x.n == 1) continue;
        if (x.dst < 0) { /* from the other end */
            job->a.data += (x.n - 1) * x.dst;
            if (b) job->b.data += (x.n - 1) * x.src;
            x.dst = -x.dst, x.src = -x.src;
        }
        job->n = gb_copy_axis_insert(job->axis, job->n, x);
    }
    job->n = gb_copy_axis_merge(job->axis, job->n);
    if (job->n == 0) job->axis[job->n++] = (gb_copy_axis){1, 0, 0};
    job->pieces = job->elements ? (job->elements - 1) / PIECE + 1 : 0;
    return GB_COPY_OK;
}

/* ---- walking ---- */

/* n elements as doubles or as integers of 64 bits. */
static void fetch(double *out, const gb_exact_side *side, const char *src, int64_t step, int64_t n,
                  int integers) {
    char gathered[GB_EXACT_BLOCK * 8];
    int to = integers ? (side->type == GB_U64 ? GB_U64 : GB_I64) : GB_F64;
    if (side->type == to) {
        if (step == 8) memcpy(out, src, (size_t)n * 8);
        else gb_move_strided((char *)out, 8, src, step, n, 8);
        return;
    }
    if (step != side->item) {
        gb_move_strided(gathered, side->item, src, step, n, side->item);
        src = gathered;
    }
    gb_copy_kernels_here->cast[to][side->type](out, src, n);
}

/* A run along the last axis; long ones of doubles are summed where they lie. */
static void take_run(gb_exact_block *b, const char *x, const char *y, int64_t step_x,
                     int64_t step_y, int64_t n) {
    const gb_exact_job *job = b->job;
    int wide = !job->integers ? GB_F64 : job->a.type == GB_U64 ? GB_U64 : GB_I64;
    int in_place = job->a.type == wide && step_x == 8 && (uintptr_t)x % 8 == 0;
    if (y) in_place = in_place && job->b.type == wide && step_y == 8 && (uintptr_t)y % 8 == 0;
    while (n > 0) {
        int64_t m = GB_EXACT_BLOCK - b->n < n ? GB_EXACT_BLOCK - b->n : n;
        if (in_place && n >= GB_EXACT_BLOCK / 4) {
            m = (n < GB_EXACT_BLOCK ? n : GB_EXACT_BLOCK) / GB_EXACT_STEP * GB_EXACT_STEP;
            gb_exact_sum_block(b, (const double *)(const void *)x, (const double *)(const void *)y,
                               m);
        } else {
            fetch(b->x + b->n, &job->a, x, step_x, m, job->integers);
            if (y) fetch(b->y + b->n, &job->b, y, step_y, m, job->integers);
            if ((b->n += m) == GB_EXACT_BLOCK) gb_exact_flush(b);
        }
        n -= m;
        x += m * step_x;
        if (y) y += m * step_y;
    }
}

static void take_pieces(gb_exact_block *b, int64_t begin, int64_t end) {
    const gb_exact_job *job = b->job;
    const gb_copy_axis *last = &job->axis[job->n - 1];
    int64_t index[GB_COPY_DIMS + 1], rest = begin;
    const char *x = job->a.data, *y = job->b.data;
    for (int i = job->n - 1; i >= 0; i--) {
        index[i] = rest % job->axis[i].n;
        rest /= job->axis[i].n;
        x += index[i] * job->axis[i].dst;
        if (y) y += index[i] * job->axis[i].src;
    }
    while (begin < end) {
        int64_t n = last->n - index[job->n - 1], i = job->n - 1;
        if (n > end - begin) n = end - begin;
        take_run(b, x, y, last->dst, last->src, n);
        begin += n;
        x += n * last->dst;
        if (y) y += n * last->src;
        for (index[i] += n; i > 0 && index[i] == job->axis[i].n; i--) {
            index[i] = 0;
            x += job->axis[i - 1].dst - job->axis[i].n * job->axis[i].dst;
            if (y) y += job->axis[i - 1].src - job->axis[i].n * job->axis[i].src;
            index[i - 1]++;
        }
    }
    gb_exact_flush(b);
}

/* Those that transfer/ chose for this processor, where it has FMA, too. */
static const gb_exact_kernels *kernels_here(void) {
#ifdef __x86_64__
    const char *name = gb_copy_kernels_name();
    if (strcmp(name, "avx512") == 0) return &gb_exact_kernels_avx512;
    if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("fma")) return &gb_exact_kernels_avx2;
#endif
    return &gb_exact_kernels_plain;
}

void gb_exact_run(gb_exact_job *job, int64_t first, int64_t end) {
    if (first >= end) return;
    gb_exact_block b;
    memset(&b.sum, 0, sizeof b.sum);
    b.job = job, b.kernels = kernels_here(), b.n = 0;
    uint64_t before = set_plain();
    int64_t stop = end * PIECE < job->elements ? end * PIECE : job->elements;
    take_pieces(&b, first * PIECE, stop);
    gb_exact_carry(&b.sum);
    set_back(before);
    while (__atomic_exchange_n(&job->lock, 1, __ATOMIC_ACQUIRE))
        sched_yield(); /* held for 0.1 us */
    gb_exact_merge(job->total, &b.sum);
    __atomic_store_n(&job->lock, 0, __ATOMIC_RELEASE);
}

static void run_pieces(void *job, int64_t first, int64_t end) { gb_exact_run(job, first, end); }

gb_work gb_exact_work(gb_exact_job *job) {
    int threads = gb_work_threads(
        job->elements, 128 << 10); /* one sums some 50 000 numbers while another thread wakes */
    return (gb_work){.run = run_pieces,
                     .of = job,
                     .pieces = job->pieces,
                     .batch = job->pieces > 64 ? 4 : 1,
                     .threads = threads};
}
