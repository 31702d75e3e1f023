/* turns.c: free-threaded Python: calls of gridbuf take turns.
 *
 * The caches, memos and lists of pyext are written for one thread at a time that may be interrupted
 * where Python code runs and where the GIL is given away. A critical section of one object is just
 * that: whoever waits for another lock, or runs without its thread state, loses it meanwhile. So
 * every function that Python calls is replaced, before Python sees it, by one that begins such a
 * section: the tables of functions and types are rewritten here, so that none can be forgotten.
 *
 * C has no closures: which function a replacement stands for is its own number, and the compiler
 * makes MOST of each kind.
 */
/* clang-format off */
#include "turns.h"
#include "operator_slots.h"
#include "owned.h"

#include <stdlib.h>

#ifdef Py_GIL_DISABLED

static PyObject *turn; /* has the lock */

/* The lock that the innermost section of this thread holds need not be taken again. Python 3.14
 * knows that itself; 3.13 would give it away to itself, which takes microseconds. */
int gb_py_turn_begin(PyCriticalSection *section) {
#if PY_VERSION_HEX < 0x030E0000
    uintptr_t innermost =
        PyThreadState_GetUnchecked()->critical_section; /* its low bits: two locks, or given away */
    if (innermost && !(innermost & 3) &&
        ((PyCriticalSection *)innermost)->_cs_mutex == &turn->ob_mutex)
        return 0;
#endif
    PyCriticalSection_Begin(section, turn);
    return 1;
}

/* ---- what Python calls, by what it passes ---- */

#define MOST 192
#define KINDS(KIND)                                                                   \
    KIND(unary, PyObject *, (PyObject * a), (a))                                      \
    KIND(binary, PyObject *, (PyObject * a, PyObject * b), (a, b))                    \
    KIND(ternary, PyObject *, (PyObject * a, PyObject * b, PyObject * c), (a, b, c))  \
    KIND(fast, PyObject *, (PyObject * a, PyObject *const *args, Py_ssize_t count),   \
         (a, args, count))                                                            \
    KIND(named, PyObject *,                                                           \
         (PyObject * a, PyObject *const *args, Py_ssize_t count, PyObject *names),    \
         (a, args, count, names))                                                     \
    KIND(make, PyObject *, (PyTypeObject * a, PyObject * b, PyObject * c), (a, b, c)) \
    KIND(get, PyObject *, (PyObject * a, void *closure), (a, closure))                \
    KIND(set, int, (PyObject * a, PyObject * b, void *closure), (a, b, closure))      \
    KIND(assign, int, (PyObject * a, PyObject * b, PyObject * c), (a, b, c))          \
    KIND(item, PyObject *, (PyObject * a, Py_ssize_t i), (a, i))                      \
    KIND(size, Py_ssize_t, (PyObject * a), (a))                                       \
    KIND(truth, int, (PyObject * a), (a))                                             \
    KIND(compare, PyObject *, (PyObject * a, PyObject * b, int how), (a, b, how))     \
    KIND(buffer, int, (PyObject * a, Py_buffer * view, int flags), (a, view, flags))

typedef void (*function)(void);

#define TABLE(kind, returns, parameters, values)  \
    typedef returns(*kind##_function) parameters; \
    static kind##_function kind##_real[MOST];
KINDS(TABLE)
typedef void (*end_function)(PyObject *);
static end_function end_real[MOST];

#define STAND_IN(n, kind, returns, parameters, values) \
    static returns kind##_##n parameters {             \
        returns result_;                               \
        GB_PY_TURN(result_, kind##_real[n] values);    \
        return result_;                                \
    }
#define END_STAND_IN(n, kind)                                                                \
    static void kind##_##n(PyObject *a) {                                                    \
        if (PyObject_IS_GC(a))                                                               \
            PyObject_GC_UnTrack(a); /* while it waits, a collection must not find it dead */ \
        PyCriticalSection section;                                                           \
        int began = gb_py_turn_begin(&section);                                              \
        kind##_real[n](a);                                                                   \
        gb_py_turn_end(&section, began);                                                     \
    }
#define NAME(n, kind) kind##_##n,

/* EACH(M, ...): M(0x00, ...) to M(0xbf, ...). The names of a kind's stand-ins end so. */
#define ROW(M, h, ...)                                                                      \
    M(h##0, __VA_ARGS__)                                                                    \
    M(h##1, __VA_ARGS__)                                                                    \
    M(h##2, __VA_ARGS__)                                                                    \
    M(h##3, __VA_ARGS__)                                                                    \
    M(h##4, __VA_ARGS__) M(h##5, __VA_ARGS__) M(h##6, __VA_ARGS__) M(h##7, __VA_ARGS__)     \
        M(h##8, __VA_ARGS__) M(h##9, __VA_ARGS__) M(h##a, __VA_ARGS__) M(h##b, __VA_ARGS__) \
            M(h##c, __VA_ARGS__) M(h##d, __VA_ARGS__) M(h##e, __VA_ARGS__) M(h##f, __VA_ARGS__)
#define EACH(M, ...)                                                               \
    ROW(M, 0x0, __VA_ARGS__)                                                       \
    ROW(M, 0x1, __VA_ARGS__)                                                       \
    ROW(M, 0x2, __VA_ARGS__)                                                       \
    ROW(M, 0x3, __VA_ARGS__)                                                       \
    ROW(M, 0x4, __VA_ARGS__) ROW(M, 0x5, __VA_ARGS__) ROW(M, 0x6, __VA_ARGS__)     \
        ROW(M, 0x7, __VA_ARGS__) ROW(M, 0x8, __VA_ARGS__) ROW(M, 0x9, __VA_ARGS__) \
            ROW(M, 0xa, __VA_ARGS__) ROW(M, 0xb, __VA_ARGS__)

#define STAND_INS(kind, returns, parameters, values)  \
    EACH(STAND_IN, kind, returns, parameters, values) \
    static const kind##_function kind##_stand_in[MOST] = {EACH(NAME, kind)};
KINDS(STAND_INS)
EACH(END_STAND_IN, end)
static const end_function end_stand_in[MOST] = {EACH(NAME, end)};

/* Those that turn themselves. */
static function apart[16];

int gb_py_turns_itself(function real) {
    size_t i = 0;
    while (i < sizeof apart / sizeof *apart && apart[i] && apart[i] != real) i++;
    if (i == sizeof apart / sizeof *apart)
        return PyErr_SetString(
                   PyExc_SystemError,
                   "gridbuf: core/turns.c has no room for another function that turns itself"),
               -1;
    apart[i] = real;
    return 0;
}

/* Its stand-in; a function that is one already, or has one, as those of several types do, gets no
 * other. */
static function replace(function real, function *reals, const function *stand_ins) {
    if (!real) return NULL;
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (real == apart[i]) return real;
    for (int i = 0; i < MOST; i++) {
        if (real == stand_ins[i]) return real;
        if (!reals[i]) reals[i] = real;
        if (reals[i] == real) return stand_ins[i];
    }
    return PyErr_SetString(PyExc_SystemError,
                           "gridbuf: more functions of a kind than core/turns.c has stand-ins for"),
           NULL;
}
#define REPLACE(kind, place)                                                         \
    ((place = (__typeof__(place))replace((function)(place), (function *)kind##_real, \
                                         (const function *)kind##_stand_in)) != NULL)

/* ---- the tables ---- */

int gb_py_methods_take_turns(PyMethodDef *methods) {
    for (PyMethodDef *m = methods; m->ml_name; m++) {
        int done = 0;
        switch (m->ml_flags & ~(METH_CLASS | METH_STATIC | METH_COEXIST)) {
        case METH_NOARGS:
        case METH_O:
        case METH_VARARGS: done = REPLACE(binary, m->ml_meth); break;
        case METH_VARARGS | METH_KEYWORDS: done = REPLACE(ternary, m->ml_meth); break;
        case METH_FASTCALL: done = REPLACE(fast, m->ml_meth); break;
        case METH_FASTCALL | METH_KEYWORDS: done = REPLACE(named, m->ml_meth); break;
        default:
            PyErr_Format(PyExc_SystemError, "gridbuf: core/turns.c does not know the flags of %s",
                         m->ml_name);
        }
        if (!done) return -1;
    }
    return 0;
}

static int attributes(PyGetSetDef *all) {
    for (PyGetSetDef *a = all; a->name; a++)
        if ((a->get && !REPLACE(get, a->get)) || (a->set && !REPLACE(set, a->set))) return -1;
    return 0;
}

#define CASE(slot, which) case Py_nb_##slot:
#define BOTH_CASES(slot, which) \
    case Py_nb_##slot:          \
    case Py_nb_inplace_##slot:

int gb_py_type_takes_turns(PyType_Spec *spec) {
    for (PyType_Slot *s = spec->slots; s->slot; s++) {
        int done = 1;
        switch (s->slot) {
        case Py_tp_doc:
        case Py_tp_members: break;
        case Py_tp_traverse:
        case Py_tp_clear:
            break; /* the collector's: all threads stand still, or nobody else has the object */
        case Py_tp_methods: done = gb_py_methods_take_turns(s->pfunc) == 0; break;
        case Py_tp_getset: done = attributes(s->pfunc) == 0; break;
        case Py_tp_new: done = REPLACE(make, s->pfunc); break;
        case Py_tp_dealloc: done = REPLACE(end, s->pfunc); break;
        case Py_tp_repr:
        case Py_tp_iter: GB_PY_UNARY_OPERATORS(CASE) done = REPLACE(unary, s->pfunc); break;
        case Py_tp_hash:
            done = s->pfunc == (void *)PyObject_HashNotImplemented || REPLACE(size, s->pfunc);
            break;
        case Py_mp_length:
        case Py_sq_length: done = REPLACE(size, s->pfunc); break;
        case Py_nb_bool: done = REPLACE(truth, s->pfunc); break;
        case Py_sq_item: done = REPLACE(item, s->pfunc); break;
        case Py_tp_setattro:
        case Py_mp_ass_subscript: done = REPLACE(assign, s->pfunc); break;
        case Py_tp_richcompare: done = REPLACE(compare, s->pfunc); break;
        case Py_bf_getbuffer: done = REPLACE(buffer, s->pfunc); break;
        case Py_tp_call:
        case Py_tp_descr_get:
        case Py_nb_power:
        case Py_nb_inplace_power: done = REPLACE(ternary, s->pfunc); break;
        case Py_tp_getattro:
        case Py_mp_subscript:
        case Py_nb_divmod:
            GB_PY_BINARY_OPERATORS(BOTH_CASES) done = REPLACE(binary, s->pfunc);
            break;
        default:
            PyErr_Format(PyExc_SystemError, "gridbuf: core/turns.c does not know slot %d of %s",
                         s->slot, spec->name);
            done = 0;
        }
        if (!done) return -1;
    }
    return 0;
}

/* ---- what each thread has of its own ---- */

#define OWN "gridbuf: a thread's own"

static void end_own(PyObject *capsule) {
    void *own = PyCapsule_GetPointer(capsule, OWN);
    ((void (*)(void *))PyCapsule_GetContext(capsule))(own);
    free(own);
}

/* The thread's dictionary ends with it. */
void *gb_py_of_thread(size_t bytes, void (*drop)(void *)) {
    PyObject *all = PyThreadState_GetDict();
    void *own = all ? calloc(1, bytes) : NULL;
    GB_PY_OWNED PyObject *capsule = own ? PyCapsule_New(own, OWN, NULL) : NULL,
                         *name = capsule ? PyLong_FromVoidPtr(own) : NULL;
    if (name && PyCapsule_SetContext(capsule, (void *)drop) == 0 &&
        PyDict_SetItem(all, name, capsule) == 0 && PyCapsule_SetDestructor(capsule, end_own) == 0)
        return own;
    PyErr_Clear();
    free(own);
    return NULL;
}

/* ---- fork ---- */

/* In the child nobody would end the turn of another thread of the parent, nor what it has begun. So
 * os.fork waits for its turn. */
static __thread struct {
    PyCriticalSection section;
    int began;
} forking;

static PyObject *fork_begins(PyObject *self, PyObject *none) {
    forking.began = gb_py_turn_begin(&forking.section);
    return Py_NewRef(Py_None);
}

static PyObject *fork_ends(PyObject *self, PyObject *none) {
    gb_py_turn_end(&forking.section, forking.began);
    forking.began = 0;
    return Py_NewRef(Py_None);
}

static PyMethodDef around_fork[] = {{"fork_begins", fork_begins, METH_NOARGS, NULL},
                                    {"fork_ends", fork_ends, METH_NOARGS, NULL}};

int gb_py_turns_init(void) {
    if (turn) return 0;
    if (!(turn = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type))) return -1;
    GB_PY_OWNED PyObject *os = PyImport_ImportModule("os"),
                         *ask = os ? PyObject_GetAttrString(os, "register_at_fork") : NULL;
    GB_PY_OWNED PyObject *begins = PyCFunction_New(&around_fork[0], NULL),
                         *ends = PyCFunction_New(&around_fork[1], NULL), *none = PyTuple_New(0);
    GB_PY_OWNED PyObject *hooks =
        begins && ends ? Py_BuildValue("{sOsOsO}", "before", begins, "after_in_parent", ends,
                                       "after_in_child", ends)
                       : NULL;
    GB_PY_OWNED PyObject *done = ask && none && hooks ? PyObject_Call(ask, none, hooks) : NULL;
    return done ? 0 : -1;
}

#endif
