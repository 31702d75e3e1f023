/* run.c: running a resolved call, with its outputs allocated.
 *
 * A call known to be short runs at once, with the GIL; any other without the GIL, with helper
 * threads once it has shown that they are worth their start, and with checks for signals between
 * pieces. Where pieces turn out to be long, helpers do all of them and this thread only waits, so
 * that it can handle signals at any time. Without helpers this thread goes on alone. */
#include "gufunc.h"

#include <limits.h>

/* ---- errors of loops on helper threads ----
 *
 * A loop takes the GIL itself where it raises; on a thread that Python does not know, the error
 * would vanish with the temporary thread state. So a helper of such loops is known to Python while
 * it works, without the GIL, and hands its error to the calling thread. No Go function calls
 * Python. */

static void *attach(void) {
    PyGILState_Ensure();
    return PyEval_SaveThread();
}

static void detach(gb_gu_run *job, void *thread) {
    PyEval_RestoreThread(thread);
    if (PyErr_Occurred()) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        Py_XDECREF(type);
        Py_XDECREF(trace);
        PyObject *none = NULL; /* the first one stays */
        if (!__atomic_compare_exchange_n((PyObject **)&job->error, &none, value, 0,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            Py_XDECREF(value);
        gb_gu_run_stop(job);
    }
    PyGILState_Release(PyGILState_UNLOCKED);
}

__attribute__((constructor)) static void ready(void) {
    gb_gu_attach = attach;
    gb_gu_detach = detach;
}

/* ---- running ---- */

#define BRIEF 10000ll    /* ns; a call that took less may keep the GIL when it comes again */
#define SLICE 20000000ll /* ns between checks for signals */
enum {
    FEW = 2048,   /* items of a call that may keep the GIL */
    FEWEST = 256, /* the same for elements that cannot take long, without a clock */
    TRUSTED = 16, /* brief runs after which elements that can take long are expected to be brief */
};

typedef struct run {
    gb_gu_run *job;
    int workers;
    int shared, handed_over; /* helpers are awake; helpers do all of the rest */
} run;

/* Wake helpers if the rest is worth it. A long rest is handed over whole to a sleeping helper or a
 * new one: other helpers may be busy for long. */
static void share(run *r) {
    if (!r->shared) r->shared = gb_gu_run_share(r->job, r->workers) > 0;
    if (!r->handed_over && r->job->longest > GB_GU_LONG_SLICE && gb_gu_run_left(r->job) > 0)
        r->handed_over = gb_gu_run_lend(r->job, 1, INT_MAX) > 0;
}

static void stop_and_wait(gb_gu_run *job) {
    gb_gu_run_stop(job);
    while (gb_gu_run_wait(job, 0)) {}
}

/* A kernel in Go, in a forked child. */
static int refuse_go_kernel(void) {
    gb_error e;
    return gb_py_go_load(&e) < 0 ? gb_py_raise(&e) : 0;
}

/* Check for signals, with the GIL. A handler may fork: the child has no helpers, and their pieces
 * are never finished. 0: go on; -1: an error is set, and no thread works on the job. */
static int look(run *r, int *more) {
    int before = gb_forked,
        rc = PyErr_Occurred() ? -1 : PyErr_CheckSignals(); /* an error may be the loop's */
    if (before == gb_forked) {
        if (rc == 0) return 0;
        PyThreadState *thread = PyEval_SaveThread();
        stop_and_wait(r->job);
        PyEval_RestoreThread(thread);
        return -1;
    }
    r->shared = r->handed_over = 0;
    *more = 1;
    if (rc < 0) return -1;
    if (r->job->call->form == GB_GU_GO_LOOP) return refuse_go_kernel();
    if (gb_gu_run_alone(r->job) == 0) return 0;
    return gb_py_fail(
        PyExc_RuntimeError,
        "gridbuf: this process was forked while threads of its parent worked on this call, "
        "and its inputs "
        "are partly written over; call it again in the parent, or fork when it is done");
}

/* Run without the GIL, but for checks of signals. */
static int detached(run *r, int64_t now) {
    PyThreadState *thread = PyEval_SaveThread();
    int64_t looked = now;
    int more = 1, rc = 0;
    while (rc == 0) {
        if (more && !r->handed_over)
            more = gb_gu_run_work(r->job, now,
                                  now + (r->shared || r->workers < 2 ? SLICE : GB_GU_GLANCE));
        else if (gb_gu_run_wait(r->job, now + SLICE) == 0) break;
        if (more) share(r);
        now = gb_nanoseconds();
        if (now - looked < GB_GU_LONG_SLICE) continue;
        PyEval_RestoreThread(thread);
        rc = look(r, &more);
        thread = PyEval_SaveThread();
        now = looked = gb_nanoseconds();
    }
    PyEval_RestoreThread(thread);
    return rc;
}

/* The loop may need the GIL: this thread, and with it, but others get it in between. */
static int exclusive(gb_gu_run *job) {
    for (int more = 1; more;) {
        int64_t now = gb_nanoseconds();
        more = gb_gu_run_work(job, now, now + GB_GU_LONG_SLICE);
        if (PyErr_Occurred() || PyErr_CheckSignals() < 0) return -1;
        if (more) {
            Py_BEGIN_ALLOW_THREADS
            Py_END_ALLOW_THREADS
        }
    }
    return 0;
}

/* Whether a call may keep the GIL (2: without reading the clock). Releasing it costs little alone,
 * and up to 5 ms among busy threads. */
static int brief(const gb_gu_run *job) {
    const gb_gu_call *call = job->call;
    if (call->form == GB_GU_GO_LOOP) return 0;
    int64_t items = 1;
    for (int i = 0; i < call->nop; i++) {
        int64_t weight =
            call->op[i].to == GB_LONGDOUBLE || call->op[i].to == GB_CLONGDOUBLE ? 8 : 1;
        if (call->op[i].core_items * weight > items) items = call->op[i].core_items * weight;
    }
    if (call->n > FEW / items) return 0;
    if (!job->measured && call->form == GB_GU_NUMPY_LOOP && call->n <= FEWEST / items) return 2;
    return __atomic_load_n(&call->brief, __ATOMIC_RELAXED) >= (job->measured ? TRUSTED : 1);
}

/* Raise the error of a loop, from this thread or a helper's. */
static int raised(gb_gu_run *job, int rc) {
    GB_PY_OWNED PyObject *error = job->error;
    job->error = NULL;
    if (error && rc == 0 && !PyErr_Occurred()) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    return rc < 0 || (job->call->flags & GB_GU_RAISES && PyErr_Occurred()) ? -1 : 0;
}

int gb_py_run(gb_gu_run *job, int workers) {
    const gb_gu_call *call = job->call;
    if (call->form == GB_GU_GO_LOOP && gb_py_go_lost()) return refuse_go_kernel();
    if (call->flags & GB_GU_EXCLUSIVE) return exclusive(job);
    int held = brief(job);
    if (held == 2) { /* too short to read the clock */
        gb_gu_run_work(job, 0, 0);
        return raised(job, 0);
    }
    int64_t began = gb_nanoseconds();
    run r = {.job = job, .workers = workers};
    int rc = held && !gb_gu_run_work(job, began, job->measured ? began + GB_GU_GLANCE : 0)
                 ? 0
                 : detached(&r, began);
    int64_t before = __atomic_load_n(&call->brief, __ATOMIC_RELAXED);
    __atomic_store_n((int64_t *)&call->brief, job->ended - began < BRIEF ? before + 1 : 0,
                     __ATOMIC_RELAXED);
    return raised(job, rc);
}

/* ---- a whole call ---- */

static int finish(gb_py_invocation *v, gb_gu_run *job) {
    if (job->no_memory)
        return gb_py_fail(PyExc_MemoryError, "no memory left for the scratch space of a worker");
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
    int alone =
        call->nchunks <= 1 &&
        !(call->flags & GB_GU_MEASURED); /* no helper will join: the job may be on the stack */
    if (alone ? gb_gu_run_init(job, call, data, v->uniforms, v->ignore_errors, &e) < 0
              : !(job = gb_gu_run_new(call, data, v->uniforms, v->ignore_errors, &e)))
        return gb_py_raise(&e);
    int workers = v->workers > 0 ? v->workers : gb_work_thread_count();
    int rc = gb_py_run(job, alone ? 1 : workers);
    if (rc == 0) rc = finish(v, job);
    if (alone) gb_gu_run_clear(job);
    else gb_gu_run_drop(job);
    return rc;
}
