/* ufuncs.c: ufuncs of host Fields, host storages, arrays and numbers, joined by name. A call
 * depends on the ufunc, on names, shapes, halos, layouts and dtypes alone: gridbuf/named/ufuncs.py
 * resolves it once (`prepared`), and the resolution is remembered here. All other calls are
 * Python's. */
#include "named.h"

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL gridbuf_UFUNC_API
#include <numpy/ufuncobject.h>

#define MOST_INPUTS 2

/* An operand as the resolution depends on it; of a number the type alone. Compared as bytes: all of
 * it is zeroed first. */
typedef struct {
    PyObject *owner; /* a storage's Meta, or the plan that a Field was made from */
    int code, ndim, is_storage, has_halo, has_origin, named;
    npy_intp shape[GB_PY_STORAGE_AXES];
    int64_t strides[GB_PY_STORAGE_AXES]; /* of a Field that is a view */
    int64_t halo[2 * GB_PY_STORAGE_AXES], origin[GB_PY_STORAGE_AXES];
    char letters[GB_PY_STORAGE_AXES];
} operand;

enum { NUMPY_NUMBER = 128 }; /* added to the code of a number with a dtype */

static int describe_field(const gb_py_field *f, operand *o) {
    size_t n = (size_t)f->geometry.ndim;
    if (n > GB_PY_STORAGE_AXES || n == 0) return -1;
    o->ndim = (int)n;
    o->named = f->dims_given;
    for (size_t i = 0; i < n; i++) {
        if (f->geometry.dims[i] >= 0) return -1; /* a data dimension */
        o->shape[i] = f->geometry.shape[i];
        o->letters[i] = GB_DIM_LETTER(f->geometry.dims[i]);
    }
    o->owner = f->lists ? NULL : (PyObject *)f->plan;
    if (f->lists) memcpy(o->strides, f->geometry.strides, n * sizeof *o->strides);
    o->has_halo = f->halo != NULL;
    o->has_origin = f->origin != NULL;
    if (f->halo) memcpy(o->halo, f->halo, 2 * n * sizeof *f->halo);
    if (f->origin) memcpy(o->origin, f->origin, n * sizeof *f->origin);
    return o->code = gb_py_code_of(f->dtype->descr);
}

static int describe_array(PyArrayObject *array, PyObject *meta, operand *o) {
    if ((o->ndim = PyArray_NDIM(array)) > GB_PY_STORAGE_AXES ||
        (o->code = gb_py_code_of(PyArray_DESCR(array))) < 0)
        return -1;
    o->owner = meta;
    o->is_storage = meta != NULL;
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

/* ---- what is remembered ---- */

typedef struct {
    PyObject *ufunc;
    int n;
    operand in[MOST_INPUTS], out; /* out.code is -1 where there is none */
} question;

/* `sources` has for each index of the result the input's, or -1; adapted: they differ. */
typedef struct {
    PyObject *plan, *meta; /* of a new result: NULL where there is an out; meta of a storage */
    int ndim, out_by_name, adapted[MOST_INPUTS], sources[MOST_INPUTS][GB_PY_STORAGE_AXES];
    int named, has_halo, has_origin; /* of a Field */
    int64_t halo[2 * GB_PY_STORAGE_AXES], origin[GB_PY_STORAGE_AXES];
} resolution;

typedef struct {
    question asked;
    resolution known;
} call;

#define REMEMBERED 128
static call calls[REMEMBERED];
static int same(const operand *a, const operand *b) { return memcmp(a, b, sizeof *a) == 0; }

static call *slot_of(const question *q) {
    uint64_t h = (uintptr_t)q->ufunc >> 4;
    for (int i = 0; i <= q->n; i++) {
        const operand *o = i < q->n ? &q->in[i] : &q->out;
        h = (h ^ (uintptr_t)o->owner >> 4 ^ (uint64_t)o->code << 48) * 0x9E3779B97F4A7C15u;
        h = (h ^ h >> 31 ^ (uint64_t)o->shape[0] ^ (uint64_t)o->shape[1] << 20 ^
             (uint64_t)o->shape[2] << 40) *
            0xBF58476D1CE4E5B9u;
    }
    return &calls[(h >> 33) % REMEMBERED];
}

static int is_call(const call *c, const question *q) {
    if (c->asked.ufunc != q->ufunc || c->asked.n != q->n || !same(&c->asked.out, &q->out)) return 0;
    for (int i = 0; i < q->n; i++)
        if (!same(&c->asked.in[i], &q->in[i])) return 0;
    return 1;
}

/* ---- a call that is not known: gridbuf/named/ufuncs.py ---- */

static int read_numbers(PyObject *tuple, int n, int64_t *numbers) {
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != n) return 0;
    for (int i = 0; i < n; i++) numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    return !PyErr_Occurred();
}

static int read_sources(PyObject *tuple, resolution *r, int input) {
    int64_t numbers[GB_PY_STORAGE_AXES];
    r->adapted[input] = tuple != Py_None;
    if (!r->adapted[input]) return 1;
    Py_ssize_t n = PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    if (n < 0 || n > GB_PY_STORAGE_AXES || !read_numbers(tuple, (int)n, numbers)) return 0;
    r->ndim = (int)n;
    for (int i = 0; i < (int)n; i++) r->sources[input][i] = (int)numbers[i];
    return 1;
}

/* A Field's names given, halo (a row of numbers or None) and origin. */
static int read_field(PyObject *of_field, int ndim, resolution *r) {
    PyObject *named, *halo, *origin;
    if (!PyTuple_Check(of_field) || !PyArg_ParseTuple(of_field, "OOO", &named, &halo, &origin))
        return 0;
    r->named = named == Py_True;
    r->has_halo = halo != Py_None;
    r->has_origin = origin != Py_None;
    return ndim <= GB_PY_STORAGE_AXES && (!r->has_halo || read_numbers(halo, 2 * ndim, r->halo)) &&
           (!r->has_origin || read_numbers(origin, ndim, r->origin));
}

/* The answer (plan, a storage's Meta or what a Field has, sources, out by name), with references to
 * plan and Meta. 0: nothing to remember. */
static int read_answer(PyObject *answer, const question *q, int of_storages, resolution *r) {
    PyObject *plan, *result, *sources, *by_name;
    if (answer == Py_None || !PyArg_ParseTuple(answer, "OOOO", &plan, &result, &sources, &by_name))
        return 0;
    memset(r, 0, sizeof *r);
    if (!PyTuple_Check(sources) || PyTuple_Size(sources) != q->n) return 0;
    for (int i = 0; i < q->n; i++)
        if (!read_sources(PyTuple_GetItem(sources, i), r, i)) return 0;
    r->out_by_name = by_name == Py_True;
    if (plan != Py_None) {
        if (Py_TYPE(plan) != gb_py_PlanType) return 0;
        const gb_plan *p = ((gb_py_plan_object *)plan)->plan;
        if (p->device != GB_CPU || p->memory != GB_PLAIN) return 0;
        if (!of_storages && !read_field(result, p->geometry.ndim, r)) return 0;
        r->plan = Py_NewRef(plan);
    }
    r->meta = of_storages ? Py_NewRef(result) : NULL;
    return 1;
}

/* Operands may have changed while Python answered. */
static int still(const question *q, PyObject *const *in, PyObject *out) {
    operand now;
    for (int i = 0; i < q->n; i++)
        if (describe(in[i], &now) < 0 || !same(&now, &q->in[i])) return 0;
    return !out || (describe(out, &now) >= 0 && same(&now, &q->out));
}

/* Takes over the references of the resolution, and holds all that the question names. */
static void remember(const question *q, const resolution *r) {
    call *slot = slot_of(q), before = *slot;
    Py_INCREF(q->ufunc);
    for (int i = 0; i < q->n; i++) Py_XINCREF(q->in[i].owner);
    Py_XINCREF(q->out.owner);
    slot->asked = *q;
    slot->known = *r;
    Py_XDECREF(before.known.plan);
    Py_XDECREF(before.known.meta);
    for (int i = 0; i < before.asked.n; i++) Py_XDECREF(before.asked.in[i].owner);
    Py_XDECREF(before.asked.out.owner);
    Py_XDECREF(before.asked.ufunc);
}

/* 1: the resolution, with references to its plan and Meta; 0: not for here; -1: an error. */
static int resolve(const question *q, PyObject *const *in, PyObject *out, int of_storages,
                   resolution *r) {
    GB_PY_OWNED PyObject *inputs = gb_py_tuple_of(in, q->n);
    gb_py_upcall python = of_storages ? GB_PY_UP_STORAGE_PREPARED : GB_PY_UP_FIELD_PREPARED;
    GB_PY_OWNED PyObject *first = Py_XNewRef(q->in[0].owner), /* storages may get other Metas */
        *second = Py_XNewRef(q->n > 1 ? q->in[1].owner : NULL), *third = Py_XNewRef(q->out.owner);
    GB_PY_OWNED PyObject *answer =
        inputs ? gb_py_upcall_to(python, "(OOO)", q->ufunc, inputs, out ? out : Py_None) : NULL;
    if (!answer) return -1;
    if (!read_answer(answer, q, of_storages, r)) return PyErr_Occurred() ? -1 : 0;
    if (still(q, in, out)) {
        Py_XINCREF(r->plan);
        Py_XINCREF(r->meta);
        remember(q, r);
        return 1;
    }
    Py_XDECREF(r->plan);
    Py_XDECREF(r->meta);
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- the call ---- */

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
static PyObject *input_for(const resolution *known, int i, PyObject *obj, PyArrayObject *target,
                           int fresh) {
    if (!known->adapted[i]) return bare(obj);
    GB_PY_OWNED PyObject *array = bare(obj), *view = array && PyArray_Check(array)
                                                         ? adapted((PyArrayObject *)array,
                                                                   known->sources[i], known->ndim)
                                                         : NULL;
    if (!view) return NULL;
    PyObject *all = PyArray_NDIM((PyArrayObject *)view) == PyArray_NDIM(target)
                        ? gb_py_materialise((PyArrayObject *)view, target, fresh)
                        : NULL;
    return all || PyErr_Occurred() ? all : Py_NewRef(view);
}

static PyObject *call_with(PyObject *ufunc, PyObject *a, PyObject *b, PyObject *target) {
    return b ? PyObject_CallFunctionObjArgs(ufunc, a, b, target, NULL)
             : PyObject_CallFunctionObjArgs(ufunc, a, target, NULL);
}

/* A new Field as resolved. */
static PyObject *new_field(const resolution *r) {
    gb_py_field *f = gb_py_field_over_plan((gb_py_plan_object *)r->plan, 0);
    if (!f) return NULL;
    size_t n = (size_t)f->geometry.ndim;
    f->dims_given = (uint8_t)r->named;
    if (gb_py_field_room(f, r->has_origin, r->has_halo) < 0) Py_CLEAR(f);
    if (f && r->has_halo) memcpy(f->halo, r->halo, 2 * n * sizeof *f->halo);
    if (f && r->has_origin) memcpy(f->origin, r->origin, n * sizeof *f->origin);
    return (PyObject *)f;
}

/* type: of the storages; NULL for Fields. The caller holds what is in `r`. */
static PyObject *run(const resolution *r, PyObject *ufunc, PyTypeObject *type, PyObject *const *in,
                     int n, PyObject *out) {
    GB_PY_OWNED PyObject *field = type ? NULL : out ? Py_NewRef(out) : new_field(r);
    if (!type && !field) return NULL;
    GB_PY_OWNED PyObject *target = !type ? gb_py_field_numpy(field, NULL)
                                   : out ? Py_XNewRef((PyObject *)gb_py_storage_host(out))
                                         : gb_py_array_of((gb_py_plan_object *)r->plan, 0);
    int fresh = !out && !(r->adapted[0] && r->adapted[1]);
    GB_PY_OWNED PyObject *a =
        target ? input_for(r, 0, in[0], (PyArrayObject *)target, fresh) : NULL;
    GB_PY_OWNED PyObject *b =
        a && n > 1 ? input_for(r, 1, in[1], (PyArrayObject *)target, fresh) : NULL;
    if (!a || (n > 1 && !b)) return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    int quickly = gb_py_elementwise_arrays(ufunc, (PyObject *[]){a, b}, n, target);
    GB_PY_OWNED PyObject *done =
        quickly == 0 ? (r->out_by_name ? gb_py_ufunc_into : call_with)(ufunc, a, b, target) : NULL;
    if (quickly < 0 || (quickly == 0 && !done))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    if (out || !type) return Py_NewRef(out ? out : field);
    return gb_py_storage_new(type, target, Py_None, r->meta, Py_None);
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

/* The class of the storages that take part, NULL without any. 0: not for here. */
static int read_operands(question *q, PyObject *const *in, PyObject *out, PyTypeObject **type) {
    int fields = 0;
    *type = NULL;
    for (int i = 0; i < q->n; i++) {
        if (describe(in[i], &q->in[i]) < 0) return 0;
        fields += gb_py_is_field(in[i]);
        if (!q->in[i].is_storage) continue;
        if (*type && *type != Py_TYPE(in[i])) return 0;
        *type = Py_TYPE(in[i]);
    }
    if (!*type && !fields) return 0;
    if (!out) return 1;
    if (describe(out, &q->out) < 0) return 0;
    return *type ? q->out.is_storage && Py_TYPE(out) == *type
                 : gb_py_is_field(out) && !((gb_py_field *)out)->readonly;
}

static int is_plain_ufunc(PyObject *ufunc, int n) {
    const PyUFuncObject *u = (PyUFuncObject *)ufunc;
    return Py_TYPE(ufunc) == Py_TYPE(gb_py_ufuncs[GB_PY_U_ADD]) && u->nin == n && u->nout == 1 &&
           !u->core_enabled;
}

/* asks: the operands' class asks, whichever it is. */
static PyObject *answered(PyObject *ufunc, PyObject *const *in, int n, PyObject *out, int asks) {
    question q = {.ufunc = ufunc, .n = n, .out = {.code = -1}};
    resolution r;
    PyTypeObject *type;
    if (!gb_py_weak_numbers || n > MOST_INPUTS || !is_plain_ufunc(ufunc, n) ||
        !read_operands(&q, in, out, &type))
        Py_RETURN_NOTIMPLEMENTED;
    if (type && type != plain && !asks && !inherits(type)) Py_RETURN_NOTIMPLEMENTED;
    const call *slot = slot_of(&q);
    if (is_call(slot, &q)) {
        r = slot->known;
        Py_XINCREF(r.plan); /* another call may take the place */
        Py_XINCREF(r.meta);
    } else {
        int found = resolve(&q, in, out, type != NULL, &r);
        if (found <= 0) return found < 0 ? NULL : Py_NewRef(Py_NotImplemented);
    }
    PyObject *result = run(&r, ufunc, type, in, n, out);
    Py_XDECREF(r.plan);
    Py_XDECREF(r.meta);
    return result;
}

PyObject *gb_py_by_name(PyObject *ufunc, PyObject *const *in, int n, PyObject *out) {
    return answered(ufunc, in, n, out, 0);
}

static PyObject *of_class(PyObject *ufunc, PyObject *const *in, int n, PyObject *out) {
    return answered(ufunc, in, n, out, 1);
}

/* ---- operators and the protocol ---- */

/* Storages answer for themselves, after Fields have refused. */
static int beside_storage(PyObject *const *in, int n, PyObject *out) {
    int found = out && gb_py_is_storage(out);
    for (int i = 0; i < n; i++) found |= gb_py_is_storage(in[i]);
    return found;
}

PyObject *gb_py_field_quick(PyObject *ufunc, PyObject *const *in, int n, PyObject *out) {
    PyObject *found = gb_py_alike(ufunc, in, n, out);
    if (found != Py_NotImplemented || beside_storage(in, n, out)) return found;
    Py_DECREF(found);
    return answered(ufunc, in, n, out, 0);
}

static PyObject *protocol(gb_py_quick quick, gb_py_upcall python, PyObject *args,
                          PyObject *kwargs) {
    PyObject *found = gb_py_ufunc_reduced(args, kwargs);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
    return gb_py_array_ufunc(quick, python, args, kwargs);
}

PyObject *gb_py_field_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs) {
    return protocol(gb_py_field_quick, GB_PY_UP_FIELD_UFUNC, args, kwargs);
}

PyObject *gb_py_storage_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs) {
    return protocol(of_class, GB_PY_UP_STORAGE_UFUNC, args, kwargs);
}
