/* copy.c: copies and fills as a whole: views checked, overlap resolved, and the serial run. */
#include "axes.h"
#include "kernels.h"

static int cast_between(int to, int from, int64_t to_size, int64_t from_size,
                        gb_copy_cast_fn *cast) {
    *cast = NULL;
    if (to < 0 || to >= GB_TYPES || from < 0 || from >= GB_TYPES) return GB_COPY_NO_CAST;
    if ((to && gb_type_size(to) != to_size) || (from && gb_type_size(from) != from_size))
        return GB_COPY_BAD_VIEW;
    if (to == from) return to_size == from_size ? GB_COPY_OK : GB_COPY_NO_CAST;
    *cast = gb_copy_kernels_here->cast[to][from];
    return *cast ? GB_COPY_OK : GB_COPY_NO_CAST;
}

static void nothing(gb_copy *copy) {
    copy->jobs = 0;
    copy->temporary = NULL;
}

static void run_tiles(void *job, int64_t first, int64_t end) { gb_copy_job_run(job, first, end); }

/* How many threads a job is worth: dense moves and fills run at the speed of the caches, the others
 * at half of it. */
static int threads_for(const gb_copy_job *job) {
    int64_t enough = job->kind == GB_COPY_MOVE || job->kind == GB_COPY_FILL ? 8 << 20 : 2 << 20;
    return job->ordered ? 1 : gb_work_threads(job->bytes, enough);
}

/* The next job. */
static void add_job(gb_copy *copy, gb_copy_axes *axes, gb_copy_cast_fn cast, int64_t dst_item,
                    int shift) {
    gb_copy_job *job = &copy->job[copy->jobs];
    gb_copy_job_plan(job, axes, cast, dst_item, shift);
    copy->work[copy->jobs++] = (gb_work){.run = run_tiles,
                                         .of = job,
                                         .pieces = job->tiles,
                                         .batch = gb_work_batch(job->bytes, job->tiles, 512 << 10),
                                         .threads = threads_for(job)};
}

/* Through a dense temporary of the source's type, its axes in the target's order. */
static int through_temporary(gb_copy *copy, const gb_copy_view *dst, gb_copy_axes *axes,
                             gb_copy_cast_fn cast) {
    gb_copy_axes in = *axes, out = *axes;
    int64_t bytes = axes->item;
    for (int i = axes->n - 1; i >= 0; i--) {
        in.axis[i].dst = out.axis[i].src = bytes;
        bytes *= axes->axis[i].n;
    }
    copy->temporary = malloc((size_t)bytes);
    if (!copy->temporary) return GB_COPY_NO_MEMORY;
    in.dst = copy->temporary;
    out.src = copy->temporary;
    add_job(copy, &in, NULL, axes->item, 0);
    add_job(copy, &out, cast, dst->itemsize, 0);
    return GB_COPY_OK;
}

int gb_copy_plan(gb_copy *copy, const gb_copy_view *dst, const gb_copy_view *src) {
    gb_copy_axes axes;
    gb_copy_cast_fn cast;
    nothing(copy);
    int rc = cast_between(dst->type, src->type, dst->itemsize, src->itemsize, &cast);
    if (rc == GB_COPY_OK) rc = gb_copy_axes_of(&axes, dst, src);
    if (rc != GB_COPY_OK || axes.elements == 0) return rc;
    int overlap = gb_copy_overlap(&axes, dst, src);
    if (overlap == GB_COPY_SAME) return GB_COPY_OK;
    if (overlap == GB_COPY_TANGLED) return through_temporary(copy, dst, &axes, cast);
    add_job(copy, &axes, cast, dst->itemsize, overlap == GB_COPY_SHIFT);
    return GB_COPY_OK;
}

int gb_copy_plan_fill(gb_copy *copy, const gb_copy_view *dst, const void *value, int type,
                      int64_t itemsize) {
    static const int64_t still[GB_COPY_DIMS];
    gb_copy_view src = {(char *)(uintptr_t)value, itemsize, type, dst->ndim, dst->shape, still};
    gb_copy_axes axes;
    gb_copy_cast_fn cast;
    nothing(copy);
    int rc = cast_between(dst->type, type, dst->itemsize, itemsize, &cast);
    if (rc == GB_COPY_OK) rc = gb_copy_axes_of(&axes, dst, &src);
    if (rc != GB_COPY_OK || axes.elements == 0) return rc;
    /* The value may lie in dst, and is not kept by the caller. */
    if (!(copy->temporary = malloc((size_t)itemsize))) return GB_COPY_NO_MEMORY;
    memcpy(copy->temporary, value, (size_t)itemsize);
    axes.src += (char *)copy->temporary - (const char *)value;
    add_job(copy, &axes, cast, dst->itemsize, 0);
    return GB_COPY_OK;
}

void gb_copy_done(gb_copy *copy) {
    free(copy->temporary);
    nothing(copy);
}

int gb_copy_serial(const gb_copy_view *dst, const gb_copy_view *src) {
    gb_copy copy;
    int rc = gb_copy_plan(&copy, dst, src);
    for (int i = 0; i < copy.jobs; i++) gb_copy_job_run(&copy.job[i], 0, copy.job[i].tiles);
    gb_copy_done(&copy);
    return rc;
}
