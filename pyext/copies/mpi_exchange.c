/* mpi_exchange.c: gridbuf._core.MessageExchange: pack, start messages, copy within the process,
 * poll, unpack, in one call.
 *
 * Calls of mpi4py's functions from C cost less than a Python frame around them, so the loop is in
 * C; MPI itself is called through those functions alone. Long waits happen in Python, which handles
 * signals and time-outs between two calls of test(). */
#include "slots.h"
#include "../core/args.h"
#include "../../alloc/system.h"
#include "../../alloc/strides.h"

#include <unistd.h>

typedef struct span {
    intptr_t low, end;
} span;

static int compare(const void *a, const void *b) {
    intptr_t x = ((const span *)a)->low, y = ((const span *)b)->low;
    return (x > y) - (x < y);
}

/* Fields usually come in the order of their memory: insertion sort compares each once. */
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

static int fields_apart(PyObject *const *fields, Py_ssize_t n) {
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

/* spans_meet(*fields): None where no two Fields share memory; else for each Field the bytes from
 * the first one's element 0 to its own. */
PyObject *gb_py_spans_meet(PyObject *self, PyObject *const *fields, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (!gb_py_is_field(fields[i]))
            return PyErr_Format(PyExc_TypeError, "spans_meet: expected Fields, got %R",
                                Py_TYPE(fields[i]));
    int apart = fields_apart(fields, n);
    if (apart) return apart < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *found = PyTuple_New(n);
    for (Py_ssize_t i = 0; found && i < n; i++)
        gb_py_put(&found, i,
                  PyLong_FromLongLong(((gb_py_field *)fields[i])->data -
                                      ((gb_py_field *)fields[0])->data));
    return found;
}

/* ---- the exchange ---- */

enum { PACK, LOCAL, UNPACK, N_PROGRAMS };

typedef struct exchange_object {
    PyObject_HEAD
    PyObject *program[N_PROGRAMS]; /* NULL: nothing to do */
    /* begin(requests) starts the messages; ended(requests): whether all have completed */
    PyObject *begin, *ended;
    PyObject *check; /* check() before values are unpacked, or NULL */
    /* a list; or, where messages lie in the memory of fields, a dict of lists by the fields'
     * addresses */
    PyObject *requests;
    PyObject *requests_at;        /* requests_at(addresses) makes another list of that dict */
    Py_ssize_t *inside, n_inside; /* indices of those fields */
    /* each one int64 (exchanges begun) or two (begun and ended), shared by all exchanges of that
     * memory */
    Py_buffer *counters;
    Py_ssize_t n_counters;
    int64_t spin; /* polling time of run and poll, ns */
    /* while messages are pending: their requests, and a tuple that keeps the fields alive */
    PyObject *active, *fields;
    pid_t process;
    int64_t number; /* number of the pending exchange, or of the last one */
    int counted;    /* whether the pending exchange has incremented the counters */
    int64_t armed;  /* value of `armings` when arm() was called */
    int left;       /* calls of again() until Python looks at notes of other ranks' errors */
} exchange_object;

/* incremented by disarm(): a revoked communicator, pending requests or MPI's end need a look by
 * Python */
static int64_t armings = 1;

/* Increment the counters of begun (0) or of ended (1) exchanges. */
static void count(exchange_object *x, int which) {
    for (Py_ssize_t i = 0; i < x->n_counters; i++)
        if (x->counters[i].len > which * (Py_ssize_t)sizeof(int64_t))
            ++((int64_t *)x->counters[i].buf)[which];
}

/* Whether another exchange over the same counted memory is pending. */
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

/* Requests over the memory of these fields, whose layouts packing has checked. */
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

/* An error before begin() leaves nothing pending; from then on the messages are pending, also where
 * an error is raised. */
static int begin(exchange_object *x, PyObject *const *fields, Py_ssize_t n) {
    if (x->active) return gb_py_fail(PyExc_RuntimeError, "the exchange before has not ended");
    if (gb_forked && getpid() != x->process)
        return gb_py_fail(PyExc_RuntimeError,
                          "a forked child has no MPI: exchange in the process that made the "
                          "grid, or start one afresh");
    if (carry_out(x, PACK, fields, n) < 0) return -1;
    PyObject *requests = requests_of(x, fields),
             *held = requests ? gb_py_tuple_of(fields, n) : NULL;
    if (!held || x->active) { /* Python code may have started another exchange. */
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

/* Unpack received messages. The exchange is over, also where this fails. */
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

/* 1: nothing is pending; 0: messages are, after `spin` ns of polling. */
static int end(exchange_object *x, int64_t spin, int wanted) {
    if (!x->active) return 1;
    GB_PY_OWNED PyObject *requests = Py_NewRef(x->active);
    int64_t number = x->number;
    int yes = has_ended(x, requests);
    for (int64_t stop = yes == 0 && spin ? gb_nanoseconds() + spin : 0;
         yes == 0 && stop && gb_nanoseconds() < stop;)
        yes = has_ended(x, requests);
    if (yes == 1 && x->active &&
        x->number == number) { /* no other thread has ended this exchange, or begun another over the
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

/* Whether all are Fields on the host without common memory; others are left to Python. */
static int are_plain(PyObject *const *fields, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (Py_TYPE(fields[i]) != gb_py_HostFieldType) return 0;
    return fields_apart(fields, n);
}

static PyObject *exchange_run(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    exchange_object *x = (exchange_object *)self;
    if (x->active || n != gb_py_program_given(x->program[PACK]) || others_begun(x)) Py_RETURN_NONE;
    int plain = are_plain(args, n);
    if (plain <= 0) return plain < 0 ? NULL : Py_NewRef(Py_None);
    return begin(x, args, n) < 0 ? NULL : truth(end(x, x->spin, 1));
}

#define AGAIN 1000

/* As run, unless disarm() was called since arm(), or arm() is long ago. */
static PyObject *exchange_again(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    exchange_object *x = (exchange_object *)self;
    return x->armed == armings && x->left-- > 0 ? exchange_run(self, args, n) : Py_NewRef(Py_None);
}

static PyObject *exchange_arm(PyObject *self, PyObject *yes) {
    exchange_object *x = (exchange_object *)self;
    x->armed = yes == Py_True ? armings : 0;
    x->left = AGAIN;
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
