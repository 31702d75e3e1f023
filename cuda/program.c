/* program.c: a program of copies on a GPU. Its entries lie there as a table, uploaded once, and one
 * launch carries all of them out; entries that may add to the same places go in launches of their
 * own, one after the other, as they do on the host. */
#include "moves.h"
#include "blocks.h"

struct gb_cuda_program {
    const gb_program *program;
    int32_t device;
    gb_cuda_block *table; /* of gb_kernel_entry, wave by wave */
    int64_t n_waves;
    struct wave {
        int64_t entry, first;
    } *waves;       /* n_waves + 1: where each begins */
    int32_t *level; /* of each entry: its wave */
    int32_t *word;  /* of each slot: the table is valid for addresses that are multiples of it */
};

/* ---- which entries may run together ---- */

typedef struct span {
    int64_t low, end;
} span;

static span target_of(const gb_program_entry *e) {
    span s = {e->dst_at, e->dst_at + (e->kind == GB_PROGRAM_RUNS ? e->run : e->item)};
    for (int i = 0; i < e->n; i++) {
        int64_t extent = (e->axis[i].n - 1) * e->axis[i].dst;
        if (extent < 0) s.low += extent;
        else s.end += extent;
    }
    return s;
}

/* An entry that adds gets a later wave than earlier entries whose targets overlap its own. The
 * search is quadratic in the entries of a slot, which are few. */
static void find_levels(gb_cuda_program *p) {
    const gb_program_entry *entries = p->program->entries;
    int64_t n = p->program->n;
    p->n_waves = n > 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(entries[i].mode & GB_PROGRAM_ADD)) continue;
        span mine = target_of(&entries[i]);
        for (int64_t k = 0; k < i; k++) {
            if (entries[k].dst_slot != entries[i].dst_slot || p->level[k] < p->level[i]) continue;
            span its = target_of(&entries[k]);
            if (mine.low < its.end && its.low < mine.end) p->level[i] = p->level[k] + 1;
        }
        if (p->level[i] >= p->n_waves) p->n_waves = p->level[i] + 1;
    }
}

static int how_of(const gb_program_entry *e) {
    if (!(e->mode & GB_PROGRAM_ADD)) return GB_MOVE;
    switch (e->type) {
    case GB_BOOL: return GB_ADD_BOOL;
    case GB_I8:
    case GB_U8:
    case GB_I16:
    case GB_U16:
    case GB_I32:
    case GB_U32:
    case GB_I64:
    case GB_U64: return GB_ADD_INTEGER;
    case GB_F16: return GB_ADD_HALF;
    case GB_F32: return GB_ADD_FLOAT;
    case GB_F64: return GB_ADD_DOUBLE;
    }
    return -1;
}

int gb_cuda_program_new(gb_cuda_program **made, const gb_program *program, int device,
                        gb_cuda_error *e) {
    for (int64_t i = 0; i < program->n; i++)
        if (how_of(&program->entries[i]) < 0)
            return gb_cu_fail(e, GB_CUDA_ARGUMENT, "a GPU has no sums of long doubles");
    gb_cuda_program *p = calloc(1, sizeof *p);
    if (p) p->level = calloc((size_t)program->n + 1, sizeof *p->level);
    if (!p || !p->level) {
        free(p);
        return gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for a program of copies");
    }
    p->program = program;
    p->device = device;
    find_levels(p);
    *made = p;
    return 0;
}

void gb_cuda_program_free(gb_cuda_program *p) {
    if (!p) return;
    if (p->table) gb_cuda_release(p->table); /* the pool knows of launches in flight */
    free(p->waves);
    free(p->level);
    free(p->word);
    free(p);
}

/* ---- the table ---- */

/* The largest word that divides addresses, strides and lengths. */
static int word_of(const gb_program_entry *e, const uint64_t *bases) {
    uint64_t all = (uint64_t)e->dst_at | (uint64_t)e->src_at |
                   (uint64_t)(e->kind == GB_PROGRAM_RUNS ? e->run : e->item) | 16;
    all |= bases[e->dst_slot] | bases[e->src_slot];
    for (int i = 0; i < e->n; i++)
        if (e->axis[i].n > 1) all |= (uint64_t)e->axis[i].dst | (uint64_t)e->axis[i].src;
    int word = (int)(all & -all);
    return e->mode & GB_PROGRAM_ADD && word > e->item ? e->item : word;
}

static void push_axis(gb_kernel_entry *k, int64_t n, int64_t dst, int64_t src) {
    if (n == 1) return;
    k->shape[k->ndim] = (unsigned)n;
    k->dst_strides[k->ndim] = dst;
    k->src_strides[k->ndim++] = src;
}

/* Returns the entry's number of words, below 2^31, or -1. */
static int64_t write_entry(gb_kernel_entry *k, const gb_program_entry *e, int64_t first,
                           const uint64_t *bases) {
    int word = word_of(e, bases);
    if (e->mode & GB_PROGRAM_ADD && word < e->item) return -1;
    *k = (gb_kernel_entry){.first = first,
                           .dst_at = e->dst_at,
                           .src_at = e->src_at,
                           .dst_slot = e->dst_slot,
                           .src_slot = e->src_slot,
                           .word = word,
                           .how = how_of(e),
                           .negative = e->mode & GB_PROGRAM_SIGN,
                           .clear = e->mode & GB_PROGRAM_CLEAR};
    if (k->negative && k->how == GB_MOVE)
        for (int i = e->sign_byte; i < 16; i += e->sign_unit) ((unsigned char *)k->flip)[i] = 0x80;
    push_axis(k, (e->kind == GB_PROGRAM_RUNS ? e->run : e->item) / word, word, word);
    for (int i = e->n - 1; i >= 0; i--) push_axis(k, e->axis[i].n, e->axis[i].dst, e->axis[i].src);
    int64_t words = 1;
    for (int i = 0; i < k->ndim; i++)
        if (__builtin_mul_overflow(words, (int64_t)k->shape[i], &words)) return -1;
    return words > INT32_MAX ? -1 : words;
}

static int write_table(gb_cuda_program *p, gb_kernel_entry *table, const uint64_t *bases,
                       gb_cuda_error *e) {
    int64_t at = 0, first = 0;
    for (int64_t wave = 0; wave < p->n_waves; wave++) {
        p->waves[wave] = (struct wave){at, first};
        for (int64_t i = 0; i < p->program->n; i++) {
            if (p->level[i] != wave) continue;
            const gb_program_entry *entry = &p->program->entries[i];
            int64_t words = write_entry(&table[at], entry, first, bases);
            if (words < 0)
                return gb_cu_fail(e, GB_CUDA_ARGUMENT,
                                  "on a GPU elements that do not lie at multiples of their size "
                                  "cannot be added, nor 2^31 words be one entry");
            for (int side = 0; side < 2; side++) {
                int32_t *word = &p->word[side ? entry->src_slot : entry->dst_slot];
                if (table[at].word > *word) *word = table[at].word;
            }
            at++;
            first += words;
        }
    }
    p->waves[p->n_waves] = (struct wave){at, first};
    return 0;
}

/* Takes a block on the GPU and a pinned one; the caller fills the pinned one, sends it by `send`
 * and releases it. */
static int take(gb_cuda_block **there, gb_cuda_block **here, int64_t bytes, gb_cuda_queue on,
                gb_cuda_error *e) {
    gb_cuda_request request = {.kind = GB_CUDA_DEVICE,
                               .device = on.device,
                               .span = bytes,
                               .boundary = GB_CU_ALIGN,
                               .stream = on.stream};
    *here = NULL;
    if (gb_cuda_alloc(&request, there, e)) return -1;
    request.kind = GB_CUDA_PINNED;
    if (gb_cuda_alloc(&request, here, e) == 0) return 0;
    gb_cuda_release(*there);
    *there = NULL;
    return -1;
}

static int send(gb_cuda_block *there, gb_cuda_block *here, int64_t bytes, gb_cuda_queue on,
                gb_cuda_error *e) {
    int bad = gb_cuda_copy(GB_CUDA_UPLOAD, there->data, here->data, bytes, on, e) ||
              gb_cuda_record_use(here, on, e) || gb_cuda_record_use(there, on, e);
    return bad ? -1 : 0;
}

static int is_for(const gb_cuda_program *p, const uint64_t *bases, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (p->word[i] && bases[i] % (uint64_t)p->word[i]) return 0;
    return 1;
}

static int make_table(gb_cuda_program *p, const uint64_t *bases, int64_t n, gb_cuda_queue on,
                      gb_cuda_error *e) {
    gb_cuda_block *here = NULL;
    int64_t bytes = p->program->n * (int64_t)sizeof(gb_kernel_entry);
    if (p->table) gb_cuda_release(p->table);
    p->table = NULL;
    if (!p->waves) p->waves = calloc((size_t)p->n_waves + 1, sizeof *p->waves);
    free(p->word);
    p->word = calloc((size_t)n + 1, sizeof *p->word);
    if (!p->waves || !p->word)
        return gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for a program of copies");
    int bad = take(&p->table, &here, bytes, on, e) ||
              write_table(p, (gb_kernel_entry *)(uintptr_t)here->data, bases, e) ||
              send(p->table, here, bytes, on, e);
    if (here) gb_cuda_release(here);
    if (bad && p->table) {
        gb_cuda_release(p->table);
        p->table = NULL;
    }
    return bad ? -1 : 0;
}

/* ---- running ---- */

/* Uploads addresses that exceed the parameters of a launch. */
static int upload_bases(gb_cuda_block **there, const uint64_t *bases, int64_t n, gb_cuda_queue on,
                        gb_cuda_error *e) {
    gb_cuda_block *here = NULL;
    int64_t bytes = n * (int64_t)sizeof *bases;
    int bad = take(there, &here, bytes, on, e);
    if (!bad) memcpy((void *)(uintptr_t)here->data, bases, (size_t)bytes);
    bad = bad || send(*there, here, bytes, on, e);
    if (here) gb_cuda_release(here);
    return bad ? -1 : 0;
}

static int launch(gb_cu_device *d, gb_cuda_program *p, const uint64_t *bases, int64_t n,
                  gb_cuda_queue on, gb_cuda_error *e) {
    gb_kernel_program job = {.entries = 0};
    gb_cuda_block *far = NULL;
    int bad = n > GB_PROGRAM_SLOTS ? upload_bases(&far, bases, n, on, e) : 0;
    if (far) job.bases = far->data;
    else
        for (int64_t i = 0; i < n; i++) job.base[i] = bases[i];
    for (int64_t wave = 0; wave < p->n_waves && !bad; wave++) {
        const struct wave *w = &p->waves[wave];
        job.entries = p->table->data + (uint64_t)w->entry * sizeof(gb_kernel_entry);
        job.first = w->first;
        job.end = w[1].first;
        job.n = (int)(w[1].entry - w->entry);
        bad = gb_cu_launch_program(d, &job, on.stream, e);
    }
    if (far) {
        bad = gb_cuda_record_use(far, on, e) || bad;
        gb_cuda_release(far);
    }
    return bad ? -1 : 0;
}

int gb_cuda_program_run(gb_cuda_program *p, const uint64_t *bases, gb_cuda_block *const *blocks,
                        int64_t n, gb_cuda_queue on, gb_cuda_error *e) {
    if (p->program->n == 0) return 0;
    gb_cu_device *d = gb_cu_enter(p->device, e);
    if (!d) return -1;
    int bad = !p->table || !is_for(p, bases, n) ? make_table(p, bases, n, on, e)
                                                : gb_cuda_stream_wait_block(p->table, on, e);
    for (int64_t i = 0; i < n && !bad; i++)
        bad = blocks[i] ? gb_cuda_stream_wait_block(blocks[i], on, e) : 0;
    bad = bad || launch(d, p, bases, n, on, e) || gb_cuda_record_use(p->table, on, e);
    for (int64_t i = 0; i < n && !bad; i++)
        bad = blocks[i] ? gb_cuda_record_use(blocks[i], on, e) : 0;
    return gb_cu_left(bad ? -1 : 0);
}
