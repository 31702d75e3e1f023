/* mpi_exchange.c: whether Fields can have memory in common, by the first and the last byte of each.
 */
#include "slots.h"
#include "../core/args.h"
#include "../../alloc/clock.h"
#include "../../alloc/strides.h"

#include <unistd.h>

typedef struct span {
    intptr_t low, end;
} span;

static int compare(const void *a, const void *b) {
    intptr_t x = ((const span *)a)->low, y = ((const span *)b)->low;
    return (x > y) - (x < y);
}

/* Fields come in the order of their memory, nearly: then this is one look at each. */
static void sort(span *spans, Py_ssize_t n) {
    if (n > 64) {
        qsort(spans, (size_t)n, sizeof *spans, compare);
        return;
    }
    for (Py_ssize_t i = 1; i < n; i++) {
        span s = spans[i];
        Py_ssize_t at = i;
        for (; at > 0 && spans[at - 1].low > s.low; at--) spans[at] = spans[at - 1];
        spans[at] = s;
    }
}

int gb_py_fields_apart(PyObject *const *fields, Py_ssize_t n) {
    span few[64], *spans = few;
    if (n > 64 && !(spans = malloc((size_t)n * sizeof *spans))) return gb_py_no_memory();
    Py_ssize_t m = 0;
    int apart = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const gb_geometry *g = &((gb_py_field *)fields[i])->geometry;
        m += gb_extent(((gb_py_field *)fields[i])->data, g->shape, g->strides, g->ndim, g->itemsize,
                       &spans[m].low, &spans[m].end);
    }
    sort(spans, m);
    for (Py_ssize_t i = 1; i < m; i++) apart &= spans[i - 1].end <= spans[i].low;
    if (spans != few) free(spans);
    return apart;
}

/* None: they lie apart; else how many bytes each one's element 0 lies from the first one's. */
PyObject *gb_py_spans_meet(PyObject *self, PyObject *const *fields, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (!gb_py_is_field(fields[i]))
            return PyErr_Format(PyExc_TypeError, "spans_meet: expected Fields, got %R",
                                Py_TYPE(fields[i]));
    int apart = gb_py_fields_apart(fields, n);
    if (apart) return apart < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *found = PyTuple_New(n);
    for (Py_ssize_t i = 0; found && i < n; i++)
        gb_py_put(&found, i,
                  PyLong_FromLongLong(((gb_py_field *)fields[i])->data -
                                      ((gb_py_field *)fields[0])->data));
    return found;
}

/* ---- the type gridbuf._core.MessageExchange: pack, start messages, copy within the process
 * meanwhile, poll, unpack, in one call. Two calls of a function of mpi4py's cost less than a frame
 * of Python around them, so the loop is here; MPI itself is called by those functions alone.
 * Whoever has to wait for long does so in Python, which sees signals and the clock between two
 * calls of test(). ---- */

enum { PACK, LOCAL, UNPACK, N_PROGRAMS };

typedef struct exchange_object {
    PyObject_HEAD
    PyObject *program[N_PROGRAMS]; /* NULL: nothing to do */
    PyObject *begin, *ended; /* begin(requests); ended(requests): whether all have come and gone */
    PyObject *check;         /* check() before values are unpacked, or NULL */
    PyObject *requests; /* a list; where messages lie in the memory of fields, a dict of lists by
                           the fields' addresses */
    PyObject
        *requests_at; /* requests_at(addresses): puts another list into that dict, and returns it */
    Py_ssize_t *inside, n_inside; /* which fields those are */
    Py_buffer *counters; /* each one int64, exchanges begun; or two: begun and ended, of all who
                            have that memory */
    Py_ssize_t n_counters;
    int64_t spin;              /* ns that run and poll look for again */
    PyObject *active, *fields; /* while messages are under way: their requests, and a tuple of what
                                  keeps memory alive */
    pid_t process;
    int64_t number; /* of exchanges: the one under way, or the last */
    int counted;    /* it is counted as begun: what did not begin does not end */
    int64_t armed;  /* what `armings` was when its user had looked at all there is to look at */
} exchange_object;

static int64_t armings =
    1; /* counts what any user has to look at: a disagreement, requests that were left, MPI's end */

/* One more has begun (0), or is over, by its end or by ours (1). */
static void count(exchange_object *x, int which) {
    for (Py_ssize_t i = 0; i < x->n_counters; i++)
        if (x->counters[i].len > which * (Py_ssize_t)sizeof(int64_t))
            ++((int64_t *)x->counters[i].buf)[which];
}

/* Whether somebody else's exchange, of those that are counted to their end, is under way. */
static int others_begun(const exchange_object *x) {
    int begun = 0;
    for (Py_ssize_t i = 0; i < x->n_counters; i++) {
        const int64_t *count = x->counters[i].buf;
        begun |= x->counters[i].len > (Py_ssize_t)sizeof *count && count[0] != count[1];
    }
    return begun;
}

static void exchange_dealloc(PyObject *self) {
    exchange_object *x = (exchange_object *)self;
    if (x->active && x->counted) count(x, 1);
    for (int i = 0; i < N_PROGRAMS; i++) Py_XDECREF(x->program[i]);
    for (Py_ssize_t i = 0; i < x->n_counters; i++) PyBuffer_Release(&x->counters[i]);
    PyObject *const held[] = {x->begin,       x->ended,  x->check, x->requests,
                              x->requests_at, x->active, x->fields};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) Py_XDECREF(held[i]);
    free(x->counters);
    free(x->inside);
    GB_PY_FREE_OBJECT(self);
}

/* ---- making ---- */

static int read_programs(exchange_object *x, PyObject *programs) {
    if (PyTuple_Size(programs) != N_PROGRAMS)
        return gb_py_fail(PyExc_ValueError, "programs: there are three: pack, local, unpack");
    for (int i = 0; i < N_PROGRAMS; i++) {
        PyObject *program = PyTuple_GetItem(programs, i);
        if (program == Py_None && i != PACK) continue;
        if (!gb_py_is_program(program))
            return gb_py_fail(PyExc_TypeError, "programs[%d]: expected a CopyProgram, got %R", i,
                              Py_TYPE(program));
        x->program[i] = Py_NewRef(program);
    }
    return 0;
}

static int read_counters(exchange_object *x, PyObject *counters) {
    Py_ssize_t n = PyTuple_Size(counters);
    x->counters = calloc((size_t)n + 1, sizeof *x->counters);
    if (!x->counters) return gb_py_no_memory();
    for (; x->n_counters < n; x->n_counters++) {
        Py_buffer *view = &x->counters[x->n_counters];
        if (PyObject_GetBuffer(PyTuple_GetItem(counters, x->n_counters), view, PyBUF_WRITABLE) < 0)
            return -1;
        if ((view->len == sizeof(int64_t) || view->len == 2 * sizeof(int64_t)) &&
            (uintptr_t)view->buf % sizeof(int64_t) == 0)
            continue;
        PyBuffer_Release(view);
        return gb_py_fail(PyExc_ValueError,
                          "counters[%zd]: expected the memory of one int64 or two", x->n_counters);
    }
    return 0;
}

static int read_inside(exchange_object *x, PyObject *inside) {
    Py_ssize_t n = PyTuple_Size(inside);
    x->inside = calloc((size_t)n + 1, sizeof *x->inside);
    if (!x->inside) return gb_py_no_memory();
    for (; x->n_inside < n; x->n_inside++) {
        Py_ssize_t i = PyLong_AsSsize_t(PyTuple_GetItem(inside, x->n_inside));
        x->inside[x->n_inside] = i;
        if (i == -1 && PyErr_Occurred()) return -1;
        if (i < 0 || i >= gb_py_program_given(x->program[PACK]))
            return gb_py_fail(PyExc_ValueError, "inside: there is no field %zd", i);
    }
    return 0;
}

static PyObject *exchange_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"programs", "begin", "ended",       "check",  "requests",
                            "counters", "spin",  "requests_at", "inside", NULL};
    PyObject *programs, *begin, *ended, *check, *requests, *counters, *requests_at = NULL,
                                                                      *inside = NULL;
    double spin;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OOOOO!d|OO:MessageExchange", names,
                                     &PyTuple_Type, &programs, &begin, &ended, &check, &requests,
                                     &PyTuple_Type, &counters, &spin, &requests_at, &inside))
        return NULL;
    if (requests_at == Py_None) requests_at = NULL;
    if (inside == Py_None) inside = NULL;
    if (inside && (!requests_at || !PyTuple_Check(inside)))
        return PyErr_Format(PyExc_TypeError, "inside: expected a tuple beside requests_at=, got %R",
                            Py_TYPE(inside));
    if (inside ? !PyDict_Check(requests) : !PyList_Check(requests))
        return PyErr_Format(
            PyExc_TypeError,
            "requests: expected a list, or a dict where messages lie inside fields, got %R",
            Py_TYPE(requests));
    exchange_object *x = (exchange_object *)PyType_GenericAlloc(type, 0);
    if (!x) return NULL;
    x->begin = Py_NewRef(begin);
    x->ended = Py_NewRef(ended);
    x->check = check == Py_None ? NULL : Py_NewRef(check);
    x->requests = Py_NewRef(requests);
    x->requests_at = Py_XNewRef(requests_at);
    x->spin = spin > 0 && spin < 1 ? (int64_t)(spin * 1e9) : 0;
    x->process = getpid();
    if (read_programs(x, programs) < 0 || read_counters(x, counters) < 0 ||
        (inside && read_inside(x, inside) < 0))
        Py_CLEAR(x);
    return (PyObject *)x;
}

/* ---- one exchange ---- */

static int carry_out(exchange_object *x, int which, PyObject *const *fields, Py_ssize_t n) {
    return x->program[which] ? gb_py_program_run(x->program[which], fields, n) : 0;
}

/* The requests over the memory of these fields, which the packing has found to be of the plan's
 * layouts. */
static PyObject *requests_of(exchange_object *x, PyObject *const *fields) {
    if (!x->inside) return Py_NewRef(x->requests);
    GB_PY_OWNED PyObject *key = PyTuple_New(x->n_inside);
    PyObject *found = NULL;
    for (Py_ssize_t i = 0; key && i < x->n_inside; i++) {
        PyObject *field = fields[x->inside[i]];
        gb_py_put(&key, i,
                  gb_py_is_field(field)
                      ? PyLong_FromVoidPtr(gb_py_memory_of_field((gb_py_field *)field).view.data)
                      : NULL);
    }
    if (!key)
        return PyErr_Occurred()
                   ? NULL
                   : PyErr_Format(PyExc_TypeError,
                                  "fields: messages lie in the memory of Fields alone");
    found = Py_XNewRef(PyDict_GetItemWithError(x->requests, key));
    if (!found && !PyErr_Occurred())
        found = PyObject_CallFunctionObjArgs(x->requests_at, key, NULL);
    return found;
}

/* Nothing has begun where this fails before the messages do; afterwards they are under way,
 * whatever comes. */
static int begin(exchange_object *x, PyObject *const *fields, Py_ssize_t n) {
    if (x->active) return gb_py_fail(PyExc_RuntimeError, "the exchange before has not ended");
    if (gb_forked && getpid() != x->process)
        return gb_py_fail(PyExc_RuntimeError,
                          "a forked child has no MPI: exchange in the process that made the "
                          "grid, or start one afresh");
    if (carry_out(x, PACK, fields, n) < 0) return -1;
    PyObject *requests = requests_of(x, fields),
             *held = requests ? gb_py_tuple_of(fields, n) : NULL;
    if (!held || x->active) { /* Python code may have run */
        if (held) PyErr_SetString(PyExc_RuntimeError, "the exchange before has not ended");
        Py_XDECREF(requests);
        Py_XDECREF(held);
        return -1;
    }
    x->active = requests;
    x->fields = held;
    x->number++;
    x->counted = 0;
    GB_PY_OWNED PyObject *done = PyObject_CallFunctionObjArgs(x->begin, requests, NULL);
    if (!done) return -1;
    count(x, 0);
    x->counted = 1;
    return carry_out(x, LOCAL, fields, n);
}

static int has_ended(exchange_object *x, PyObject *requests) {
    GB_PY_OWNED PyObject *answer = PyObject_CallFunctionObjArgs(x->ended, requests, NULL);
    return answer ? PyObject_IsTrue(answer) : -1;
}

/* All has come: the exchange is over, also where unpacking fails. */
static int unpack(exchange_object *x, PyObject *fields) {
    PyObject *few[64], **items = few;
    Py_ssize_t n = PyTuple_Size(fields);
    if (x->check) {
        GB_PY_OWNED PyObject *fine = PyObject_CallFunctionObjArgs(x->check, NULL);
        if (!fine) return -1;
    }
    if (!x->program[UNPACK]) return 0;
    if (n > 64 && !(items = malloc((size_t)n * sizeof *items))) return gb_py_no_memory();
    for (Py_ssize_t i = 0; i < n; i++) items[i] = PyTuple_GetItem(fields, i);
    int rc = carry_out(x, UNPACK, items, n);
    if (items != few) free(items);
    return rc;
}

/* 1: nothing is under way any more; 0: something is, after so many ns of polling. */
static int end(exchange_object *x, int64_t spin, int wanted) {
    if (!x->active) return 1;
    GB_PY_OWNED PyObject *requests = Py_NewRef(x->active);
    int64_t number = x->number;
    int yes = has_ended(x, requests);
    for (int64_t stop = yes == 0 && spin ? gb_nanoseconds() + spin : 0;
         yes == 0 && stop && gb_nanoseconds() < stop;)
        yes = has_ended(x, requests);
    if (yes == 1 && x->active &&
        x->number == number) { /* no other thread has seen it meanwhile, nor begun the next over the
                                  same requests */
        GB_PY_OWNED PyObject *active = x->active, *fields = x->fields;
        int counted = x->counted;
        x->active = x->fields = NULL;
        if (wanted && unpack(x, fields) < 0) yes = -1;
        if (counted) count(x, 1);
    }
    return yes;
}

static PyObject *truth(int yes) { return yes < 0 ? NULL : PyBool_FromLong(yes); }

/* Whether they are Fields on the host with memory of their own; else it takes Python to say what
 * they are. */
static int are_plain(PyObject *const *fields, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (Py_TYPE(fields[i]) != gb_py_HostFieldType) return 0;
    return gb_py_fields_apart(fields, n);
}

static PyObject *exchange_run(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    exchange_object *x = (exchange_object *)self;
    if (x->active || n != gb_py_program_given(x->program[PACK]) || others_begun(x)) Py_RETURN_NONE;
    int plain = are_plain(args, n);
    if (plain <= 0) return plain < 0 ? NULL : Py_NewRef(Py_None);
    return begin(x, args, n) < 0 ? NULL : truth(end(x, x->spin, 1));
}

/* As run, where nothing has to be looked at since arm(). */
static PyObject *exchange_again(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return ((exchange_object *)self)->armed == armings ? exchange_run(self, args, n)
                                                       : Py_NewRef(Py_None);
}

static PyObject *exchange_arm(PyObject *self, PyObject *yes) {
    ((exchange_object *)self)->armed = yes == Py_True ? armings : 0;
    return Py_NewRef(Py_None);
}

static PyObject *exchange_disarm(PyObject *unused, PyObject *none) {
    armings++;
    return Py_NewRef(Py_None);
}

static PyObject *exchange_start(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return begin((exchange_object *)self, args, n) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *exchange_test(PyObject *self, PyObject *unused) {
    return truth(end((exchange_object *)self, 0, 1));
}
static PyObject *exchange_drop(PyObject *self, PyObject *unused) {
    return truth(end((exchange_object *)self, 0, 0));
}
static PyObject *exchange_poll(PyObject *self, PyObject *unused) {
    exchange_object *x = (exchange_object *)self;
    return truth(end(x, x->spin, 1));
}

static PyObject *get_active(PyObject *self, void *unused) {
    PyObject *active = ((exchange_object *)self)->active;
    return Py_NewRef(active ? active : Py_None);
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void *)exchange_run, METH_FASTCALL, NULL},
    {"again", (PyCFunction)(void *)exchange_again, METH_FASTCALL, NULL},
    {"arm", exchange_arm, METH_O, NULL},
    {"disarm", exchange_disarm, METH_NOARGS | METH_STATIC, NULL},
    {"start", (PyCFunction)(void *)exchange_start, METH_FASTCALL, NULL},
    {"test", exchange_test, METH_NOARGS, NULL},
    {"poll", exchange_poll, METH_NOARGS, NULL},
    {"drop", exchange_drop, METH_NOARGS, NULL},
    {NULL},
};

static PyGetSetDef getset[] = {
    {"active", get_active, NULL, NULL, NULL},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, exchange_new},
    {Py_tp_dealloc, exchange_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc,
     "MessageExchange(programs, begin, ended, check, requests, counters, spin, requests_at=None, "
     "inside=None)\n--\n\nFields packed, sent, received and unpacked in one call."},
    {0, NULL},
};

int gb_py_mpi_exchange_init(PyObject *module) {
    static PyTypeObject *type;
    return gb_py_add_type(module, &type,
                          (PyType_Spec){"gridbuf._core.MessageExchange", sizeof(exchange_object), 0,
                                        Py_TPFLAGS_DEFAULT, slots},
                          NULL);
}
