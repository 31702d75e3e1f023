/* ufunc.c: ufuncs on host storages, arrays and numbers. What a call comes to depends on the ufunc, on Metas, shapes and dtypes
 * alone: gridbuf.storage.ufuncs says it once, and it is remembered here. All other calls are Python's. */
#include "storage.h"
#include "../core/upcall.h"

#include <string.h>

#define MOST_INPUTS 2

/* An operand as the answer depends on it; of a number the type alone. Only a storage has a Meta. */
typedef struct { PyObject *meta; int code, ndim; npy_intp shape[GB_PY_STORAGE_AXES]; } operand;

/* Below A_BOOL: the type number of a storage or array; from NUMPY_NUMBER on: that of a number with a dtype. */
enum { A_BOOL = 64, AN_INT, A_FLOAT, A_COMPLEX, NUMPY_NUMBER = 128 };

static int code_of(PyArray_Descr *descr) {
    int type = descr && PyArray_ISNBO(descr->byteorder) ? descr->type_num : -1;
    return type < A_BOOL ? type : -1;
}

/* Its memory, borrowed; NULL for numbers and whatever else. */
static PyArrayObject *array_of(PyObject *obj) {
    if (PyArray_CheckExact(obj)) return (PyArrayObject *)obj;
    return PyObject_TypeCheck(obj, gb_py_StorageType) ? gb_py_storage_host(obj) : NULL;
}

static int describe(PyObject *obj, operand *o) {
    memset(o, 0, sizeof *o);
    if (PyFloat_CheckExact(obj)) return o->code = A_FLOAT;
    if (PyLong_CheckExact(obj)) return o->code = AN_INT;
    if (PyBool_Check(obj)) return o->code = A_BOOL;
    if (PyComplex_CheckExact(obj)) return o->code = A_COMPLEX;
    if (PyArray_IsScalar(obj, Generic)) {
        PyArray_Descr *descr = PyArray_DescrFromScalar(obj);
        int code = code_of(descr);
        Py_XDECREF((PyObject *)descr);
        return o->code = code < 0 ? -1 : NUMPY_NUMBER + code;
    }
    PyArrayObject *host = array_of(obj);
    if (!host || PyArray_NDIM(host) > GB_PY_STORAGE_AXES || (o->code = code_of(PyArray_DESCR(host))) < 0) return -1;
    if (!PyArray_CheckExact(obj)) o->meta = ((gb_py_storage *)obj)->meta;
    else if (PyArray_NDIM(host) == 0) o->code += NUMPY_NUMBER;
    o->ndim = PyArray_NDIM(host);
    for (int i = 0; i < o->ndim; i++) o->shape[i] = PyArray_DIM(host, i);
    return o->code;
}

/* `sources` has for each index of the result the input's, or -1; adapted: they differ. */
typedef struct {
    PyObject *ufunc, *plan, *meta;   /* plan: NULL where there is an out */
    int n, ndim, named, adapted[MOST_INPUTS], sources[MOST_INPUTS][GB_PY_STORAGE_AXES];   /* named: out goes by its name */
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

static call *slot_of(const call *asked) {
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
    PyObject *inputs = gb_py_tuple_of(in, asked->n), *plan, *meta, *sources, *named;
    GB_PY_OWNED PyObject *answer = inputs ? gb_py_upcall_to(GB_PY_UP_STORAGE_PREPARED, "(OOO)", asked->ufunc, inputs, out ? out : Py_None) : NULL;
    Py_XDECREF(inputs);
    int good = answer && answer != Py_None && PyArg_ParseTuple(answer, "OOOO", &plan, &meta, &sources, &named) && PyTuple_Check(sources) && PyTuple_Size(sources) == asked->n;
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
        call *slot = slot_of(asked), before = *slot;
        Py_INCREF(asked->ufunc);
        asked->plan = plan == Py_None ? NULL : Py_NewRef(plan);
        asked->meta = Py_NewRef(meta);
        asked->named = named == Py_True;
        *slot = *asked;
        Py_XDECREF(before.ufunc);
        Py_XDECREF(before.plan);
        Py_XDECREF(before.meta);
        for (int i = 0; i <= before.n && before.ufunc; i++) Py_XDECREF(before.kept[i]);
    } else {
        for (int i = 0; i <= asked->n; i++) Py_CLEAR(asked->kept[i]);
    }
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
    return gb_py_array_view(descr, ndim, shape, strides, PyArray_BYTES(host), 0, (PyObject *)host);
}

/* Where the fastest index is short and an input is repeated along the next, NumPy's loops are short, too: that input is written
 * out for both. NULL without an error: nothing to gain. */
#define SHORT 24
static PyObject *written_out(PyArrayObject *view, PyArrayObject *target) {
    npy_intp shape[GB_PY_STORAGE_AXES], strides[GB_PY_STORAGE_AXES], rest = 1, item = PyArray_ITEMSIZE(view);
    int n = PyArray_NDIM(target), fast = -1, next = -1;
    for (int i = 0; i < n; i++)
        if (PyArray_STRIDE(target, i) == PyArray_ITEMSIZE(target)) fast = i;
    for (int i = 0; i < n && fast >= 0; i++)
        if (i != fast && PyArray_STRIDE(target, i) == PyArray_DIM(target, fast) * PyArray_ITEMSIZE(target)) next = i;
    if (next < 0 || PyArray_DIM(target, fast) > SHORT || PyArray_DIM(view, fast) != PyArray_DIM(target, fast) || PyArray_DIM(view, next) != 1) return NULL;
    for (int i = 0; i < n; i++) {
        shape[i] = i == next ? PyArray_DIM(target, i) : PyArray_DIM(view, i);
        if (i != fast && i != next) rest *= PyArray_DIM(target, i);
        strides[i] = i == fast ? item : i == next ? item * shape[fast] : 0;
        if (i != fast && i != next && shape[i] != 1) return NULL;
    }
    npy_intp count = shape[fast] * shape[next];
    if (rest < 8 || shape[next] < 4) return NULL;
    PyArray_Descr *descr = PyArray_DESCR(view);
    GB_PY_OWNED PyObject *room = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef((PyObject *)descr), 1, &count, NULL, NULL, 0, NULL);
    PyObject *all = NULL;
    if (room) all = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef((PyObject *)descr), n, shape, strides, PyArray_BYTES((PyArrayObject *)room), NPY_ARRAY_WRITEABLE, NULL);
    if (all && (PyArray_SetBaseObject((PyArrayObject *)all, Py_NewRef(room)) < 0 || PyArray_CopyInto((PyArrayObject *)all, view) < 0)) Py_CLEAR(all);
    return all;
}

static PyObject *input_for(const call *known, int i, PyObject *obj, PyArrayObject *target) {
    PyArrayObject *host = known->in[i].code < A_BOOL ? array_of(obj) : NULL;
    if (!host) return Py_NewRef(obj);
    if (!known->adapted[i]) return Py_NewRef((PyObject *)host);
    PyObject *view = adapted(host, known->sources[i], known->ndim), *all = NULL;
    if (view && PyArray_NDIM((PyArrayObject *)view) == PyArray_NDIM(target)) all = written_out((PyArrayObject *)view, target);
    if (!all && !PyErr_Occurred()) return view;
    Py_XDECREF(view);
    return all;
}

/* The caller holds what is in `known`. */
static PyObject *run(const call *known, PyTypeObject *type, PyObject *const *in, PyObject *out) {
    int n = known->n, ready = 1;
    GB_PY_OWNED PyObject *target = out ? Py_XNewRef((PyObject *)gb_py_storage_host(out)) : gb_py_array_of((gb_py_plan_object *)known->plan, 0);
    GB_PY_OWNED PyObject *args = target ? PyTuple_New(n + !known->named) : NULL, *options = NULL, *done = NULL;
    PyObject *made = NULL;
    for (int i = 0; args && ready && i < n; i++) {
        PyObject *one = input_for(known, i, in[i], (PyArrayObject *)target);
        ready = one && PyTuple_SetItem(args, i, one) == 0;
    }
    if (args && ready && known->named) ready = (options = PyDict_New()) && PyDict_SetItem(options, word_out, target) == 0;
    else if (args && ready) ready = PyTuple_SetItem(args, n, Py_NewRef(target)) == 0;
    if (args && ready) done = PyObject_Call(known->ufunc, args, options);
    if (done) made = out ? Py_NewRef(out) : gb_py_storage_new(type, target, Py_None, known->meta, Py_None);
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
        call known = *slot_of(&asked);
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

/* storage_ufunc(ufunc, *inputs, out): the same for operators, without NumPy's search for who answers; out None: a new storage. */
PyObject *gb_py_storage_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs < 3 || nargs > 2 + MOST_INPUTS) return PyErr_Format(PyExc_TypeError, "storage_ufunc() takes a ufunc, one or two inputs and out, got %zd arguments", nargs);
    if (!weak_numbers) Py_RETURN_NOTIMPLEMENTED;
    return quick(args[0], args + 1, (int)nargs - 2, args[nargs - 1] == Py_None ? NULL : args[nargs - 1]);
}
