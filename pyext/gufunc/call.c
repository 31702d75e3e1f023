/* call.c: calling a gufunc: arguments are read, a kernel and a resolved call are looked up by their
 * types and shapes, the kernel runs. Python and Go take part only in new combinations. */
#include "gufunc.h"
#include "../core/references.h"
#include "../core/upcall.h"

static void clear(gb_py_invocation *v) {
    for (int i = 0; i < v->nop + v->has_where; i++) Py_CLEAR(v->arg[i].keep);
    while (v->nheld) gb_py_decref_foreign(v->held[--v->nheld]);
    Py_CLEAR(v->codes);
    if (v->entry) gb_py_entry_drop(v->entry);
    v->entry = NULL;
}

static void start(gb_py_invocation *v, gb_py_gufunc_object *g) {
    /* Initialise only members that are read before they are written: the record is large. */
    v->gufunc = g;
    v->nop = g->info.nin + g->info.nout;
    v->nheld = v->has_where = v->workers = v->ignore_errors = v->errors = v->named =
        v->arrangement = v->naxes = 0;
    v->uniforms = NULL;
    v->codes = NULL;
    v->entry = NULL;
    for (int i = 0; i <= v->nop; i++) {
        gb_py_arg *a = &v->arg[i];
        a->keep = a->given = NULL;
        a->field = NULL;
        a->type = a->swapped = a->misaligned = a->absent = a->weak = 0;
        a->ndim = 0;
        a->ndims = -1;
    }
}

/* ---- reading ---- */

static int wrong_count(gb_py_invocation *v, const char *format, Py_ssize_t n, int nout) {
    GB_PY_OWNED PyObject *signature =
        gb_py_upcall_of((PyObject *)v->gufunc, GB_PY_OF_GUFUNC_SIGNATURE);
    GB_PY_OWNED PyObject *name =
        signature ? gb_py_upcall_of((PyObject *)v->gufunc, GB_PY_OF_GUFUNC_NAME) : NULL;
    if (name && nout) gb_py_setup_error(format, n, signature, nout);
    else if (name)
        gb_py_setup_error(format, name, n, signature, v->gufunc->info.nin, v->gufunc->info.nout);
    return -1;
}

/* Output i of a call, from its positions or from out= (an array or a tuple of them); None: a new
 * one. Borrowed. */
static PyObject *nth_output(PyObject *args, Py_ssize_t nin, PyObject *out, int i) {
    if (nin + i < PyTuple_Size(args)) return PyTuple_GetItem(args, nin + i);
    if (!out) return Py_None;
    if (PyTuple_Check(out)) return PyTuple_GetItem(out, i);
    return i == 0 ? out : Py_None;
}

static int read_outputs(gb_py_invocation *v, PyObject *args, PyObject *out) {
    int nin = v->gufunc->info.nin, nout = v->gufunc->info.nout;
    if (out && PyTuple_Size(args) > nin)
        return gb_py_setup_error("out: outputs are given both by position and as out=");
    if (out && PyTuple_Check(out) && PyTuple_Size(out) != nout)
        return wrong_count(v, "out: %zd arrays given, %S has %d outputs", PyTuple_Size(out), nout);
    for (int i = 0; i < nout; i++)
        if (gb_py_read_output(&v->arg[nin + i], nth_output(args, nin, out, i), i, nout > 1) < 0)
            return -1;
    return 0;
}

/* Match by name where every input has names or needs none. An axis= that is a name is looked up
 * first (gufunc/axes.go). */
static void match_by_name(gb_py_invocation *v) {
    int every = 1, some = 0;
    for (int i = 0; i < v->gufunc->info.nin; i++) {
        const gb_py_arg *a = &v->arg[i];
        every &= a->ndims >= 0 || a->ndim == 0;
        some |= a->ndims >= 0;
    }
    v->named = every && some;
    if (!v->named && !(v->arrangement & GB_BRIDGE_AXIS_NAME))
        for (int i = 0; i < v->nop + v->has_where; i++) v->arg[i].ndims = -1;
}

static int read_call(gb_py_invocation *v, PyObject *args, PyObject *kwargs) {
    gb_py_gufunc_object *g = v->gufunc;
    gb_py_keywords k;
    Py_ssize_t nargs = PyTuple_Size(args);
    if (gb_py_read_keywords(v, kwargs, &k) < 0) return -1;
    if (nargs < g->info.nin || nargs > v->nop)
        return wrong_count(v, "%S: %zd operands given; %S takes %d inputs and up to %d outputs",
                           nargs, 0);
    if ((v->errors = gb_py_read_errors(k.errors)) < 0 ||
        gb_py_read_workers(k.workers, &v->workers) < 0)
        return -1;
    v->ignore_errors = v->errors == GB_PY_IGNORE;
    for (int i = 0; i < g->info.nin; i++)
        if (gb_py_read_input(&v->arg[i], PyTuple_GetItem(args, i), i) < 0) return -1;
    if (read_outputs(v, args, k.out) < 0) return -1;
    if (k.where && k.where != Py_True) {
        v->has_where = 1;
        if (gb_py_read_mask(&v->arg[v->nop], k.where) < 0) return -1;
    }
    if (gb_py_choose(v, &k) < 0 || gb_py_read_axes(v, &k) < 0) return -1;
    match_by_name(v);
    return gb_py_read_uniforms(v, &k);
}

/* ---- the outcome ---- */

static PyObject *codes_of(const gb_py_invocation *v) {
    if (v->codes) return Py_NewRef(v->codes);
    const gb_gu_call *call = v->entry->call;
    return PyArray_ZEROS(call->outer_ndim, (npy_intp *)call->outer_shape, NPY_UINT8, 0);
}

static PyObject *with_info(const gb_py_invocation *v, PyObject *result) {
    PyObject *type = gb_py_upcall_get(GB_PY_UP_ERROR_INFO), *info = NULL;
    GB_PY_OWNED PyObject *codes = codes_of(v);
    if (type && codes)
        info = PyObject_CallFunction(type, "OLL", codes, (long long)v->nfailed,
                                     (long long)v->nselected);
    return info ? Py_BuildValue("(ON)", result, info) : NULL;
}

static PyObject *outcome(gb_py_invocation *v) {
    PyObject *plain = gb_py_results(v);
    if (!plain || (!v->codes && v->errors != GB_PY_RETURN)) return plain;
    GB_PY_OWNED PyObject *results = plain;
    if (v->errors == GB_PY_RETURN) return with_info(v, results);
    return gb_py_upcall_to(GB_PY_UP_GUFUNC_CONCLUDE, "(OOOLLs)", (PyObject *)v->gufunc, results,
                           v->codes, (long long)v->nfailed, (long long)v->nselected,
                           gb_py_errors_words[v->errors]);
}

PyObject *gb_py_gufunc_call(PyObject *self, PyObject *args, PyObject *kwargs) {
    gb_py_invocation v;
    start(&v, (gb_py_gufunc_object *)self);
    PyObject *result =
        read_call(&v, args, kwargs) == 0 && gb_py_invoke(&v) == 0 ? outcome(&v) : NULL;
    clear(&v);
    return result;
}

/* _resolve(args, kwargs) -> (kernel, its types, outer shape, elements, chunks, elements a chunk,
 * core sizes, (shape, strides, dims) of each new output) of the call. */
PyObject *gb_py_gufunc_resolve(PyObject *self, PyObject *pair) {
    PyObject *args, *kwargs, *result = NULL;
    gb_py_invocation v;
    if (!PyArg_ParseTuple(pair, "O!O!:_resolve", &PyTuple_Type, &args, &PyDict_Type, &kwargs))
        return NULL;
    start(&v, (gb_py_gufunc_object *)self);
    if (read_call(&v, args, kwargs) == 0 && (v.entry = gb_py_entry_for(&v))) {
        const gb_gu_call *call = v.entry->call;
        PyObject *outs = PyTuple_New(v.nop - call->nin);
        for (int i = call->nin; outs && i < v.nop; i++)
            gb_py_put(&outs, i - call->nin, gb_py_output_describe(&v, i));
        if (outs)
            result = Py_BuildValue(
                "(iNNLLLNN)", v.kernel, PyBytes_FromStringAndSize((const char *)v.types, v.nop),
                gb_py_ints_tuple(call->outer_shape, call->outer_ndim), (long long)call->n,
                (long long)call->nchunks, (long long)call->chunk,
                gb_py_ints_tuple(call->core, call->ncore), outs);
    }
    clear(&v);
    return result;
}
