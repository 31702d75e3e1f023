/* exact.c: sums of arrays without rounding. A wide integer takes single numbers (R. M. Neal, "Fast
 * exact summation using small and large superaccumulators", arXiv 1505.05571: the small one,
 * widened for products), kernels take blocks, and a job walks arrays of any strides and types, cut
 * into pieces that threads share. */
#define _GNU_SOURCE
#include "exact.h"
#include "kernels.h"
#include "../alloc/strides.h"
#include "../transfer/kernels.h"

#include <sched.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/* ---- single numbers, into the wide integer ---- */

typedef unsigned __int128 wide;

/* value * 2^(at - GB_EXACT_BIAS) */
static inline void put(gb_exact *sum, wide value, int at, int negative) {
    int64_t *chunk = &sum->chunk[at / 32];
    for (; value; value >>= 32, chunk++) {
        int64_t part = (int64_t)(uint32_t)value;
        *chunk += negative ? -part : part;
    }
}

static inline int exponent_of(uint64_t bits) { return (int)(bits >> 52 & 0x7ff); }

/* A finite double as integer * 2^(exponent - 1075). */
static inline uint64_t integer_of(uint64_t bits, int *exponent) {
    uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    *exponent = exponent_of(bits);
    if (*exponent) return mantissa | (uint64_t)1 << 52;
    *exponent = 1;
    return mantissa;
}

static void put_special(gb_exact *sum, double x, int negative) {
    if (x != x) sum->nans++;
    else if ((x < 0) == !negative) sum->negative_infinities++;
    else sum->infinities++;
}

/* A sum takes up to 2^30 numbers between two merges. */
static void add_number(gb_exact *sum, double x, int negative) {
    uint64_t bits;
    int e;
    memcpy(&bits, &x, 8);
    if (exponent_of(bits) == 0x7ff) {
        put_special(sum, x, negative);
        return;
    }
    uint64_t m = integer_of(bits, &e);
    int at = e - 1075 + GB_EXACT_BIAS;
    put(sum, (wide)m << at % 32, at, (int)(bits >> 63) ^ !!negative);
}

static void add_product(gb_exact *sum, double x, double y, int negative) {
    uint64_t bits[2];
    int ex, ey;
    memcpy(&bits[0], &x, 8);
    memcpy(&bits[1], &y, 8);
    if (exponent_of(bits[0]) == 0x7ff || exponent_of(bits[1]) == 0x7ff) {
        put_special(sum, x * y, negative);
        return;
    }
    uint64_t mx = integer_of(bits[0], &ex), my = integer_of(bits[1], &ey);
    wide product = (wide)mx * my;
    int at = ex + ey - 2150 + GB_EXACT_BIAS,
        minus = (int)(bits[0] >> 63 ^ bits[1] >> 63) ^ !!negative;
    put(sum, (wide)(uint64_t)product << at % 32, at, minus);
    put(sum, (wide)(uint64_t)(product >> 64) << at % 32, at + 64, minus);
}

/* high * 2^64 + low */
static void add_integer(gb_exact *sum, uint64_t high, uint64_t low, int negative) {
    put(sum, (wide)high << 64 | low, GB_EXACT_BIAS, negative);
}

void gb_exact_merge(gb_exact *sum, const gb_exact *other) {
    int64_t carry = 0;
    for (int i = 0; i < GB_EXACT_CHUNKS - 1; i++) {
        int64_t v = sum->chunk[i] + other->chunk[i] + carry;
        sum->chunk[i] = (int64_t)(uint32_t)v;
        carry = v >> 32; /* rounded down: GCC and Clang keep the sign */
    }
    sum->chunk[GB_EXACT_CHUNKS - 1] += other->chunk[GB_EXACT_CHUNKS - 1] + carry;
    sum->nans += other->nans;
    sum->infinities += other->infinities;
    sum->negative_infinities += other->negative_infinities;
}

/* ---- blocks: by the kernels where they can, else number by number ---- */

/* Elements waiting to be summed as one block: of rows too short, or of types that are converted. */
typedef struct block {
    gb_exact sum;
    const gb_exact_job *job;
    const gb_exact_kernels *kernels;
    int64_t n;
    _Alignas(64) double x[GB_EXACT_BLOCK], y[GB_EXACT_BLOCK]; /* of integers: their 64 bits */
} block;

static void put_parts(block *b, const gb_exact_parts *parts, int n) {
    for (int i = 0; i < n; i++) add_number(&b->sum, parts->part[i], b->job->negative);
}

/* Level by level, until nothing is left of any number: twice for most blocks, and never more than
 * thirty times. */
static void sum_floats(block *b, const double *x, int64_t n, int coarse) {
    double left[GB_EXACT_BLOCK];
    gb_exact_parts parts;
    for (;; coarse = 0) {
        int levels = coarse ? 1 : 2,
            made = (coarse ? b->kernels->sum_coarse : b->kernels->sum)(x, n, &parts);
        if (made == GB_EXACT_NOT) break;
        put_parts(b, &parts, levels);
        if (made == GB_EXACT_ALL) return;
        b->kernels->rest(x, n, &parts, levels, left);
        x = left;
    }
    for (int64_t i = 0; i < n; i++) add_number(&b->sum, x[i], b->job->negative);
}

static void sum_products(block *b, const double *x, const double *y, int64_t n) {
    double product[GB_EXACT_BLOCK], error[GB_EXACT_BLOCK];
    gb_exact_parts parts;
    switch (b->kernels->dot ? b->kernels->dot(x, y, n, &parts) : GB_EXACT_NOT) {
    case GB_EXACT_ALL: put_parts(b, &parts, 4); break;
    case GB_EXACT_REST:
        b->kernels->split(x, y, n, product, error);
        sum_floats(b, product, n, 0);
        sum_floats(b, error, n, 0);
        break;
    default:
        for (int64_t i = 0; i < n; i++) add_product(&b->sum, x[i], y[i], b->job->negative);
    }
}

/* Of signed integers the upper halves count 2^31 too much each, so that they are not negative. */
static void sum_integers(block *b, const uint64_t *x, int64_t n) {
    uint64_t high, low, turned = b->job->a.type == GB_U64 ? 0 : (uint64_t)1 << 63;
    uint64_t other[GB_EXACT_BLOCK];
    if (turned) {
        for (int64_t i = 0; i < n; i++) other[i] = x[i] ^ turned;
        x = other;
    }
    b->kernels->sum_integers(x, n, &high, &low);
    unsigned __int128 all = ((unsigned __int128)high << 32) + low,
                      excess = (unsigned __int128)turned * (uint64_t)n;
    int minus = all < excess;
    unsigned __int128 size = minus ? excess - all : all - excess;
    add_integer(&b->sum, (uint64_t)(size >> 64), (uint64_t)size, minus ^ b->job->negative);
}

static void multiply_integers(block *b, const uint64_t *x, const uint64_t *y, int64_t n) {
    int signed_x = b->job->a.type != GB_U64, signed_y = b->job->b.type != GB_U64;
    for (int64_t i = 0; i < n; i++) {
        int minus_x = signed_x && (int64_t)x[i] < 0, minus_y = signed_y && (int64_t)y[i] < 0;
        unsigned __int128 p =
            (unsigned __int128)(minus_x ? -x[i] : x[i]) * (minus_y ? -y[i] : y[i]);
        add_integer(&b->sum, (uint64_t)(p >> 64), (uint64_t)p,
                    minus_x ^ minus_y ^ b->job->negative);
    }
}

static void sum_block(block *b, const double *x, const double *y, int64_t n) {
    if (!b->job->integers) {
        if (y) sum_products(b, x, y, n);
        else sum_floats(b, x, n, b->job->a.type != GB_F64);
    } else if (y) multiply_integers(b, (const uint64_t *)x, (const uint64_t *)y, n);
    else sum_integers(b, (const uint64_t *)x, n);
}

static void flush(block *b) {
    if (b->n == 0) return;
    int64_t n = b->n,
            padded = b->job->integers ? n : (n + GB_EXACT_STEP - 1) / GB_EXACT_STEP * GB_EXACT_STEP;
    for (; n < padded; n++) b->x[n] = b->y[n] = 0;
    sum_block(b, b->x, b->job->b.data ? b->y : NULL, n);
    b->n = 0;
}

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
static void take_run(block *b, const char *x, const char *y, int64_t step_x, int64_t step_y,
                     int64_t n) {
    const gb_exact_job *job = b->job;
    int wide = !job->integers ? GB_F64 : job->a.type == GB_U64 ? GB_U64 : GB_I64;
    int in_place = job->a.type == wide && step_x == 8 && (uintptr_t)x % 8 == 0;
    if (y) in_place = in_place && job->b.type == wide && step_y == 8 && (uintptr_t)y % 8 == 0;
    while (n > 0) {
        int64_t m = GB_EXACT_BLOCK - b->n < n ? GB_EXACT_BLOCK - b->n : n;
        if (in_place && n >= GB_EXACT_BLOCK / 4) {
            m = (n < GB_EXACT_BLOCK ? n : GB_EXACT_BLOCK) / GB_EXACT_STEP * GB_EXACT_STEP;
            sum_block(b, (const double *)(const void *)x, (const double *)(const void *)y, m);
        } else {
            fetch(b->x + b->n, &job->a, x, step_x, m, job->integers);
            if (y) fetch(b->y + b->n, &job->b, y, step_y, m, job->integers);
            if ((b->n += m) == GB_EXACT_BLOCK) flush(b);
        }
        n -= m;
        x += m * step_x;
        if (y) y += m * step_y;
    }
}

static void take_pieces(block *b, int64_t begin, int64_t end) {
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
    flush(b);
}

/* Kernels of the instruction set that transfer/ chose for this processor; AVX2 needs FMA, too. */
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
    block b;
    memset(&b.sum, 0, sizeof b.sum);
    b.job = job, b.kernels = kernels_here(), b.n = 0;
    uint64_t before = set_plain();
    int64_t stop = end * PIECE < job->elements ? end * PIECE : job->elements;
    take_pieces(&b, first * PIECE, stop);
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
