/* storage_ufuncs.c: ufuncs of host storages, arrays, host Fields and numbers. A call depends on the
 * ufunc, on Metas, shapes and dtypes alone: gridbuf/named/ufuncs.py resolves it once (`prepared`),
 * and the resolution is remembered here. All other calls are Python's. */
#include "named.h"

#define MOST_INPUTS 2

/* An operand as the answer depends on it; of a number the type alone. Compared as bytes: all of it
 * is zeroed first. */
typedef struct {
    PyObject *meta; /* a storage's */
    int code, ndim;
    npy_intp shape[GB_PY_STORAGE_AXES];
    int64_t halo[2 * GB_PY_STORAGE_AXES]; /* a Field's: without one zeros, which say the same */
    char letters[GB_PY_STORAGE_AXES];     /* of a Field with names */
} operand;

enum { NUMPY_NUMBER = 128 }; /* added to the code of a number with a dtype */

static int describe_field(const gb_py_field *f, operand *o) {
    if ((o->ndim = f->geometry.ndim) > GB_PY_STORAGE_AXES || o->ndim == 0) return -1;
    for (int i = 0; i < o->ndim; i++) {
        o->shape[i] = f->geometry.shape[i];
        if (f->dims_given && f->geometry.dims[i] >= 0) return -1;
        if (f->dims_given) o->letters[i] = GB_DIM_LETTER(f->geometry.dims[i]);
    }
    if (f->halo) memcpy(o->halo, f->halo, 2 * (size_t)o->ndim * sizeof *f->halo);
    return o->code = gb_py_code_of(f->dtype->descr);
}

static int describe_array(PyArrayObject *array, PyObject *meta, operand *o) {
    if ((o->ndim = PyArray_NDIM(array)) > GB_PY_STORAGE_AXES ||
        (o->code = gb_py_code_of(PyArray_DESCR(array))) < 0)
        return -1;
    o->meta = meta;
    if (!meta && o->ndim == 0) o->code += NUMPY_NUMBER;
    for (int i = 0; i < o->ndim; i++) o->shape[i] = PyArray_DIM(array, i);
    return o->code;
}

static int describe(PyObject *obj, operand *o) {
    memset(o, 0, sizeof *o);
    if (gb_py_is_storage(obj)) {
        PyArrayObject *host = gb_py_storage_host(obj);
        return host ? describe_array(host, ((gb_py_storage *)obj)->meta, o) : -1;
    }
    if (PyArray_CheckExact(obj)) return describe_array((PyArrayObject *)obj, NULL, o);
    if (gb_py_is_plain_field(obj)) return describe_field((gb_py_field *)obj, o);
    int code = gb_py_code_of_number(obj);
    return o->code = code < 0 || code >= GB_PY_A_BOOL ? code : NUMPY_NUMBER + code;
}

/* The ndarray of what has one; a number itself. */
static PyObject *bare(PyObject *obj) {
    if (gb_py_is_plain_field(obj)) return gb_py_field_numpy(obj, NULL);
    PyObject *host = gb_py_is_storage(obj) ? (PyObject *)gb_py_storage_host(obj) : NULL;
    return Py_NewRef(host ? host : obj);
}

/* `sources` has for each index of the result the input's, or -1; adapted: they differ. */
typedef struct {
    PyObject *ufunc, *plan, *meta; /* plan: NULL where there is an out */
    int n, ndim, named, adapted[MOST_INPUTS],
        sources[MOST_INPUTS][GB_PY_STORAGE_AXES]; /* named: out goes by its name */
    operand in[MOST_INPUTS], out;                 /* out.code is -1 where there is none */
    PyObject *kept[MOST_INPUTS + 1]; /* their Metas, so that no other comes to lie there */
} call;

#define REMEMBERED 128
static call calls[REMEMBERED];
static int same(const operand *a, const operand *b) { return memcmp(a, b, sizeof *a) == 0; }

static call *slot_of(const call *asked) {
    uint64_t h = (uintptr_t)asked->ufunc >> 4;
    for (int i = 0; i <= asked->n; i++) {
        const operand *o = i < asked->n ? &asked->in[i] : &asked->out;
        h = (h ^ (uintptr_t)o->meta >> 4 ^ (uint64_t)o->code << 48) * 0x9E3779B97F4A7C15u;
        h = (h ^ h >> 31 ^ (uint64_t)o->shape[0] ^ (uint64_t)o->shape[1] << 20 ^
             (uint64_t)o->shape[2] << 40) *
            0xBF58476D1CE4E5B9u;
    }
    return &calls[(h >> 33) % REMEMBERED];
}

static int is_call(const call *known, const call *asked) {
    if (known->ufunc != asked->ufunc || known->n != asked->n || !same(&known->out, &asked->out))
        return 0;
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
    for (int i = 0; i < asked->n; i++)
        asked->kept[i] = Py_XNewRef(asked->in[i].meta); /* storages may get others meanwhile */
    asked->kept[asked->n] = Py_XNewRef(asked->out.meta);
    PyObject *plan, *meta, *sources, *named;
    GB_PY_OWNED PyObject *inputs = gb_py_tuple_of(in, asked->n);
    GB_PY_OWNED PyObject *answer = inputs
                                       ? gb_py_upcall_to(GB_PY_UP_STORAGE_PREPARED, "(OOO)",
                                                         asked->ufunc, inputs, out ? out : Py_None)
                                       : NULL;
    int good = answer && answer != Py_None &&
               PyArg_ParseTuple(answer, "OOOO", &plan, &meta, &sources, &named) &&
               PyTuple_Check(sources) && PyTuple_Size(sources) == asked->n;
    for (int i = 0; i < asked->n && good; i++) {
        PyObject *one = PyTuple_GetItem(sources, i);
        asked->adapted[i] = one != Py_None;
        if (asked->adapted[i]) good = read_sources(one, asked->sources[i], &asked->ndim);
    }
    if (good && plan != Py_None &&
        (Py_TYPE(plan) != gb_py_PlanType || ((gb_py_plan_object *)plan)->plan->device != GB_CPU))
        good = 0;
    operand now; /* what was answered is about the storages as they are now: it is remembered if
                    that is as they were */
    for (int i = 0; i < asked->n && good; i++)
        good = describe(in[i], &now) >= 0 && same(&now, &asked->in[i]);
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
        if (from >= PyArray_NDIM(host))
            return Py_NewRef((PyObject *)host); /* cannot be: they were described just now */
        shape[i] = from < 0 ? 1 : PyArray_DIM(host, from);
        strides[i] = from < 0 ? 0 : PyArray_STRIDE(host, from);
    }
    return gb_py_array_view(PyArray_DESCR(host), ndim, shape, strides, PyArray_BYTES(host), 0,
                            (PyObject *)host);
}

/* `fresh`: nothing of the target is read, so it may hold the input. */
static PyObject *input_for(const call *known, int i, PyObject *obj, PyArrayObject *target,
                           int fresh) {
    if (!known->adapted[i]) return bare(obj);
    GB_PY_OWNED PyObject *array = bare(obj), *view = array && PyArray_Check(array)
                                                         ? adapted((PyArrayObject *)array,
                                                                   known->sources[i], known->ndim)
                                                         : NULL;
    if (!view) return NULL;
    PyObject *all = PyArray_NDIM((PyArrayObject *)view) == PyArray_NDIM(target)
                        ? gb_py_storage_spread((PyArrayObject *)view, target, fresh)
                        : NULL;
    return all || PyErr_Occurred() ? all : Py_NewRef(view);
}

static PyObject *call_with(PyObject *ufunc, PyObject *a, PyObject *b, PyObject *target) {
    return b ? PyObject_CallFunctionObjArgs(ufunc, a, b, target, NULL)
             : PyObject_CallFunctionObjArgs(ufunc, a, target, NULL);
}

/* The caller holds what is in `known`. */
static PyObject *run(const call *known, PyTypeObject *type, PyObject *const *in, PyObject *out) {
    GB_PY_OWNED PyObject *target = out ? Py_XNewRef((PyObject *)gb_py_storage_host(out))
                                       : gb_py_array_of((gb_py_plan_object *)known->plan, 0);
    int fresh = !out && !(known->adapted[0] && known->adapted[1]);
    GB_PY_OWNED PyObject *a = target ? input_for(known, 0, in[0], (PyArrayObject *)target, fresh)
                                     : NULL,
                         *done = NULL;
    GB_PY_OWNED PyObject *b =
        a && known->n > 1 ? input_for(known, 1, in[1], (PyArrayObject *)target, fresh) : NULL;
    if (!a || (known->n > 1 && !b)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    int quickly = gb_py_elementwise_arrays(known->ufunc, (PyObject *[]){a, b}, known->n, target);
    if (quickly == 0)
        done = (known->named ? gb_py_ufunc_into : call_with)(known->ufunc, a, b, target);
    if (quickly < 0 || (quickly == 0 && !done))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    return out ? Py_NewRef(out) : gb_py_storage_new(type, target, Py_None, known->meta, Py_None);
}

static PyTypeObject *plain; /* CPUStorage, once it was met */

/* Whether a class leaves ufuncs to its base. */
static int inherits(PyTypeObject *type) {
    if ((PyObject *)type == gb_py_upcall_get(GB_PY_UP_CPU_STORAGE)) return plain = type, 1;
    GB_PY_OWNED PyObject *own = PyObject_GetAttrString((PyObject *)type, "__array_ufunc__"),
                         *base = PyObject_GetAttrString((PyObject *)gb_py_StorageType,
                                                        "__array_ufunc__");
    PyErr_Clear();
    return own == base;
}

/* asks: their class asks, whichever it is. */
static PyObject *answered(PyObject *ufunc, PyObject *const *in, int n, PyObject *out, int asks) {
    PyTypeObject *type = NULL;
    if (!gb_py_weak_numbers) Py_RETURN_NOTIMPLEMENTED;
    for (int round = 0; round < 2; round++) { /* the second finds what the first has asked for */
        call asked = {.ufunc = ufunc, .n = n, .out = {.code = -1}};
        for (int i = 0; i < n; i++) {
            if (describe(in[i], &asked.in[i]) < 0) Py_RETURN_NOTIMPLEMENTED;
            if (!asked.in[i].meta) continue;
            if (type && type != Py_TYPE(in[i])) Py_RETURN_NOTIMPLEMENTED;
            type = Py_TYPE(in[i]);
        }
        if (!type ||
            (out && (describe(out, &asked.out) < 0 || !asked.out.meta || Py_TYPE(out) != type)))
            Py_RETURN_NOTIMPLEMENTED;
        if (type != plain && !asks && !inherits(type)) Py_RETURN_NOTIMPLEMENTED;
        call known = *slot_of(&asked);
        if (is_call(&known, &asked)) {
            Py_INCREF(known.meta); /* another call may take the place */
            Py_XINCREF(known.plan);
            PyObject *result = run(&known, type, in, out);
            Py_DECREF(known.meta);
            Py_XDECREF(known.plan);
            return result;
        }
        int told = round ? 0 : ask(&asked, in, out);
        if (told < 0) return NULL;
        if (told == 0) break;
    }
    Py_RETURN_NOTIMPLEMENTED;
}

PyObject *gb_py_storage_quick(PyObject *ufunc, PyObject *const *in, int n, PyObject *out) {
    return answered(ufunc, in, n, out, 0);
}
static PyObject *of_class(PyObject *ufunc, PyObject *const *in, int n, PyObject *out) {
    return answered(ufunc, in, n, out, 1);
}

PyObject *gb_py_storage_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs) {
    PyObject *found = gb_py_ufunc_reduced(args, kwargs);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
    return gb_py_array_ufunc(of_class, GB_PY_UP_STORAGE_UFUNC, args, kwargs);
}
