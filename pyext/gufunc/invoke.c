/* invoke.c: a call that is read: its outputs allocated, run, and what came of it. */
#include "gufunc.h"

static int finish(gb_py_invocation *v, gb_gu_run *job) {
    if (job->no_memory)
        return PyErr_SetString(PyExc_MemoryError,
                               "no memory left for the scratch space of a worker"),
               -1;
    v->nfailed = job->nfailed;
    v->nselected = job->nselected;
    if (!job->nfailed) return 0;
    v->codes = gb_py_codes_array(&job->codes, job->call->outer_ndim, job->call->outer_shape,
                                 job->call->code_strides);
    return v->codes ? 0 : -1;
}

int gb_py_invoke(gb_py_invocation *v) {
    v->entry = gb_py_entry_for(v);
    if (!v->entry) return -1;
    const gb_gu_call *call = v->entry->call;
    char *data[GB_GU_MAXARGS + 1];
    for (int i = 0; i < v->nop + v->has_where; i++) {
        if (v->arg[i].absent && gb_py_output_allocate(v, i) < 0) return -1;
        data[i] = v->arg[i].data;
    }
    gb_error e;
    gb_gu_run here, *job = &here;
    int alone = call->nchunks <= 1 &&
                !(call->flags & GB_GU_MEASURED); /* nobody will help: the job needs no heap */
    if (alone ? gb_gu_run_init(job, call, data, v->uniforms, v->ignore_errors, &e) < 0
              : !(job = gb_gu_run_new(call, data, v->uniforms, v->ignore_errors, &e)))
        return gb_py_raise(&e);
    int rc = gb_py_run(job, alone ? 1 : v->workers > 0 ? v->workers : gb_work_thread_count());
    if (rc == 0) rc = finish(v, job);
    if (alone) gb_gu_run_clear(job);
    else gb_gu_run_drop(job);
    return rc;
}
