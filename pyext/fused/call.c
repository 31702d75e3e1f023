/* call.c: gridbuf._core.FusedCall: a fused kernel, bound to operands that lie so and not otherwise.
 * Everything that depends on shapes, strides, names and halos is worked out when it is made; a run
 * compares the operands with those, and takes their addresses. */
#include "fused.h"

#include <structmember.h>

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL gridbuf_UFUNC_API
#include <numpy/ufuncobject.h>

/* NumPy 2's PyUFunc_GiveFloatingpointErrors(name, flags). */
#define GIVE_ERRORS ((int (*)(const char *, int))PyUFunc_API[46])

PyTypeObject *gb_py_FusedCallType;

/* An operand of the kernel: so many bytes from where operand `source` of the call begins; below 0,
 * the result -1 - source. */
typedef struct leaf {
    int64_t source, offset;
} leaf;

/* How a result is made: after a Field's plan, an array, or by a function. */
typedef struct result {
    PyObject *like;
    gb_py_field *meta; /* a Field's names, origin and halo: no memory */
} result;

typedef struct parameter {
    int64_t source;
    int type;
} parameter;

/* A number that is worked out of the arguments: function(*args), in which an int is the place of an
 * operand or of such a number, and a tuple holds a constant. */
typedef struct scalar {
    PyObject *function, *args;
    PyTypeObject *class; /* of the result */
} scalar;

struct gb_py_fused_call {
    PyObject_HEAD
    PyObject *capsule, *names, *extras;
    long long saved; /* bytes of temporaries that do not travel to memory and back */
    const gb_gu_fused *program;
    gb_gu_call *call;
    int nargs, nouts, nextras, ngiven, nscalars, nparameters, nresults, in_tuple;
    gb_py_given *given; /* arguments, outs, extras */
    scalar *scalar;
    leaf leaf[GB_GU_MAXARGS];
    result *result;
    parameter *parameter;
    char *numbers; /* 16 bytes for each parameter: what those without a source are */
};

/* ---- making ---- */

static void clear(gb_py_fused_call *c) {
    for (int i = 0; c->given && i < c->ngiven; i++) gb_py_given_clear(&c->given[i]);
    for (int i = 0; c->scalar && i < c->nscalars; i++) {
        Py_CLEAR(c->scalar[i].function);
        Py_CLEAR(c->scalar[i].args);
        Py_CLEAR(c->scalar[i].class);
    }
    for (int i = 0; c->result && i < c->nresults; i++) {
        Py_CLEAR(c->result[i].like);
        Py_CLEAR(c->result[i].meta);
    }
    Py_CLEAR(c->capsule);
    Py_CLEAR(c->names);
    Py_CLEAR(c->extras);
}

static int clear_object(PyObject *self) { return clear((gb_py_fused_call *)self), 0; }

static int traverse(PyObject *self, visitproc visit, void *arg) {
    gb_py_fused_call *c = (gb_py_fused_call *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(c->extras);
    for (int i = 0; c->given && i < c->ngiven; i++) Py_VISIT(c->given[i].object);
    for (int i = 0; c->scalar && i < c->nscalars; i++) Py_VISIT(c->scalar[i].function);
    for (int i = 0; c->result && i < c->nresults; i++) Py_VISIT(c->result[i].like);
    return 0;
}

static void dealloc(PyObject *self) {
    gb_py_fused_call *c = (gb_py_fused_call *)self;
    PyObject_GC_UnTrack(self);
    clear(c);
    gb_gu_call_free(c->call);
    free(c->given);
    free(c->scalar);
    free(c->result);
    free(c->parameter);
    free(c->numbers);
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_Del(self);
    Py_DECREF((PyObject *)type);
}

static int read_given(gb_py_fused_call *c, PyObject *objects, PyObject *roles) {
    c->ngiven = (int)PyTuple_Size(objects);
    c->nextras = c->ngiven - c->nargs - c->nouts;
    c->given = calloc((size_t)c->ngiven + 1, sizeof *c->given);
    if (!c->given) return PyErr_NoMemory(), -1;
    for (int i = 0; i < c->ngiven; i++)
        if (gb_py_given_set(&c->given[i], PyTuple_GetItem(objects, i),
                            (int)PyLong_AsLong(PyTuple_GetItem(roles, i))) < 0)
            return -1;
    c->extras = PyTuple_GetSlice(objects, c->nargs + c->nouts, c->ngiven);
    return c->extras ? 0 : -1;
}

static int read_scalars(gb_py_fused_call *c, PyObject *given) {
    c->nscalars = (int)PyTuple_Size(given);
    c->scalar = calloc((size_t)c->nscalars + 1, sizeof *c->scalar);
    if (!c->scalar) return PyErr_NoMemory(), -1;
    for (int i = 0; i < c->nscalars; i++) {
        PyObject *function, *args, *class;
        if (!PyArg_ParseTuple(PyTuple_GetItem(given, i), "OO!O!", &function, &PyTuple_Type, &args,
                              &PyType_Type, &class))
            return -1;
        c->scalar[i] =
            (scalar){Py_NewRef(function), Py_NewRef(args), (PyTypeObject *)Py_NewRef(class)};
    }
    return 0;
}

/* Each is (source, type), or 16 bytes. */
static int read_parameters(gb_py_fused_call *c, PyObject *given) {
    c->nparameters = (int)PyTuple_Size(given);
    c->parameter = calloc((size_t)c->nparameters + 1, sizeof *c->parameter);
    c->numbers = calloc((size_t)c->nparameters + 1, 16);
    if (!c->parameter || !c->numbers) return PyErr_NoMemory(), -1;
    for (int i = 0; i < c->nparameters; i++) {
        PyObject *one = PyTuple_GetItem(given, i);
        parameter *p = &c->parameter[i];
        const char *bytes;
        Py_ssize_t n;
        p->source = -1;
        if (PyTuple_Check(one)) {
            if (!PyArg_ParseTuple(one, "Li", &p->source, &p->type)) return -1;
        } else {
            if (gb_py_bytes(one, "number", &bytes, &n) < 0) return -1;
            memcpy(c->numbers + 16 * i, bytes, n < 16 ? (size_t)n : 16);
        }
    }
    return 0;
}

static void describe(gb_gu_call *call, int i, int type) {
    gb_gu_operand *o = &call->op[i];
    o->from = o->to = (uint8_t)type;
    o->item = o->kernel_item = gb_type_size(type);
    o->core_items = 1;
    call->out_ndim[i] = call->outer_ndim;
}

/* Each operand of the kernel is (source, offset, type, strides). */
static int read_leaves(gb_py_fused_call *c, PyObject *leaves, PyObject *shape, int flags) {
    gb_gu_tracks tracks = {0};
    int nop = (int)PyTuple_Size(leaves), ndim = (int)PyTuple_Size(shape);
    gb_gu_call *call = c->call = gb_gu_call_new(nop);
    if (!call) return PyErr_NoMemory(), -1;
    call->nop = nop;
    call->nin = nop - c->nresults;
    call->form = GB_GU_NUMPY_LOOP;
    call->function = (void *)gb_gu_fused_loop;
    call->flags = flags | GB_GU_PURE;
    call->outer_ndim = ndim;
    call->n = 1;
    for (int d = 0; d < ndim; d++) {
        call->outer_shape[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
        call->n *= call->outer_shape[d];
    }
    for (int i = 0; i < nop; i++) {
        int type;
        PyObject *strides;
        if (!PyArg_ParseTuple(PyTuple_GetItem(leaves, i), "LLiO", &c->leaf[i].source,
                              &c->leaf[i].offset, &type, &strides))
            return -1;
        describe(call, i, type);
        for (int d = 0; d < ndim; d++)
            if (call->outer_shape[d] != 1)
                tracks.strides[i][d] = PyLong_AsLongLong(PyTuple_GetItem(strides, d));
    }
    gb_gu_call_nest(call, &tracks);
    /* NumPy's loops have other bits for one complex element without a stride. */
    for (int i = 0; i < nop && call->n == 1 && call->ndim > 0; i++)
        call->op[i].strides[call->ndim - 1] = call->op[i].item;
    gb_gu_call_cut(call);
    return PyErr_Occurred() ? -1 : 0;
}

static int read_results(gb_py_fused_call *c, PyObject *results) {
    c->nresults = (int)PyTuple_Size(results);
    c->result = calloc((size_t)c->nresults + 1, sizeof *c->result);
    if (!c->result) return PyErr_NoMemory(), -1;
    for (int i = 0; i < c->nresults; i++) {
        PyObject *like = PyTuple_GetItem(results, i);
        gb_py_field *f = gb_py_is_plain_field(like) ? (gb_py_field *)like : NULL;
        if (!f) {
            c->result[i].like = Py_NewRef(like);
            continue;
        }
        if (f->lists) return PyErr_SetString(PyExc_ValueError, "a view is no result"), -1;
        gb_py_field *meta = c->result[i].meta = gb_py_field_alloc(gb_py_HostFieldType, -1);
        if (!meta) return -1;
        PyObject_GC_UnTrack((PyObject *)meta); /* no Field to be found by others */
        meta->geometry.ndim = f->geometry.ndim;
        meta->dims_given = f->dims_given;
        meta->plan = (gb_py_plan_object *)Py_NewRef((PyObject *)f->plan);
        if (gb_py_field_copy_meta(meta, f) < 0) return -1;
    }
    return 0;
}

/* FusedCall(program, (arguments, outs), objects, roles, scalars, parameters, leaves, shape,
 * results, names, flags, in_tuple, saved); objects: arguments, outs and extras, of which the last
 * are always the same. */
static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *capsule, *objects, *roles, *scalars, *parameters, *leaves, *shape, *results, *names;
    int nargs, nouts, flags, in_tuple;
    long long saved;
    if (!PyArg_ParseTuple(args, "O(ii)O!O!O!O!O!O!O!O!ipL", &capsule, &nargs, &nouts, &PyTuple_Type,
                          &objects, &PyTuple_Type, &roles, &PyTuple_Type, &scalars, &PyTuple_Type,
                          &parameters, &PyTuple_Type, &leaves, &PyTuple_Type, &shape, &PyTuple_Type,
                          &results, &PyTuple_Type, &names, &flags, &in_tuple, &saved))
        return NULL;
    const gb_gu_fused *program = PyCapsule_GetPointer(capsule, GB_PY_FUSED_PROGRAM);
    if (!program) return NULL;
    if (PyTuple_Size(leaves) != program->nop || PyTuple_Size(parameters) != program->nparams ||
        PyTuple_Size(shape) > GB_MAXDIMS || PyTuple_Size(names) > GB_PY_FUSED_MOST_STEPS ||
        program->nsteps > GB_PY_FUSED_MOST_STEPS || PyTuple_Size(roles) < PyTuple_Size(objects))
        return PyErr_SetString(PyExc_ValueError, "FusedCall: this is not what the program takes"),
               NULL;
    gb_py_fused_call *c = (gb_py_fused_call *)PyType_GenericAlloc(type, 0);
    if (!c) return NULL;
    c->capsule = Py_NewRef(capsule);
    c->names = Py_NewRef(names);
    c->program = program;
    c->nargs = nargs;
    c->nouts = nouts;
    c->in_tuple = in_tuple;
    c->saved = saved;
    if (read_given(c, objects, roles) < 0 || read_scalars(c, scalars) < 0 ||
        read_parameters(c, parameters) < 0 || read_results(c, results) < 0 ||
        read_leaves(c, leaves, shape, flags) < 0)
        Py_CLEAR(c);
    return (PyObject *)c;
}

/* ---- running ---- */

static PyObject *make(const result *r, char **data) {
    if (r->meta) {
        gb_py_field *f = gb_py_field_over_plan(r->meta->plan, 0);
        if (!f) return NULL;
        f->dims_given = r->meta->dims_given;
        *data = f->data;
        if (gb_py_field_copy_meta(f, r->meta) < 0) Py_CLEAR(f);
        return (PyObject *)f;
    }
    PyObject *made = PyArray_CheckExact(r->like)
                         ? PyArray_NewLikeArray((PyArrayObject *)r->like, NPY_KEEPORDER, NULL, 0)
                         : PyObject_CallNoArgs(r->like);
    PyArrayObject *host = !made                      ? NULL
                          : PyArray_CheckExact(made) ? (PyArrayObject *)made
                                                     : gb_py_plain_storage(made);
    if (host) *data = PyArray_BYTES(host);
    else if (made) Py_CLEAR(made);
    return made;
}

/* Writing into an operand that is read at other places than it is written would be too early. A
 * loop that raises may be called again, with the operands as they were. NumPy's loops of one
 * complex element in place have other bits than elsewhere. */
static int overlaps(const gb_gu_call *call, char *const *data) {
    for (int o = call->nin; o < call->nop; o++) {
        const gb_gu_operand *q = &call->op[o];
        for (int i = 0; i < o; i++) {
            const gb_gu_operand *p = &call->op[i];
            int same = i < call->nin && data[i] == data[o] && p->item == q->item &&
                       call->nop == call->nin + 1 && !gb_type_is_complex(q->to) &&
                       !(call->flags & GB_GU_RAISES) &&
                       memcmp(p->strides, q->strides, (size_t)call->ndim * sizeof *p->strides) == 0;
            if (!same && gb_gu_views_overlap(data[i], call->shape, p->strides, call->ndim, p->item,
                                             data[o], call->shape, q->strides, call->ndim, q->item))
                return 1;
        }
        if (gb_gu_self_overlap(call->shape, q->strides, call->ndim, q->item)) return 1;
    }
    return 0;
}

static int run(gb_py_fused_call *c, char *const *data, char *numbers, int workers, uint8_t *flags) {
    gb_gu_call *call = c->call;
    gb_gu_fused_run context = {c->program, numbers, flags};
    gb_error e;
    gb_gu_run here, *job = &here;
    int alone = call->nchunks <= 1 && !(call->flags & GB_GU_MEASURED);
    if (call->n == 0) return 0;
    if (alone ? gb_gu_run_init(job, call, data, &context, 1, &e) < 0
              : !(job = gb_gu_run_new(call, data, &context, 1, &e)))
        return gb_py_raise(&e);
    int rc = gb_py_run(job, alone ? 1 : workers > 0 ? workers : gb_work_thread_count());
    if (rc == 0 && job->no_memory) rc = PyErr_NoMemory() ? 0 : -1;
    if (alone) gb_gu_run_clear(job);
    else gb_gu_run_drop(job);
    return rc;
}

static int matches(const gb_py_fused_call *c, PyObject *const *args, PyObject *const *outs,
                   char **at) {
    for (int i = 0; i < c->ngiven; i++) {
        int out = i - c->nargs, extra = out - c->nouts;
        PyObject *obj = out < 0     ? args[i]
                        : extra < 0 ? outs[out]
                                    : PyTuple_GetItem(c->extras, extra);
        if (!gb_py_given_is(&c->given[i], obj, &at[i])) return 0;
        if (out >= 0 && extra < 0 && !gb_py_given_writable(obj)) return 0;
    }
    return 1;
}

/* Borrowed: an argument, or a number that was worked out. */
static PyObject *number_at(const gb_py_fused_call *c, PyObject *const *args,
                           PyObject *const *computed, int64_t source) {
    return source < c->nargs ? args[source] : computed[source - c->ngiven];
}

/* 1: done; 0: a result is of another class than before, or an exception, which the function may
 * catch; -1: an error is set. */
static int compute(const gb_py_fused_call *c, PyObject *const *args, PyObject **computed) {
    for (int i = 0; i < c->nscalars; i++) {
        const scalar *s = &c->scalar[i];
        Py_ssize_t n = PyTuple_Size(s->args);
        GB_PY_OWNED PyObject *operands = PyTuple_New(n);
        for (Py_ssize_t k = 0; operands && k < n; k++) {
            PyObject *one = PyTuple_GetItem(s->args, k);
            one = PyTuple_Check(one) ? PyTuple_GetItem(one, 0)
                                     : number_at(c, args, computed, PyLong_AsLongLong(one));
            PyTuple_SetItem(operands, k, Py_NewRef(one));
        }
        if (!operands) return -1;
        computed[i] = PyObject_CallObject(s->function, operands);
        if (!computed[i] && PyErr_ExceptionMatches(PyExc_Exception)) return PyErr_Clear(), 0;
        if (!computed[i]) return -1;
        if (Py_TYPE(computed[i]) != s->class) return 0;
    }
    return 1;
}

static int read_numbers(const gb_py_fused_call *c, PyObject *const *args, char *numbers) {
    PyObject *computed[c->nscalars + 1];
    memset(computed, 0, sizeof computed);
    int ok = compute(c, args, computed);
    memcpy(numbers, c->numbers, 16 * (size_t)c->nparameters);
    for (int i = 0; ok > 0 && i < c->nparameters; i++) {
        const parameter *p = &c->parameter[i];
        if (p->source >= 0)
            ok = gb_py_given_number(numbers + 16 * i, p->type,
                                    number_at(c, args, computed, p->source));
    }
    for (int i = 0; i < c->nscalars; i++) Py_XDECREF(computed[i]);
    return ok;
}

PyObject *gb_py_fused_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *const *outs, Py_ssize_t nouts, int workers, uint8_t *flags) {
    gb_py_fused_call *c = (gb_py_fused_call *)self;
    if (nargs != c->nargs || nouts != c->nouts) Py_RETURN_NOTIMPLEMENTED;
    char *at[c->ngiven + 1], *data[GB_GU_MAXARGS], *fresh[GB_GU_MAXARGS];
    _Alignas(16) char numbers[16 * (c->nparameters + 1)];
    if (!matches(c, args, outs, at)) Py_RETURN_NOTIMPLEMENTED;
    int simple = read_numbers(c, args, numbers);
    if (simple < 0) return NULL;
    if (!simple) Py_RETURN_NOTIMPLEMENTED;
    GB_PY_OWNED PyObject *results = PyTuple_New(c->nresults);
    for (int i = 0; results && i < c->nresults; i++)
        gb_py_put(&results, i, nouts ? Py_NewRef(outs[i]) : make(&c->result[i], &fresh[i]));
    if (!results) return NULL;
    /* Python may have run since, and an array be another one. */
    if (!matches(c, args, outs, at)) Py_RETURN_NOTIMPLEMENTED;
    for (int i = 0; i < c->call->nop; i++) {
        const leaf *l = &c->leaf[i];
        data[i] = (l->source >= 0 ? at[l->source] : fresh[-1 - l->source]) + l->offset;
    }
    if (nouts && overlaps(c->call, data)) Py_RETURN_NONE;
    memset(flags, 0, GB_PY_FUSED_MOST_STEPS);
    if (run(c, data, numbers, workers, flags) < 0) return NULL;
    return Py_NewRef(c->in_tuple ? results : PyTuple_GetItem(results, 0));
}

int gb_py_fused_report(PyObject *self, const uint8_t *flags) {
    const gb_py_fused_call *c = (gb_py_fused_call *)self;
    int told = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(c->names); i++) {
        int fresh = flags[i] & ~told;
        if (!fresh) continue;
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(c->names, i), NULL);
        if (!name || GIVE_ERRORS(name, fresh) < 0) return -1;
        told |= fresh;
    }
    return 0;
}

/* run(arguments, outs or (), workers) -> (result, flags) */
static PyObject *run_method(PyObject *self, PyObject *given) {
    PyObject *args, *outs;
    int workers;
    uint8_t flags[GB_PY_FUSED_MOST_STEPS] = {0};
    if (!PyArg_ParseTuple(given, "O!O!i:run", &PyTuple_Type, &args, &PyTuple_Type, &outs, &workers))
        return NULL;
    Py_ssize_t nargs = PyTuple_Size(args), nouts = PyTuple_Size(outs);
    PyObject *objects[nargs + nouts + 1];
    for (Py_ssize_t i = 0; i < nargs + nouts; i++)
        objects[i] = i < nargs ? PyTuple_GetItem(args, i) : PyTuple_GetItem(outs, i - nargs);
    GB_PY_OWNED PyObject *result =
        gb_py_fused_run(self, objects, nargs, objects + nargs, nouts, workers, flags);
    return result ? Py_BuildValue("(ON)", result,
                                  PyBytes_FromStringAndSize((const char *)flags, sizeof flags))
                  : NULL;
}

long long gb_py_fused_saved(PyObject *self) { return ((gb_py_fused_call *)self)->saved; }

static PyMemberDef members[] = {
    {"saved", T_LONGLONG, offsetof(gb_py_fused_call, saved), READONLY, NULL},
    {NULL},
};

static PyMethodDef methods[] = {{"run", run_method, METH_VARARGS, NULL}, {NULL}};

static PyType_Slot slots[] = {
    {Py_tp_new, new},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear_object},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

int gb_py_fused_call_init(PyObject *module) {
    return gb_py_add_type(module, &gb_py_FusedCallType,
                          (PyType_Spec){"gridbuf._core.FusedCall", sizeof(gb_py_fused_call), 0,
                                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots},
                          NULL);
}
