/* function.c: gridbuf._core.FusedFunction, which gridbuf.fusing.Fused extends: a call with operands
 * that were seen before enters no Python. */
#include "fused.h"
#include "../core/references.h"

#include <structmember.h>

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL gridbuf_UFUNC_API
#include <numpy/ufuncobject.h>

typedef struct function_object {
    PyObject_HEAD
    PyObject *direct; /* a tuple of (names of keywords, FusedCall), the latest first; NULL: none */
    long long saved;  /* bytes of temporaries that all calls kept from memory */
} function_object;

static PyObject *word_workers;

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((function_object *)self)->direct);
    return 0;
}

static int clear(PyObject *self) {
    Py_CLEAR(((function_object *)self)->direct);
    return 0;
}

static void dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    clear(self);
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_Del(self);
    Py_DECREF((PyObject *)type);
}

#define MOST_OPERANDS 64 /* a call with more is Python's */

/* A call's operands: positional arguments, the values of the function's own keywords, out. */
typedef struct operands {
    PyObject *objects[MOST_OPERANDS + GB_GU_MAXARGS]; /* borrowed */
    PyObject *names[MOST_OPERANDS];                   /* of the function's own keywords */
    Py_ssize_t nargs, nnames, nouts;
    int workers;
} operands;

static int is_word(PyObject *name, PyObject *word) {
    return name == word || PyUnicode_Compare(name, word) == 0;
}

/* 1; 0: a call for Python, which has more operands, or whose out is a tuple of none or of one; -1
 * with an error. */
static int read_operands(PyObject *args, PyObject *kwargs, operands *given) {
    PyObject *name, *value, *out = Py_None;
    Py_ssize_t place = 0, n = PyTuple_Size(args);
    given->nargs = given->nnames = given->workers = 0;
    if (n + (kwargs ? PyDict_Size(kwargs) : 0) > MOST_OPERANDS) return 0;
    while (given->nargs < n) {
        given->objects[given->nargs] = PyTuple_GetItem(args, given->nargs);
        given->nargs++;
    }
    while (kwargs && PyDict_Next(kwargs, &place, &name, &value)) {
        if (is_word(name, gb_py_word_out)) {
            out = value;
        } else if (is_word(name, word_workers)) {
            if (value != Py_None && gb_py_read_workers(value, &given->workers) < 0) return -1;
        } else {
            given->names[given->nnames++] = name;
            given->objects[given->nargs++] = value;
        }
    }
    int several = PyTuple_Check(out);
    given->nouts = several ? PyTuple_Size(out) : out != Py_None;
    if (given->nouts > GB_GU_MAXARGS || (several && given->nouts < 2)) return 0;
    for (Py_ssize_t i = 0; i < given->nouts; i++)
        given->objects[given->nargs + i] = several ? PyTuple_GetItem(out, i) : out;
    return 1;
}

/* Whether keywords are those that a call was bound with, in their order. */
static int same_names(const operands *given, PyObject *names) {
    if (PyTuple_Size(names) != given->nnames) return 0;
    for (Py_ssize_t i = 0; i < given->nnames; i++)
        if (!is_word(given->names[i], PyTuple_GetItem(names, i))) return 0;
    return 1;
}

/* NotImplemented: by no call that is known. */
static PyObject *directly(function_object *self, PyObject *direct, operands *given) {
    uint8_t flags[GB_PY_FUSED_MOST_STEPS];
    for (Py_ssize_t i = 0; i < PyTuple_Size(direct); i++) {
        PyObject *names, *bound;
        if (!PyArg_ParseTuple(PyTuple_GetItem(direct, i), "O!O!", &PyTuple_Type, &names,
                              gb_py_FusedCallType, &bound))
            return NULL;
        if (!same_names(given, names)) continue;
        GB_PY_OWNED PyObject *call = Py_NewRef(bound);
        PyObject *found =
            gb_py_fused_run(call, given->objects, given->nargs, given->objects + given->nargs,
                            given->nouts, given->workers, flags);
        if (found == Py_NotImplemented) {
            Py_DECREF(found);
            continue;
        }
        if (found && found != Py_None && gb_py_fused_report(call, flags) < 0) Py_CLEAR(found);
        if (found && found != Py_None)
            __atomic_fetch_add(&self->saved, gb_py_fused_saved(call), __ATOMIC_RELAXED);
        if (found != Py_None) return found;
        Py_DECREF(found);
        break;
    }
    Py_RETURN_NOTIMPLEMENTED;
}

/* np.seterr(**modes), what was in force before. */
static PyObject *set_modes(PyObject *modes) {
    PyObject *set = gb_py_upcall_get(GB_PY_UP_FUSED_MODES);
    GB_PY_OWNED PyObject *none = set ? PyTuple_New(0) : NULL;
    return none ? PyObject_Call(set, none, modes) : NULL;
}

static int report_flags(PyObject *call, PyObject *bytes, PyObject *modes) {
    const char *flags;
    Py_ssize_t n;
    if (gb_py_bytes(bytes, "flags", &flags, &n) < 0) return -1;
    if (modes == Py_None) return gb_py_fused_report(call, (const uint8_t *)flags);
    GB_PY_OWNED PyObject *before = set_modes(modes);
    if (!before) return -1;
    int rc = gb_py_fused_report(call, (const uint8_t *)flags);
    GB_PY_SAVED_ERROR;
    GB_PY_OWNED PyObject *now = set_modes(before);
    return rc;
}

/* Floating-point errors of the steps of a call, reported here, where the caller's line is the
 * current one: a list of (FusedCall, flags, what np.errstate said inside of the function or None),
 * and of what a step that ran unfused raised and would warn of, (name, text). */
static int report(PyObject *parts) {
    for (Py_ssize_t i = 0; i < PyList_Size(parts); i++) {
        PyObject *first, *second, *modes = NULL;
        if (!PyArg_ParseTuple(PyList_GetItem(parts, i), "OO|O", &first, &second, &modes)) return -1;
        if (modes ? report_flags(first, second, modes) < 0
                  : PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "%S encountered in %S", second,
                                     first) < 0)
            return -1;
    }
    return 0;
}

static PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs) {
    operands given;
    int known = read_operands(args, kwargs, &given);
    if (known < 0) return NULL;
    GB_PY_OWNED PyObject *direct = Py_XNewRef(((function_object *)self)->direct);
    PyObject *found = known && direct && PyTuple_CheckExact(direct)
                          ? directly((function_object *)self, direct, &given)
                          : Py_NewRef(Py_NotImplemented);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
    GB_PY_OWNED PyObject *pair =
        gb_py_upcall_on(self, GB_PY_OF_FUSED_CALL, "(OO)", args, kwargs ? kwargs : Py_None);
    PyObject *result, *parts;
    if (!pair || !PyArg_ParseTuple(pair, "OO", &result, &parts) || report(parts) < 0) return NULL;
    return Py_NewRef(result);
}

static PyMemberDef members[] = {
    {"_direct", T_OBJECT, offsetof(function_object, direct), 0, NULL},
    {"saved", T_LONGLONG, offsetof(function_object, saved), 0, NULL},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc}, {Py_tp_traverse, traverse}, {Py_tp_clear, clear},
    {Py_tp_call, call},       {Py_tp_members, members},   {0, NULL},
};

int gb_py_fused_function_init(PyObject *module) {
    static PyTypeObject *type;
    if (!(word_workers = PyUnicode_InternFromString("workers"))) return -1;
    return gb_py_add_type(module, &type,
                          (PyType_Spec){"gridbuf._core.FusedFunction", sizeof(function_object), 0,
                                        GB_PY_OPEN | Py_TPFLAGS_HAVE_GC, slots},
                          NULL);
}

/* ---- functions of the module ---- */

static void free_program(PyObject *capsule) {
    gb_gu_fused_free(PyCapsule_GetPointer(capsule, GB_PY_FUSED_PROGRAM));
}

/* fuse(the program as a list of ints) -> (program, elements of a tile, bytes of scratch memory): Go
 * compiles it (bridge/gufunc.go). */
PyObject *gb_py_fuse(PyObject *self, PyObject *words) {
    GB_PY_OWNED PyObject *list = PySequence_Tuple(words);
    Py_ssize_t n = list ? PyTuple_Size(list) : 0;
    int64_t *encoding = list ? malloc((size_t)(n + 1) * sizeof *encoding) : NULL;
    if (!encoding) return list ? PyErr_NoMemory() : NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        encoding[i] = (int64_t)PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(list, i));
    gb_gu_fused *program = NULL;
    gb_error e;
    int rc = PyErr_Occurred()
                 ? -1
                 : GB_PY_ENTER_GO(&e, gb_py_go->gufunc_fuse(encoding, n, &program, &e));
    free(encoding);
    if (rc < 0) return NULL;
    int tile = program->tile, room = program->room;
    GB_PY_OWNED PyObject *capsule = PyCapsule_New(program, GB_PY_FUSED_PROGRAM, free_program);
    if (!capsule) gb_gu_fused_free(program);
    return capsule ? Py_BuildValue("(Oii)", capsule, tile, room) : NULL;
}

static void idle(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {}

/* idle_ufunc(name, types, inputs): a ufunc of those types that computes nothing: what its result is
 * says what another one's would be. NumPy holds what it is made of for good. */
PyObject *gb_py_idle_ufunc(PyObject *self, PyObject *args) {
    static PyUFuncGenericFunction functions[] = {idle};
    static void *const data[] = {NULL};
    const char *name, *types;
    PyObject *bytes;
    Py_ssize_t n;
    int inputs;
    if (!PyArg_ParseTuple(args, "sOi:idle_ufunc", &name, &bytes, &inputs)) return NULL;
    if (gb_py_bytes(bytes, "types", &types, &n) < 0) return NULL;
    size_t length = strlen(name) + 1;
    char *kept = malloc((size_t)n + length);
    if (!kept) return PyErr_NoMemory();
    memcpy(kept, types, (size_t)n);
    memcpy(kept + n, name, length);
    return PyUFunc_FromFuncAndData(functions, (void **)data, kept, 1, inputs, (int)n - inputs,
                                   PyUFunc_None, kept + n, NULL, 0);
}
