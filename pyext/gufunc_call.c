/* gufunc_call.c: calling a gufunc. A call of arrays and numbers whose types were seen
 * before stays in C; everything else goes through Python's _call, which ends in
 * execute below. */
#include "gufunc.h"

#include <string.h>

static PyObject *name_call, *name_failed, *name_out;

int gb_gufunc_call_init(void) {
    name_call = PyUnicode_InternFromString("_call");
    name_failed = PyUnicode_InternFromString("_failed");
    name_out = PyUnicode_InternFromString("out");
    return name_call && name_failed && name_out ? 0 : -1;
}

/* 1: read, 0: not an operand for the short way. */
static int read_input(gb_arg *a, PyObject *obj) {
    a->given = obj;
    if (PyArray_CheckExact(obj)) return gb_arg_array(a, (PyArrayObject *)obj) == 0 && a->type < GT_MOMENT;
    if (PyFloat_CheckExact(obj) || PyLong_CheckExact(obj)) {
        a->weak = PyLong_CheckExact(obj) ? 1 : 2;
        a->ndims = -1;
        return 1;
    }
    if (!PyArray_CheckScalar(obj)) return 0;
    PyObject *array = PyArray_FromScalar(obj, NULL);
    if (!array) return PyErr_Clear(), 0;
    int ok = gb_arg_array(a, (PyArrayObject *)array) == 0 && a->type < GT_MOMENT;
    Py_DECREF(array);
    return ok;
}

static int read_output(gb_arg *a, PyObject *obj) {
    if (obj == Py_None) return a->absent = 1;
    a->given = obj;
    return PyArray_CheckExact(obj) && gb_arg_array(a, (PyArrayObject *)obj) == 0 && PyArray_ISWRITEABLE((PyArrayObject *)obj);
}

static const gb_typeset *typeset_of(const gb_gufunc_object *g, const gb_invocation *v) {
    uint8_t key[GB_MAXARGS];
    for (int i = 0; i < g->info.nin; i++) key[i] = v->arg[i].weak ? 0x80 | v->arg[i].weak : v->arg[i].type;
    for (int k = 0; k < g->ntypesets; k++)
        if (memcmp(g->typesets[k].key, key, (size_t)g->info.nin) == 0) return &g->typesets[k];
    return NULL;
}

/* 1: v is ready to run, 0: take the long way. */
static int read_fast(gb_gufunc_object *g, PyObject *args, PyObject *kwargs, gb_invocation *v) {
    int nin = g->info.nin, nargs = (int)PyTuple_Size(args);
    if (!g->fast || nargs < nin || nargs > v->nop) return 0;
    PyObject *out = NULL;
    if (kwargs && PyDict_Size(kwargs)) {
        if (PyDict_Size(kwargs) != 1 || nargs != nin) return 0;
        out = PyDict_GetItemWithError(kwargs, name_out);
        if (!out) return PyErr_Clear(), 0;
    }
    for (int i = 0; i < nin; i++)
        if (!read_input(&v->arg[i], PyTuple_GetItem(args, i))) return 0;
    for (int i = nin; i < v->nop; i++) {
        PyObject *given = i < nargs ? PyTuple_GetItem(args, i) : Py_None;
        if (out && !PyTuple_Check(out)) given = v->nop - nin == 1 ? out : NULL;
        else if (out) given = PyTuple_Size(out) == v->nop - nin ? PyTuple_GetItem(out, i - nin) : NULL;
        if (!given || !read_output(&v->arg[i], given)) return 0;
    }
    const gb_typeset *types = typeset_of(g, v);
    if (!types) return 0;
    for (int i = 0; i < nin; i++)
        if (v->arg[i].weak && !gb_arg_number(&v->arg[i], types->types[i])) return PyErr_Clear(), 0;
    for (int i = nin; i < v->nop; i++)
        if (!v->arg[i].absent && v->arg[i].type != types->types[i]) return 0;
    v->kernel = types->kernel;
    return 1;
}

/* What a call returns: the outputs as given, fresh 0-d ones as scalars. */
static PyObject *output(gb_invocation *v, int i) {
    gb_arg *a = &v->arg[i];
    if (!a->absent) return Py_NewRef(a->given);
    PyObject *array = a->keep;
    a->keep = NULL;
    return PyArray_NDIM((PyArrayObject *)array) ? array : PyArray_Return((PyArrayObject *)array);
}

static PyObject *outputs(gb_invocation *v, int always_tuple) {
    int nin = v->gufunc->info.nin, nout = v->gufunc->info.nout;
    if (nout == 1 && !always_tuple) return output(v, nin);
    PyObject *tuple = PyTuple_New(nout);
    for (int i = 0; tuple && i < nout; i++) {
        PyObject *o = output(v, nin + i);
        if (!o || PyTuple_SetItem(tuple, i, o) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static void start(gb_invocation *v, gb_gufunc_object *g) {
    /* Only what is read before it is written: the whole record is large. */
    v->gufunc = g;
    v->nop = g->info.nin + g->info.nout;
    v->has_where = v->nsizes = v->workers = v->ignore_errors = 0;
    v->uniforms = NULL;
    v->codes = NULL;
    v->entry = NULL;
    for (int i = 0; i <= v->nop; i++) {
        gb_arg *a = &v->arg[i];
        a->keep = a->given = NULL;
        a->type = a->swapped = a->misaligned = a->absent = a->weak = 0;
        a->ndim = 0;
        a->ndims = -1;
    }
}

PyObject *gb_gufunc_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    gb_gufunc_object *g = (gb_gufunc_object *)self;
    gb_invocation v;
    start(&v, g);
    PyObject *result = NULL;
    if (!read_fast(g, args, kwargs, &v)) {
        gb_invocation_clear(&v);
        PyObject *method = PyObject_GetAttr(self, name_call);
        if (!method) return NULL;
        result = PyObject_Call(method, args, kwargs);
        Py_DECREF(method);
        return result;
    }
    if (gb_invoke(&v) == 0) {
        result = outputs(&v, 0);
        if (result && v.codes) {
            PyObject *plain = result, *method = PyObject_GetAttr(self, name_failed);
            result = method ? PyObject_CallFunction(method, "OOLL", plain, v.codes, (long long)v.nfailed, (long long)v.nselected) : NULL;
            Py_XDECREF(method);
            Py_DECREF(plain);
        }
    }
    gb_invocation_clear(&v);
    return result;
}

/* ---- the end of the long way ---- */

/* An operand: None (an output to allocate), an ndarray, or (ndarray, names). */
static int read_operand(gb_arg *a, PyObject *obj) {
    PyObject *array = obj, *dims = NULL;
    if (obj == Py_None) {
        a->absent = 1;
        return 0;
    }
    if (PyTuple_Check(obj) && !PyArg_ParseTuple(obj, "OO", &array, &dims)) return -1;
    if (!PyArray_Check(array)) {
        PyErr_Format(PyExc_TypeError, "operand: expected an ndarray, got %R", array);
        return -1;
    }
    a->given = array;
    if (gb_arg_array(a, (PyArrayObject *)array) < 0) {
        if (a->ndim > GB_MAXDIMS) PyErr_Format(PyExc_ValueError, "operand: %d dimensions; at most %d are allowed", a->ndim, GB_MAXDIMS);
        else PyErr_Format(PyExc_TypeError, "operand: no kernel takes %R", PyArray_DESCR((PyArrayObject *)array));
        return -1;
    }
    if (!dims || dims == Py_None) return 0;
    a->ndims = gb_dims(dims, "dims", a->dims, GB_MAXDIMS);
    if (a->ndims >= 0 && a->ndims != a->ndim) {
        PyErr_Format(PyExc_ValueError, "dims: %R names %d indices, the operand has %d", dims, a->ndims, a->ndim);
        return -1;
    }
    return a->ndims < 0 ? -1 : 0;
}

static PyObject *dims_of_output(const gb_call *call, int i, int named) {
    if (!named || !call->out[i]) Py_RETURN_NONE;
    return gb_dims_tuple(call->out[i]->geometry.dims, call->out[i]->geometry.ndim);
}

static PyObject *all_dims(gb_invocation *v) {
    int nin = v->gufunc->info.nin, named = 0;
    for (int i = 0; i < nin; i++) named |= v->arg[i].ndims > 0;
    PyObject *tuple = PyTuple_New(v->nop - nin);
    for (int i = nin; tuple && i < v->nop; i++) {
        PyObject *dims = dims_of_output(v->entry->call, i, named);
        if (!dims || PyTuple_SetItem(tuple, i - nin, dims) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

/* execute(kernel, operands, where, sizes, uniforms, workers, ignore_errors, check)
 * -> (outputs, their dims, codes or None, failed, selected); with check it only finds
 * out whether the call can be set up, and returns None. */
PyObject *gb_gufunc_execute(PyObject *self, PyObject *args) {
    gb_gufunc_object *g = (gb_gufunc_object *)self;
    gb_invocation v;
    PyObject *operands, *where, *sizes, *result = NULL;
    const char *uniforms = NULL;
    Py_ssize_t nuniforms;
    int check;
    start(&v, g);
    if (!PyArg_ParseTuple(args, "iO!OOz#iip:_execute", &v.kernel, &PyTuple_Type, &operands, &where, &sizes, &uniforms,
                          &nuniforms, &v.workers, &v.ignore_errors, &check))
        return NULL;
    if (PyTuple_Size(operands) != v.nop) {
        PyErr_Format(PyExc_TypeError, "operands: %zd given, %d needed", PyTuple_Size(operands), v.nop);
        return NULL;
    }
    v.uniforms = (void *)uniforms;
    v.has_where = where != Py_None;
    int ok = 1;
    for (int i = 0; ok && i < v.nop; i++) ok = read_operand(&v.arg[i], PyTuple_GetItem(operands, i)) == 0;
    if (ok && v.has_where) ok = read_operand(&v.arg[v.nop], where) == 0;
    if (ok && sizes != Py_None) ok = (v.nsizes = gb_ints(sizes, "sizes", v.sizes, GB_MAXCORE)) >= 0;
    if (ok && check) {
        v.entry = gb_entry_for(&v);
        if (v.entry) result = Py_NewRef(Py_None);
    } else if (ok && gb_invoke(&v) == 0) {
        PyObject *outs = outputs(&v, 1), *dims = all_dims(&v);
        if (outs && dims)
            result = Py_BuildValue("(OOOLL)", outs, dims, v.codes ? v.codes : Py_None, (long long)v.nfailed, (long long)v.nselected);
        Py_XDECREF(outs);
        Py_XDECREF(dims);
    }
    gb_invocation_clear(&v);
    return result;
}
