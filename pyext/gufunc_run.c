/* gufunc_run.c: running a resolved call. Small ones on the spot; larger ones without
 * the GIL, with helpers from Go once the first chunk has shown that they are worth
 * their start; signals are looked at every 50 ms. */
#include "gufunc.h"

#include <stdlib.h>
#include <string.h>

#define SPELL 50000000ll        /* ns between looks at signals */
#define FAN_OUT 100000ll        /* ns of work that must be left to wake other threads */
#define FEW 2048                /* items that are done before the GIL is given away and back */

/* A spell of work without the GIL. 1: there may be more, 0: no chunk left, -1 error. */
static int spell(gb_sweep *job, int64_t id, int64_t limit, int64_t deadline, gb_error *e) {
    if (job->call->form != GB_GO_LOOP) return gb_sweep_work(job, limit, deadline);
    int32_t more = 0;
    if (limit == 1) deadline = gb_now() + 1;
    return GB_ENTER_GO_DETACHED(e, gbridge_gufunc_work(id, job, deadline, &more, e)) < 0 ? -1 : more;
}

static int parallel(gb_sweep *job, int64_t id, int workers, gb_error *e) {
    const gb_call *call = job->call;
    if (workers < 2 || call->nchunks < 2 || gb_forked || call->flags & GB_ONE_WORKER) return 1;
    int64_t begin = gb_now();
    int more = spell(job, id, 1, 0, e);
    if (more == 1 && (gb_now() - begin) * (call->nchunks - 1) > FAN_OUT) {
        int64_t helpers = call->nchunks - 1 < workers - 1 ? call->nchunks - 1 : workers - 1;
        if (GB_ENTER_GO_DETACHED(e, gbridge_gufunc_help(id, job, (int32_t)helpers, e)) < 0) return -1;
    }
    return more;
}

static int interrupted(gb_sweep *job) {
    if (PyErr_CheckSignals() == 0) return 0;
    PyThreadState *thread = PyEval_SaveThread();
    gb_sweep_stop(job);
    while (gb_sweep_wait(job, 0)) {}
    PyEval_RestoreThread(thread);
    return -1;
}

int gb_run(gb_sweep *job, int64_t id, int workers) {
    const gb_call *call = job->call;
    gb_error e = {0};
    if (call->form == GB_GO_LOOP && gb_forked) return gb_refuse_go();
    if (call->flags & GB_EXCLUSIVE) {   /* it may set a Python error: this thread, and with the GIL */
        while (gb_sweep_work(job, INT64_MAX, gb_now() + SPELL))
            if (PyErr_Occurred() || PyErr_CheckSignals() < 0) break;
        return PyErr_Occurred() ? -1 : 0;
    }
    int64_t items = 1;
    for (int i = 0; i < call->nop; i++)
        if (call->op[i].core_items > items) items = call->op[i].core_items;
    if (call->n <= FEW / items && call->form == GB_NUMPY_LOOP) {
        gb_sweep_work(job, INT64_MAX, 0);
        return 0;
    }
    PyThreadState *thread = PyEval_SaveThread();
    int more = parallel(job, id, workers, &e);
    while (more == 1) {
        more = spell(job, id, INT64_MAX, gb_now() + SPELL, &e);
        if (more != 1) break;
        PyEval_RestoreThread(thread);
        if (interrupted(job) < 0) return -1;
        thread = PyEval_SaveThread();
    }
    while (more == 0 && gb_sweep_wait(job, gb_now() + SPELL)) {
        PyEval_RestoreThread(thread);
        if (interrupted(job) < 0) return -1;
        thread = PyEval_SaveThread();
    }
    if (more < 0) {
        gb_sweep_stop(job);
        while (gb_sweep_wait(job, 0)) {}
    }
    PyEval_RestoreThread(thread);
    return more < 0 ? gb_raise(&e) : 0;
}

static int refuse(const char *why) {
    if (strcmp(why, "memory") == 0)
        PyErr_SetString(PyExc_MemoryError, "no memory left to copy the inputs that the outputs overlap");
    else if (strcmp(why, "outputs") == 0)
        PyErr_SetString(PyExc_ValueError, "out: two outputs share memory; give each its own");
    else
        PyErr_SetString(PyExc_ValueError, "out: elements of an output share memory (a zero or sliding stride); give one with "
                                          "memory of its own for each");
    return -1;
}

static void free_codes(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, "gridbuf.codes")); }

/* The codes lie in loop order; seen through code_strides they have the outer shape. */
static PyObject *codes_array(gb_sweep *job) {
    const gb_call *call = job->call;
    PyObject *owner = PyCapsule_New(job->codes, "gridbuf.codes", free_codes);
    if (!owner) return NULL;
    uint8_t *codes = job->codes;
    job->codes = NULL;
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(NPY_UINT8), call->outer_ndim,
                                           (npy_intp *)call->outer_shape, (npy_intp *)call->code_strides, codes, 0, NULL);
    if (!array) Py_DECREF(owner);
    else if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) Py_CLEAR(array);
    return array;
}

static int finish(gb_invocation *v, gb_sweep *job) {
    if (job->no_memory) {
        PyErr_SetString(PyExc_MemoryError, "no memory left for the scratch space of a worker");
        return -1;
    }
    v->nfailed = job->nfailed;
    v->nselected = job->nselected;
    if (!job->nfailed) return 0;
    v->codes = codes_array(job);
    return v->codes ? 0 : -1;
}

int gb_invoke(gb_invocation *v) {
    v->entry = gb_entry_for(v);
    if (!v->entry) return -1;
    const gb_call *call = v->entry->call;
    char *data[GB_MAXARGS + 1];
    for (int i = 0; i < v->nop + v->has_where; i++) {
        if (v->arg[i].absent && gb_output_allocate(v, i) < 0) return -1;
        data[i] = v->arg[i].data;
    }
    const char *why = NULL;
    int rc;
    if (call->nchunks <= 1) {   /* nobody will help: the job needs no heap */
        gb_sweep job;
        if (gb_sweep_init(&job, call, data, v->uniforms, v->ignore_errors, &why) < 0) return refuse(why);
        rc = gb_run(&job, v->gufunc->info.id, 1);
        if (rc == 0) rc = finish(v, &job);
        gb_sweep_clear(&job);
        return rc;
    }
    int workers = v->workers > 0 ? v->workers : gb_threads();
    gb_sweep *job = gb_sweep_new(call, data, v->uniforms, v->ignore_errors, &why);
    if (!job) return refuse(why);
    rc = gb_run(job, v->gufunc->info.id, workers);
    if (rc == 0) rc = finish(v, job);
    gb_sweep_drop(job);
    return rc;
}
