/* request.c: requests for host storages that were made before. gridbuf.storage.remembered keeps the
 * answers; what a request is, as a key, and the storage that an answer gives, are made here. */
#include "storage.h"
#include "../core/args.h"
#include "../field/field.h"

/* Facts of data for a storage like them, independent of values; None: they have to
 * be looked at. */
static PyObject *key_of_data(PyObject *data) {
    GB_PY_OWNED PyObject *own = NULL, *halo = NULL,
                         *array = Py_XNewRef((PyObject *)gb_py_plain_storage(data));
    if (array) {
        own = Py_NewRef(((gb_py_storage *)data)->meta);
    } else if (PyArray_CheckExact(data)) {
        array = Py_NewRef(data);
    } else if (gb_py_is_plain_field(data)) {
        own = gb_py_dims_given((gb_py_field *)data);
        halo = own ? ((gb_py_field *)data)->halo
                         ? gb_py_pairs_tuple(((gb_py_field *)data)->halo,
                                             ((gb_py_field *)data)->geometry.ndim)
                         : Py_NewRef(Py_None)
                   : NULL;
        array = halo ? gb_py_field_numpy(data, NULL) : NULL;
        if (!array) return NULL;
    }
    if (!array || !gb_py_is_own_dtype(PyArray_DESCR((PyArrayObject *)array)))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    int n = PyArray_NDIM((PyArrayObject *)array);
    GB_PY_OWNED PyObject *shape =
        gb_py_ints_tuple((const int64_t *)PyArray_DIMS((PyArrayObject *)array), n);
    GB_PY_OWNED PyObject *strides =
        gb_py_ints_tuple((const int64_t *)PyArray_STRIDES((PyArrayObject *)array), n);
    GB_PY_OWNED PyObject *type = PyLong_FromLong(PyArray_TYPE((PyArrayObject *)array));
    return shape && strides && type
               ? PyTuple_Pack(5, own ? own : Py_None, halo ? halo : Py_None, shape, strides, type)
               : NULL;
}

/* (own, dtype, word, name, value, ..., registrations if there were any: a name may mean another
 * backend since), or None where not all of it is constant. */
static PyObject *request_of(PyObject *own, PyObject *dtype, PyObject *spec, PyObject *word) {
    if (PyList_Check(dtype) || !PyDict_CheckExact(spec) || own == Py_None)
        Py_RETURN_NONE; /* of dtypes alone, a list is no tuple */
    int count = gb_py_registered_so_far;
    GB_PY_OWNED PyObject *key = PyTuple_New(3 + 2 * PyDict_Size(spec) + (count > 0)),
                         *kind = gb_py_constant(NULL, dtype);
    if (!key || !kind) return NULL;
    if (kind == Py_None && dtype != Py_None) Py_RETURN_NONE;
    PyTuple_SetItem(key, 0, Py_NewRef(own));
    PyTuple_SetItem(key, 1, Py_NewRef(kind));
    PyTuple_SetItem(key, 2, Py_NewRef(word));
    if (count) {
        PyObject *registrations = PyLong_FromLong(count);
        if (!registrations) return NULL;
        PyTuple_SetItem(key, PyTuple_Size(key) - 1, registrations);
    }
    PyObject *name, *value;
    Py_ssize_t at = 0, to = 3;
    while (PyDict_Next(spec, &at, &name, &value)) {
        PyObject *constant = gb_py_constant(NULL, value);
        if (!constant) return NULL;
        PyTuple_SetItem(key, to, Py_NewRef(name));
        PyTuple_SetItem(key, to + 1, constant);
        if (constant == Py_None && value != Py_None) Py_RETURN_NONE;
        to += 2;
    }
    return Py_NewRef(key);
}

/* The storage of the answer (plan, meta); else the key, or None. */
static PyObject *answered(PyObject *answers, PyObject *key, PyObject *zero) {
    PyObject *answer = key == Py_None || !PyDict_Check(answers)
                           ? NULL
                           : PyDict_GetItemWithError(answers, key),
             *plain;
    if (!answer || !(plain = gb_py_upcall_get(GB_PY_UP_CPU_STORAGE)))
        return PyErr_Occurred() ? NULL : Py_NewRef(key);
    GB_PY_OWNED PyObject *held = Py_NewRef(answer);
    PyObject *meta = PyTuple_GetItem(answer, 1);
    gb_py_plan_object *plan = (gb_py_plan_object *)PyTuple_GetItem(answer, 0);
    if (!meta || !plan) return NULL;
    if (Py_TYPE((PyObject *)plan) != gb_py_PlanType || plan->plan->device != GB_CPU ||
        plan->plan->memory != GB_PLAIN)
        return PyErr_Format(PyExc_TypeError,
                            "answers: expected a Plan of plain host memory, got %R", plan);
    GB_PY_OWNED PyObject *host = gb_py_array_of(plan, zero == Py_True);
    return host ? gb_py_storage_new((PyTypeObject *)plain, host, Py_None, meta, Py_None) : NULL;
}

/* known_storage(answers, shape, dtype, spec, zero): a new storage as a request like this gave one
 * before; else the key of the request, or None for one that has to be looked at. */
PyObject *gb_py_known_storage(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 5)
        return PyErr_Format(PyExc_TypeError,
                            "known_storage() takes answers, shape, dtype, spec and zero");
    GB_PY_OWNED PyObject *shape = gb_py_constant(NULL, args[1]),
                         *key = shape ? request_of(shape, args[2], args[3], Py_None) : NULL;
    return key ? answered(args[0], key, args[4]) : NULL;
}

/* known_like(answers, data, dtype, spec, zero, word): the same for a storage like the data; word: a
 * str or None, a further part of the key. */
PyObject *gb_py_known_like(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 6)
        return PyErr_Format(PyExc_TypeError,
                            "known_like() takes answers, data, dtype, spec, zero and a word");
    GB_PY_OWNED PyObject *own = key_of_data(args[1]),
                         *key = own ? request_of(own, args[2], args[3], args[5]) : NULL;
    return key ? answered(args[0], key, args[4]) : NULL;
}

/* known_around(metas, data, dtype, spec): a storage over the data's memory; else the key, or None.
 */
PyObject *gb_py_known_around(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 4)
        return PyErr_Format(PyExc_TypeError, "known_around() takes metas, data, dtype and spec");
    GB_PY_OWNED PyObject *own = key_of_data(args[1]),
                         *key = own ? request_of(own, args[2], args[3], Py_None) : NULL;
    PyObject *found = key && key != Py_None && PyDict_Check(args[0])
                          ? PyDict_GetItemWithError(args[0], key)
                          : NULL;
    PyObject *plain = found ? gb_py_upcall_get(GB_PY_UP_CPU_STORAGE) : NULL;
    if (!plain) return PyErr_Occurred() || !key ? NULL : Py_NewRef(key);
    GB_PY_OWNED PyObject *meta = Py_NewRef(found);
    GB_PY_OWNED PyObject *array =
        PyArray_CheckExact(args[1]) ? PyArray_View((PyArrayObject *)args[1], NULL, NULL)
        : gb_py_is_storage(args[1]) ? Py_XNewRef((PyObject *)gb_py_storage_host(args[1]))
                                    : gb_py_field_numpy(args[1], NULL);
    return array ? gb_py_storage_new((PyTypeObject *)plain, array, Py_None, meta, Py_None) : NULL;
}

/* ---- results: the plan of a Meta, a shape and a dtype ---- */

#define PLANS 128
typedef struct {
    PyObject *meta, *plan;
    int type, n;
    npy_intp shape[GB_PY_STORAGE_AXES];
} planned;
static planned plans[PLANS];

static planned *plan_slot(const planned *p) {
    uint64_t h = (uintptr_t)p->meta >> 4 ^ (uint64_t)p->type << 56;
    for (int i = 0; i < p->n; i++) h = (h ^ (uint64_t)p->shape[i]) * 0x9E3779B97F4A7C15u;
    return &plans[(h * 0xBF58476D1CE4E5B9u >> 32) % PLANS];
}

/* The plan of a new host storage; a new reference. */
static PyObject *plan_for(PyObject *meta, PyArrayObject *found) {
    planned asked;
    memset(&asked, 0, sizeof asked);
    asked.meta = meta;
    asked.type = PyArray_TYPE(found);
    asked.n = PyArray_NDIM(found);
    for (int d = 0; d < asked.n; d++) asked.shape[d] = PyArray_DIM(found, d); /* of none: NULL */
    planned *slot = plan_slot(&asked);
    if (slot->meta == meta && slot->type == asked.type && slot->n == asked.n &&
        memcmp(slot->shape, asked.shape, sizeof asked.shape) == 0)
        return Py_NewRef(slot->plan);
    GB_PY_OWNED PyObject *shape = gb_py_ints_tuple((const int64_t *)PyArray_DIMS(found), asked.n),
                         *plan = shape ? gb_py_upcall_to(GB_PY_UP_STORAGE_PLAN, "(OOO)", shape,
                                                         (PyObject *)PyArray_DESCR(found), meta)
                                       : NULL;
    if (!plan) return NULL;
    if (Py_TYPE(plan) != gb_py_PlanType)
        return PyErr_Format(PyExc_TypeError, "host_plan: expected a Plan, got %R", plan);
    planned before = *slot;
    *slot = asked;
    Py_INCREF(meta);
    slot->plan = Py_NewRef(plan);
    Py_XDECREF(before.meta);
    Py_XDECREF(before.plan);
    return Py_NewRef(plan);
}

PyObject *gb_py_storage_holding(PyTypeObject *type, PyObject *meta, PyArrayObject *found) {
    int code = gb_py_code_of(PyArray_DESCR(found)), n = PyArray_NDIM(found);
    if (code < 0 || (code > NPY_CLONGDOUBLE && code != NPY_HALF) || n > GB_PY_STORAGE_AXES)
        Py_RETURN_NOTIMPLEMENTED;
    GB_PY_OWNED PyObject *plan = plan_for(meta, found);
    GB_PY_OWNED PyObject *host = plan ? gb_py_array_of((gb_py_plan_object *)plan, 0) : NULL;
    if (!host || PyArray_CopyInto((PyArrayObject *)host, found) < 0) return NULL;
    return gb_py_storage_new(type, host, Py_None, meta, Py_None);
}
