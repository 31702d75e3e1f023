/* program_run.c: carrying out a range of entries. */
#include "job.h"
#include "program.h"

static gb_program_loop loop_of(const gb_program_entry *e) {
    switch (e->kind) {
    case GB_PROGRAM_RUNS:
        return e->mode & GB_PROGRAM_SIGN ? gb_program_runs_signed : gb_program_runs;
    case GB_PROGRAM_TRANSPOSE: return gb_program_transpose;
    case GB_PROGRAM_SUMS: return gb_program_sums(e->type);
    default: return gb_program_elements;
    }
}

/* The loop, at every index of the axes before the last two; then once more to clear what was read.
 */
static void carry_out(const gb_program_entry *e, char *dst, char *src) {
    gb_program_loop loop = loop_of(e);
    for (int clears = 0; clears <= !!(e->mode & GB_PROGRAM_CLEAR); clears++) {
        int64_t index[GB_PROGRAM_AXES] = {0};
        uint64_t to = (uintptr_t)dst, from = (uintptr_t)src;
        do {
            if (clears) gb_program_clear(e, (char *)(uintptr_t)from);
            else loop(e, (char *)(uintptr_t)to, (const char *)(uintptr_t)from);
        } while (gb_copy_axis_step(e->axis, e->n - 2, index, &to, &from));
    }
}

void gb_program_entries_run(const gb_program *program, char *const *bases, int64_t first,
                            int64_t end) {
    for (int64_t i = first; i < end; i++) {
        const gb_program_entry *e = &program->entries[i];
        carry_out(e, bases[e->dst_slot] + e->dst_at, bases[e->src_slot] + e->src_at);
    }
}

/* As of a copy (copy.c): dense runs go at the speed of the caches. */
static int threads_of(const gb_program *program) {
    int64_t enough = 2 * program->dense > program->bytes ? 4 << 20 : 1 << 20;
    return program->ordered ? 1 : gb_work_threads(program->bytes, enough);
}

static void run_entries(void *of, int64_t first, int64_t end) {
    const gb_program_run *run = of;
    gb_program_entries_run(run->program, run->bases, first, end);
}

gb_work gb_program_work(gb_program_run *run) {
    const gb_program *program = run->program;
    return (gb_work){.run = run_entries,
                     .of = run,
                     .pieces = program->n,
                     .batch = gb_work_batch(program->bytes, program->n, 256 << 10),
                     .threads = threads_of(program)};
}
