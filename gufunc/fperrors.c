/* fperrors.c: which elements of a block failed. A block whose kernel raised a flag is
 * run again one element at a time; where that raises nothing, the flag came from a
 * vector lane that nobody asked for. */
#include "call.h"
#include "cast.h"
#include "fpstate.h"

uint8_t *gb_gu_codes(uint8_t **at, int64_t n, int32_t *no_memory) {
    uint8_t *codes = __atomic_load_n(at, __ATOMIC_ACQUIRE), *fresh;
    if (codes) return codes;
    if (!(fresh = calloc((size_t)n, 1)))
        return __atomic_store_n(no_memory, 1, __ATOMIC_RELAXED), NULL;
    if (__atomic_compare_exchange_n(at, &codes, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    free(fresh);
    return codes;
}

void gb_gu_record(gb_gu_block *b, int64_t k, uint8_t code) {
    uint8_t *codes = gb_gu_codes(&b->job->codes, b->job->call->n, &b->job->no_memory);
    if (!codes) return;
    uint8_t *c = &codes[b->at + (b->mode == GB_GU_PICKED ? b->picked[k] : k)];
    if (!*c) __atomic_fetch_add(&b->job->nfailed, 1, __ATOMIC_RELAXED);
    *c |= code;
}

int gb_gu_raised(const gb_gu_call *call) { return gb_gu_fp_flags() & call->fp_mask; }

/* Convert one element of the inputs again: its flags belong to the element. */
static void cast_again(gb_gu_block *b, const gb_gu_cursor *walk, int64_t k) {
    const gb_gu_call *call = b->job->call;
    for (int i = 0; i < call->nin; i++)
        if (b->job->staged >> i & 1 && call->op[i].from != call->op[i].to)
            gb_gu_stage_in(b, i, walk->ptr[i], k, 1, 1);
}

/* Convert one element of the results again. */
static void cast_back(gb_gu_block *b, const gb_gu_cursor *walk, int64_t k) {
    const gb_gu_call *call = b->job->call;
    for (int i = call->nin; i < call->nop; i++)
        if (b->job->staged >> i & 1) gb_gu_stage_out(b, i, walk->ptr[i], k, 1, 1);
}

static void run_one(gb_gu_block *b, int64_t k, uint8_t *status) {
    const gb_gu_call *call = b->job->call;
    char *args[GB_GU_MAXARGS];
    for (int i = 0; i < call->nop; i++) args[i] = b->args[i] + k * b->steps[i];
    b->dims[0] = 1;
    if (call->form == GB_GU_NUMPY_LOOP)
        ((gb_gu_numpy_loop)call->function)(args, b->dims, b->steps, b->job->loop_data);
    else ((gb_gu_status_loop)call->function)(args, b->dims, b->steps, b->job->loop_data, status);
}

/* Element by element: the kernel once more, or the conversion of its results alone. */
static void run_each(gb_gu_block *b, int outputs) {
    const gb_gu_call *call = b->job->call;
    gb_gu_cursor walk = b->here;
    int64_t k = 0;
    for (int64_t e = 0; e < b->len; e++) {
        if (b->mode == GB_GU_ALL || b->select[e]) {
            int64_t at = b->mode == GB_GU_PICKED ? k : e;
            uint8_t status = 0;
            gb_gu_fp_clear();
            if (outputs) cast_back(b, &walk, at);
            else if (b->cast_flags) cast_again(b, &walk, at);
            if (!outputs) run_one(b, at, &status);
            int code = gb_gu_raised(call) | (status ? GB_GU_STATUS : 0);
            if (code) gb_gu_record(b, at, (uint8_t)code);
            k++;
        }
        if (e + 1 < b->len && (outputs || b->cast_flags)) gb_gu_cursor_advance(call, &walk, 1);
    }
    b->dims[0] = b->n;
}

void gb_gu_check_fp_errors(gb_gu_block *b) {
    gb_gu_run *job = b->job;
    const gb_gu_call *call = job->call;
    if (!job->ignore_errors) {
        if (call->form != GB_GU_GO_LOOP && gb_gu_raised(call)) {
            run_each(b, 0);
        } else {
            for (int64_t k = 0; b->nfailed && k < b->n; k++)
                if (b->status[k] && (b->mode != GB_GU_BLENDED || b->select[k]))
                    gb_gu_record(b, k,
                                 b->status[k] == GB_GU_PANICKED && call->form == GB_GU_GO_LOOP
                                     ? GB_GU_PANICKED
                                     : GB_GU_STATUS);
        }
    }
    gb_gu_fp_clear();
}

/* Converting results back to memory raised a flag: convert them one by one. */
void gb_gu_check_outputs(gb_gu_block *b) {
    if (!b->job->ignore_errors) run_each(b, 1);
    gb_gu_fp_clear();
}
