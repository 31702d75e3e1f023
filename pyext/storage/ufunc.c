/* ufunc.c: ufuncs on host storages and numbers. What a call comes to depends on the ufunc, on Metas, shapes and dtypes alone:
 * gridbuf.storage.ufuncs says it once, and it is remembered here. All other calls are Python's. */
#include "storage.h"
#include "../core/upcall.h"

#include <string.h>

#define MOST_INPUTS 2

/* An operand as the answer depends on it; of a number the type alone. */
typedef struct { PyObject *meta; int code, ndim; npy_intp shape[GB_PY_STORAGE_AXES]; } operand;

enum { A_BOOL = 64, AN_INT, A_FLOAT, A_COMPLEX };   /* below: the type number of an array */

static int describe(PyObject *obj, operand *o) {
    memset(o, 0, sizeof *o);
    if (PyFloat_CheckExact(obj)) return o->code = A_FLOAT;
    if (PyLong_CheckExact(obj)) return o->code = AN_INT;
    if (PyBool_Check(obj)) return o->code = A_BOOL;
    if (PyComplex_CheckExact(obj)) return o->code = A_COMPLEX;
    PyArrayObject *host = PyObject_TypeCheck(obj, gb_py_StorageType) ? gb_py_storage_host(obj) : NULL;
    if (!host || !PyArray_ISNBO(PyArray_DESCR(host)->byteorder)) return -1;
    int type = PyArray_TYPE(host);
    if (type < 0 || type >= A_BOOL) return -1;
    o->meta = ((gb_py_storage *)obj)->meta;
    o->code = type;
    o->ndim = PyArray_NDIM(host);
    for (int i = 0; i < o->ndim; i++) o->shape[i] = PyArray_DIM(host, i);
    return o->code;
}

/* `sources` has for each index of the result the input's, or -1; adapted: they differ. */
typedef struct {
    PyObject *ufunc, *plan, *meta;   /* plan: NULL where there is an out */
    int n, ndim, adapted[MOST_INPUTS], sources[MOST_INPUTS][GB_PY_STORAGE_AXES];
    operand in[MOST_INPUTS], out;    /* out.code is -1 where there is none */
    PyObject *kept[MOST_INPUTS + 1]; /* their Metas, so that no other comes to lie there */
} call;

#define REMEMBERED 128
static call calls[REMEMBERED];
static PyObject *word_out;
static int weak_numbers;   /* NumPy 2: a Python number takes the array's dtype, whatever its value */

int gb_py_storage_ufunc_init(void) {
    weak_numbers = PyArray_GetNDArrayCFeatureVersion() >= 0x12;
    return (word_out = PyUnicode_InternFromString("out")) ? 0 : -1;
}

static int same(const operand *a, const operand *b) { return memcmp(a, b, sizeof *a) == 0; }

static call *place_of(const call *asked) {
    uint64_t h = (uintptr_t)asked->ufunc >> 4;
    for (int i = 0; i <= asked->n; i++) {
        const operand *o = i < asked->n ? &asked->in[i] : &asked->out;
        h = (h ^ (uintptr_t)o->meta >> 4 ^ (uint64_t)o->code << 48) * 0x9E3779B97F4A7C15u;
        h = (h ^ h >> 31 ^ (uint64_t)o->shape[0] ^ (uint64_t)o->shape[1] << 20 ^ (uint64_t)o->shape[2] << 40) * 0xBF58476D1CE4E5B9u;
    }
    return &calls[(h >> 33) % REMEMBERED];
}

static int is_call(const call *known, const call *asked) {
    if (known->ufunc != asked->ufunc || known->n != asked->n || !same(&known->out, &asked->out)) return 0;
    for (int i = 0; i < asked->n; i++)
        if (!same(&known->in[i], &asked->in[i])) return 0;
    return 1;
}

static int read_sources(PyObject *list, int *sources, int *ndim) {
    Py_ssize_t n = PyTuple_Check(list) ? PyTuple_Size(list) : -1;
    if (n < 0 || n > GB_PY_STORAGE_AXES) return 0;
    for (Py_ssize_t i = 0; i < n; i++) sources[i] = (int)PyLong_AsLong(PyTuple_GetItem(list, i));
    *ndim = (int)n;
    return !PyErr_Occurred();
}

/* 1: remembered; 0: nothing to remember; -1: an error. */
static int ask(call *asked, PyObject *const *in, PyObject *out) {
    for (int i = 0; i < asked->n; i++) asked->kept[i] = Py_XNewRef(asked->in[i].meta);   /* storages may get others meanwhile */
    asked->kept[asked->n] = Py_XNewRef(asked->out.meta);
    PyObject *inputs = PyTuple_New(asked->n), *plan, *meta, *sources;
    for (int i = 0; inputs && i < asked->n; i++) PyTuple_SetItem(inputs, i, Py_NewRef(in[i]));
    PyObject *answer = inputs ? gb_py_upcall_to(GB_PY_UP_STORAGE_PREPARED, "(OOO)", asked->ufunc, inputs, out ? out : Py_None) : NULL;
    Py_XDECREF(inputs);
    int good = answer && answer != Py_None && PyArg_ParseTuple(answer, "OOO", &plan, &meta, &sources) && PyTuple_Check(sources) && PyTuple_Size(sources) == asked->n;
    for (int i = 0; i < asked->n && good; i++) {
        PyObject *one = PyTuple_GetItem(sources, i);
        asked->adapted[i] = one != Py_None;
        if (asked->adapted[i]) good = read_sources(one, asked->sources[i], &asked->ndim);
    }
    if (good && plan != Py_None && (Py_TYPE(plan) != gb_py_PlanType || ((gb_py_plan_object *)plan)->plan->device != GB_CPU)) good = 0;
    operand now;   /* what was answered is about the storages as they are now: it is remembered if that is as they were */
    for (int i = 0; i < asked->n && good; i++) good = describe(in[i], &now) >= 0 && same(&now, &asked->in[i]);
    if (good && out) good = describe(out, &now) >= 0 && same(&now, &asked->out);
    if (good) {
        call *place = place_of(asked), before = *place;
        Py_INCREF(asked->ufunc);
        asked->plan = plan == Py_None ? NULL : Py_NewRef(plan);
        asked->meta = Py_NewRef(meta);
        *place = *asked;
        Py_XDECREF(before.ufunc);
        Py_XDECREF(before.plan);
        Py_XDECREF(before.meta);
        for (int i = 0; i <= before.n && before.ufunc; i++) Py_XDECREF(before.kept[i]);
    } else {
        for (int i = 0; i <= asked->n; i++) Py_CLEAR(asked->kept[i]);
    }
    Py_XDECREF(answer);
    return PyErr_Occurred() ? -1 : good;
}

/* The host array of an input with its indices where the result has them. */
static PyObject *adapted(PyArrayObject *host, const int *sources, int ndim) {
    npy_intp shape[GB_PY_STORAGE_AXES], strides[GB_PY_STORAGE_AXES];
    for (int i = 0; i < ndim; i++) {
        int from = sources[i];
        if (from >= PyArray_NDIM(host)) return Py_NewRef((PyObject *)host);   /* cannot be: they were described just now */
        shape[i] = from < 0 ? 1 : PyArray_DIM(host, from);
        strides[i] = from < 0 ? 0 : PyArray_STRIDE(host, from);
    }
    PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(host));
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, strides, PyArray_BYTES(host), 0, NULL);
    if (view && PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef((PyObject *)host)) < 0) Py_CLEAR(view);
    return view;
}

/* The caller holds what is in `known`. */
static PyObject *run(const call *known, PyTypeObject *type, PyObject *const *in, PyObject *out) {
    PyObject *args = NULL, *options = NULL, *made = NULL, *done = NULL, *target, *arrays[MOST_INPUTS] = {NULL, NULL};
    int n = known->n, ready = 1;
    for (int i = 0; i < n; i++) {
        PyArrayObject *host = known->in[i].meta ? gb_py_storage_host(in[i]) : NULL;
        arrays[i] = !host ? Py_NewRef(in[i]) : known->adapted[i] ? adapted(host, known->sources[i], known->ndim) : Py_NewRef((PyObject *)host);
        ready = ready && arrays[i];
    }
    target = !ready ? NULL : out ? Py_XNewRef((PyObject *)gb_py_storage_host(out)) : gb_py_array_of((gb_py_plan_object *)known->plan, 0);
    if (target && (args = PyTuple_New(n)) && (options = PyDict_New()) && PyDict_SetItem(options, word_out, target) == 0) {
        for (int i = 0; i < n; i++) PyTuple_SetItem(args, i, Py_NewRef(arrays[i]));
        done = PyObject_Call(known->ufunc, args, options);   /* out as a keyword: NumPy frowns on a third argument of maximum */
        if (done) made = out ? Py_NewRef(out) : gb_py_storage_new(type, target, Py_None, known->meta, Py_None);
    }
    for (int i = 0; i < n; i++) Py_XDECREF(arrays[i]);
    Py_XDECREF(args);
    Py_XDECREF(options);
    Py_XDECREF(target);
    Py_XDECREF(done);
    return made || PyErr_Occurred() ? made : Py_NewRef(Py_NotImplemented);
}

/* NotImplemented: for Python. */
static PyObject *quick(PyObject *ufunc, PyObject *const *in, int n, PyObject *out) {
    PyTypeObject *type = NULL;
    for (int round = 0; round < 2; round++) {   /* the second finds what the first has asked for */
        call asked = {.ufunc = ufunc, .n = n, .out = {.code = -1}};
        for (int i = 0; i < n; i++) {
            if (describe(in[i], &asked.in[i]) < 0) Py_RETURN_NOTIMPLEMENTED;
            if (!asked.in[i].meta) continue;
            if (type && type != Py_TYPE(in[i])) Py_RETURN_NOTIMPLEMENTED;
            type = Py_TYPE(in[i]);
        }
        if (!type || (out && (describe(out, &asked.out) < 0 || !asked.out.meta || Py_TYPE(out) != type))) Py_RETURN_NOTIMPLEMENTED;
        call known = *place_of(&asked);
        if (is_call(&known, &asked)) {
            PyObject *hold = PyTuple_Pack(3, known.ufunc, known.meta, known.plan ? known.plan : Py_None);   /* another call may take the place */
            PyObject *result = hold ? run(&known, type, in, out) : NULL;
            Py_XDECREF(hold);
            return result;
        }
        int told = round ? 0 : ask(&asked, in, out);
        if (told < 0) return NULL;
        if (told == 0) break;
    }
    Py_RETURN_NOTIMPLEMENTED;
}

PyObject *gb_py_storage_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs) {
    Py_ssize_t n = PyTuple_Size(args), given = kwargs ? PyDict_Size(kwargs) : 0;
    if (n < 3) return PyErr_Format(PyExc_TypeError, "__array_ufunc__(ufunc, method, *inputs, **kwargs): %zd arguments given", n);
    PyObject *method = PyTuple_GetItem(args, 1), *out = NULL;
    int simple = weak_numbers && PyUnicode_Check(method) && PyUnicode_CompareWithASCIIString(method, "__call__") == 0 && n <= 2 + MOST_INPUTS;
    if (simple && given) {
        PyObject *outs = PyDict_GetItemWithError(kwargs, word_out);
        simple = given == 1 && outs && PyTuple_Check(outs) && PyTuple_Size(outs) == 1;
        out = simple ? PyTuple_GetItem(outs, 0) : NULL;
    }
    if (simple) {
        PyObject *in[MOST_INPUTS] = {PyTuple_GetItem(args, 2), n > 3 ? PyTuple_GetItem(args, 3) : NULL};
        PyObject *result = quick(PyTuple_GetItem(args, 0), in, (int)n - 2, out);
        if (result != Py_NotImplemented) return result;
        Py_DECREF(result);
    }
    PyObject *function = gb_py_upcall_get(GB_PY_UP_STORAGE_UFUNC), *all = function ? PyTuple_New(n + 1) : NULL;
    for (Py_ssize_t i = 0; all && i <= n; i++) PyTuple_SetItem(all, i, Py_NewRef(i ? PyTuple_GetItem(args, i - 1) : self));
    PyObject *result = all ? PyObject_Call(function, all, kwargs) : NULL;
    Py_XDECREF(all);
    return result;
}
