/* reduce.c: g.reduce: arguments read, the plan looked up, tasks run, results made. */
#include "gufunc.h"
#include "../core/memory.h"
#include "../core/upcall.h"
#include "../../gufunc/cast.h"

/* Keep dims, origin and halo of the axes that a reduction leaves. */
static int keep_meta(const gb_py_reduce_args *q, uint32_t went, gb_py_field *f,
                     const gb_py_field *from) {
    if (gb_py_field_room(f, from->origin != NULL, from->halo != NULL) < 0) return -1;
    for (int a = 0, d = 0; a < from->geometry.ndim; a++) {
        int gone = went >> a & 1;
        if (gone && !q->keepdims) continue;
        f->geometry.dims[d] = from->geometry.dims[a];
        if (f->origin) f->origin[d] = gone ? 0 : from->origin[a];
        for (int side = 0; f->halo && side < 2; side++)
            f->halo[2 * d + side] = gone ? 0 : from->halo[2 * a + side];
        d++;
    }
    f->dims_given = 1;
    return 0;
}

static PyObject *field(const gb_py_reduce_args *q, uint32_t went, const gb_geometry *g,
                       gb_py_dtype *dtype, void *data) {
    gb_py_field *f = gb_py_field_on_block(g, dtype, data);
    if (!f) return NULL;
    if (keep_meta(q, went, f, (gb_py_field *)q->array) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

static PyObject *result_of(const gb_py_reduce_args *q, const gb_gu_reduction *r, int i,
                           void *data) {
    if (!r->plan[i]) { /* the one number in data */
        GB_PY_OWNED PyArray_Descr *descr = PyArray_DescrFromType(gb_py_npy_type(r->out[i].from));
        return descr ? PyArray_Scalar(data, descr, NULL) : NULL;
    }
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of_type(r->out[i].from);
    PyObject *result = NULL;
    if (!dtype) gb_heap_release(data);
    else if (gb_py_is_field(q->array))
        result = field(q, r->gone, &r->plan[i]->geometry, dtype, data);
    else result = gb_py_array_over(&r->plan[i]->geometry, dtype, data, 1, NULL);
    return result;
}

/* ---- failures ---- */

/* Takes result. */
static PyObject *with_failures(gb_py_reduce_args *q, const gb_gu_reduction *r, PyObject *result,
                               gb_gu_reducing *run) {
    int64_t failed = gb_gu_reduce_failed(run);
    if (!failed && q->errors != GB_PY_RETURN) return result;
    GB_PY_OWNED PyObject *codes = failed ? gb_py_codes_array(&run->codes, r->out_ndim, r->out_shape,
                                                             r->code_strides)
                                         : Py_NewRef(Py_None),
                         *shape = gb_py_ints_tuple(r->out_shape, r->out_ndim);
    PyObject *outcome =
        codes && shape ? gb_py_upcall_to(GB_PY_UP_GUFUNC_CONCLUDE, "(OOOLLsO)",
                                         (PyObject *)q->gufunc, result, codes, (long long)failed,
                                         (long long)r->kept_n, gb_py_errors_words[q->errors], shape)
                       : NULL;
    Py_DECREF(result);
    return outcome;
}

/* ---- running ---- */

#define FEW 8192 /* elements that NumPy's own loops fold before the GIL is worth giving away */
#define SLICE 50000000ll /* ns between looks at signals */

/* Signals, looked at from inside a task. The exception is kept until the run is over. */
typedef struct poller {
    int64_t last;
    PyObject *type, *value, *trace;
} poller;

static int poll(void *with) {
    poller *p = with;
    int64_t now = gb_nanoseconds();
    if (now - p->last < SLICE) return 0;
    p->last = now;
    PyGILState_STATE state = PyGILState_Ensure();
    int stop = PyErr_Occurred() != NULL;
    if (!stop && PyErr_CheckSignals() < 0) {
        PyErr_Fetch(&p->type, &p->value, &p->trace);
        stop = 1;
    }
    PyGILState_Release(state);
    return stop;
}

static int run_tasks(gb_py_reduce_args *q, gb_gu_reducing *run) {
    const gb_gu_reduction *r = run->r;
    if (r->kept_n == 0) return 0;
    int64_t few = 0;
    if (r->flags & GB_GU_R_STATE) few = FEW / 4;
    if (r->flags & GB_GU_R_IN_PLACE) few = FEW;
    if (r->tiles * r->blocks == 1 && r->kept_n <= few && r->fold_n <= few / r->kept_n) {
        gb_gu_reduce_here(run);
        return PyErr_Occurred() ? -1 : 0;
    }
    poller signals = {.last = gb_nanoseconds()};
    run->poll = poll;
    run->with = &signals;
    gb_error e;
    char *counter[2] = {NULL, NULL};
    gb_gu_run *job = gb_gu_run_new(r->call, counter, run, 1, &e);
    if (!job) return gb_py_raise(&e);
    run->job = job;
    int rc = gb_py_run(job, q->workers > 0 ? q->workers : gb_work_thread_count());
    if (job->no_memory) run->no_memory = 1;
    gb_gu_run_drop(job);
    if (signals.type) {
        PyErr_Clear();
        PyErr_Restore(signals.type, signals.value, signals.trace);
        rc = -1;
    }
    return rc;
}

static int run_all(gb_py_reduce_args *q, gb_gu_reducing *run) {
    if (gb_gu_reduce_begin(run) < 0) return gb_py_no_memory();
    int rc = run_tasks(q, run);
    if (rc < 0) run->stopped = 1;
    gb_gu_reduce_end(run);
    if (rc == 0 && run->no_memory) return gb_py_no_memory();
    return rc < 0 || PyErr_Occurred() ? -1 : 0;
}

/* ---- starts ---- */

/* The first value of every output; -1 with an error. */
static int start(const gb_py_reduce_args *q, gb_gu_reducing *run) {
    const gb_py_folding *c = &q->choice;
    if (c->has_identity) memcpy(run->identity, c->identity, sizeof run->identity);
    run->has_start = c->has_identity && !q->initial;
    if (run->has_start) memcpy(run->start, c->identity, sizeof run->start);
    if (!q->initial || q->initial == Py_None) return 0;
    run->has_start = 1;
    if (gb_py_put_number(run->start, c->type, q->initial)) return 0;
    GB_PY_OWNED PyObject *bytes =
        gb_py_upcall_to(GB_PY_UP_REDUCE_START, "(Oi)", q->initial, c->type);
    char *value;
    Py_ssize_t n;
    int rc =
        bytes && PyBytes_AsStringAndSize(bytes, &value, &n) == 0 && n <= GB_GU_MAX_ITEM ? 0 : -1;
    if (rc == 0) memcpy(run->start, value, (size_t)n);
    return rc;
}

/* Refuse an empty reduction without a start value. */
static int check_start(const gb_py_reduce_args *q, const gb_gu_reducing *run) {
    const gb_gu_reduction *r = run->r;
    if (run->has_start || r->flags & GB_GU_R_STATE) return 0;
    if (q->where)
        return gb_py_fail(PyExc_ValueError,
                          "where: the reduction has no identity; give initial= as well");
    if (r->fold_n) return 0;
    return gb_py_fail(PyExc_ValueError,
                      "array: nothing to reduce, and the reduction has no identity; give initial=");
}

/* ---- overlaps ---- */

static int shares(const gb_py_arg *a, const gb_py_arg *b) {
    return gb_gu_views_overlap(a->data, a->shape, a->strides, a->ndim, gb_type_size(a->type),
                               b->data, b->shape, b->strides, b->ndim, gb_type_size(b->type));
}

static int replace(PyObject **operand, gb_py_arg *v) {
    GB_PY_OWNED PyObject *array =
        gb_py_is_field(*operand) ? gb_py_field_numpy(*operand, NULL) : Py_NewRef(*operand);
    PyObject *copy = array ? PyArray_NewCopy((PyArrayObject *)array, NPY_KEEPORDER) : NULL;
    if (!copy) return -1;
    const gb_py_field *named = v->field;
    gb_py_arg_look(v, copy);
    v->field = named; /* and its names */
    Py_DECREF(*operand);
    *operand = copy;
    return 0;
}

/* "As if the inputs had been copied first": copies of those that a result overlaps. */
static int protect(gb_py_reduce_args *q, PyObject **array, PyObject **where) {
    for (int i = 0; i < q->gufunc->info.nout; i++) {
        gb_py_arg *o = &q->result[i];
        if (o->absent) continue;
        int twice = gb_gu_self_overlap(o->shape, o->strides, o->ndim, gb_type_size(o->type));
        for (int j = 0; j < i; j++) twice |= !q->result[j].absent && shares(o, &q->result[j]);
        if (twice)
            return gb_py_fail(PyExc_ValueError,
                              "out: elements of the results share memory; give each its own");
        if (shares(o, &q->view) && replace(array, &q->view) < 0) return -1;
        if (q->where && shares(o, &q->mask) && replace(where, &q->mask) < 0) return -1;
    }
    return 0;
}

/* ---- the method ---- */

static PyObject *finish(gb_py_reduce_args *q, gb_gu_reducing *run, void **data) {
    const gb_gu_reduction *r = run->r;
    PyObject *results[GB_GU_MAXARGS], *result = NULL;
    int ok = 1;
    for (int i = 0; i < r->nout; i++) {
        if (q->given[i]) results[i] = Py_NewRef(q->given[i]);
        else {
            results[i] = result_of(q, r, i, data[i]);
            data[i] = NULL;
        }
        ok = ok && results[i];
    }
    if (r->nout == 1) return ok ? with_failures(q, r, results[0], run) : NULL;
    if (ok) result = gb_py_tuple_of(results, r->nout);
    for (int i = 0; i < r->nout; i++) Py_XDECREF(results[i]);
    return result ? with_failures(q, r, result, run) : NULL;
}

static PyObject *run(gb_py_reduce_args *q, const gb_gu_reduction *r, gb_gu_reducing *run) {
    void *data[GB_GU_MAXARGS];
    _Alignas(32) char cells[GB_GU_MAXARGS][GB_GU_MAX_ITEM];
    PyObject *result = NULL;
    int ok = 1;
    run->r = r;
    run->in = q->view.data + r->in_offset;
    run->where = q->where ? q->mask.data + r->where_offset : NULL;
    run->ignore_errors = q->errors == GB_PY_IGNORE;
    run->poll = NULL;
    if (check_start(q, run) < 0) return NULL;
    for (int i = 0; i < r->nout; i++) data[i] = NULL;
    for (int i = 0; ok && i < r->nout; i++) {
        if (!q->result[i].absent) run->out[i] = q->result[i].data;
        else if (!r->plan[i]) data[i] = run->out[i] = cells[i];
        else if ((ok = gb_py_plan_allocate(r->plan[i], 0, &data[i]) == 0)) run->out[i] = data[i];
    }
    if (ok && run_all(q, run) == 0) result = finish(q, run, data);
    for (int i = 0; i < r->nout; i++)
        if (data[i] && r->plan[i]) gb_heap_release(data[i]);
    free(run->codes);
    return result;
}

static uint8_t type_of(PyObject *obj) {
    return gb_py_type_of_descr(PyArray_CheckExact(obj) ? PyArray_DESCR((PyArrayObject *)obj)
                                                       : ((gb_py_field *)obj)->dtype->descr);
}

static PyObject *reduce(gb_py_reduce_args *q) {
    gb_gu_reducing work;
    uint8_t type = type_of(q->array),
            out = q->out[0] && q->gufunc->info.nout == 1 ? type_of(q->out[0]) : 0;
    if (!type || type >= GB_DATETIME)
        return PyErr_Format(PyExc_TypeError, "array: no kernel folds elements of its type");
    if (gb_py_choose_folding(q, type, out) < 0 || start(q, &work) < 0 || gb_py_read_views(q) < 0)
        return NULL;
    GB_PY_OWNED PyObject *array = Py_NewRef(q->array), *where = Py_XNewRef(q->where);
    PyObject *result = NULL;
    if (protect(q, &array, &where) == 0) {
        gb_py_entry *p = gb_py_planned_for(q);
        work.codes = NULL;
        if (p) {
            result = run(q, p->reduction, &work);
            gb_py_entry_drop(p);
        }
    }
    return result;
}

PyObject *gb_py_gufunc_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames) {
    gb_py_reduce_args q;
    q.gufunc = (gb_py_gufunc_object *)self;
    q.array = q.where = q.initial = NULL;
    for (int i = 0; i < q.gufunc->info.nout; i++) q.out[i] = q.given[i] = NULL;
    q.dtype = 0;
    q.keepdims = q.ordered = q.workers = q.errors = 0;
    q.by_name = 0;
    PyObject *result = gb_py_read_reduce_args(&q, args, nargs, kwnames) == 0 ? reduce(&q) : NULL;
    gb_py_reduce_args_clear(&q);
    return result;
}

/* _add_state(step, merge, final, init, types, any order) -> number */
PyObject *gb_py_gufunc_add_state(PyObject *self, PyObject *args) {
    unsigned long long step, merge, final;
    PyObject *init_bytes, *type_bytes;
    const char *init, *types;
    Py_ssize_t size, n;
    int any_order;
    if (!PyArg_ParseTuple(args, "KKKOOp:_add_state", &step, &merge, &final, &init_bytes,
                          &type_bytes, &any_order))
        return NULL;
    if (gb_py_bytes(init_bytes, "init", &init, &size) < 0 ||
        gb_py_bytes(type_bytes, "types", &types, &n) < 0)
        return NULL;
    gb_gu_state_kernel k = {.init = init, .size = size};
    *(void **)&k.step = (void *)(uintptr_t)step;
    *(void **)&k.merge = (void *)(uintptr_t)merge;
    *(void **)&k.final = (void *)(uintptr_t) final;
    int32_t number = 0;
    gb_error e;
    if (GB_PY_ENTER_GO(&e, gb_py_go->gufunc_add_state(((gb_py_gufunc_object *)self)->info.id, &k,
                                                      (uint8_t *)types, (int32_t)n, any_order,
                                                      &number, &e)) < 0)
        return NULL;
    return PyLong_FromLong(number);
}
