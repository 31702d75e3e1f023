/* output.c: new outputs: their memory, and the array or Field over it. */
#include "gufunc.h"
#include "../core/memory.h"

/* Memory for the plan; without elements a few bytes do. */
static int take(const gb_plan *plan, void **data) {
    if (plan->geometry.size) return gb_py_plan_allocate(plan, 0, data);
    gb_heap_layout want = plan->want;
    int fresh;
    want.span = plan->geometry.itemsize;
    want.reserve = gb_heap_reserve(want.span, want.boundary);
    return gb_py_allocate(&want, data, &fresh);
}

static PyObject *field_over(const gb_py_invocation *v, const gb_geometry *g, gb_py_dtype *dtype,
                            void *data) {
    gb_py_field *f = gb_py_field_on_block(g, dtype, data);
    if (!f) return NULL;
    f->dims_given = 1;
    if (gb_py_join_halos(f, v) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

int gb_py_output_allocate(gb_py_invocation *v, int i) {
    const gb_gu_call *call = v->entry->call;
    const gb_geometry *g = &call->out[i]->geometry;
    gb_py_arg *a = &v->arg[i];
    void *data;
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of_type(call->op[i].from);
    if (!dtype) return -1;
    if (take(call->out[i], &data) == 0)
        a->keep = v->named && g->ndim ? field_over(v, g, dtype, data)
                                      : gb_py_array_over(g, dtype, data, 1, NULL);
    a->data = data;
    return a->keep ? 0 : -1;
}

PyObject *gb_py_output_describe(const gb_py_invocation *v, int i) {
    const gb_gu_call *call = v->entry->call;
    if (!call->out[i]) Py_RETURN_NONE;
    const gb_geometry *g = &call->out[i]->geometry;
    PyObject *names = v->named ? gb_py_dims_tuple(g->dims, g->ndim) : Py_NewRef(Py_None);
    return Py_BuildValue("(NNN)", gb_py_ints_tuple(g->shape, g->ndim),
                         gb_py_ints_tuple(g->strides, g->ndim), names);
}

/* What a call returns: the outputs as given, fresh 0-d ones as scalars. */
static PyObject *result(gb_py_invocation *v, int i) {
    gb_py_arg *a = &v->arg[i];
    if (!a->absent) return Py_NewRef(a->given);
    PyObject *made = a->keep;
    a->keep = NULL;
    return PyArray_CheckExact(made) && !PyArray_NDIM((PyArrayObject *)made)
               ? PyArray_Return((PyArrayObject *)made)
               : made;
}

PyObject *gb_py_results(gb_py_invocation *v) {
    int nin = v->gufunc->info.nin, nout = v->gufunc->info.nout;
    if (nout == 1) return result(v, nin);
    PyObject *tuple = PyTuple_New(nout);
    for (int i = 0; tuple && i < nout; i++) gb_py_put(&tuple, i, result(v, nin + i));
    return tuple;
}

static void free_codes(PyObject *capsule) { free(PyCapsule_GetPointer(capsule, "gridbuf.codes")); }

/* The codes lie in loop order; seen through these strides they have the outer shape. */
PyObject *gb_py_codes_array(uint8_t **codes, int ndim, const int64_t *shape,
                            const int64_t *strides) {
    uint8_t *data = *codes;
    GB_PY_OWNED PyObject *owner = PyCapsule_New(data, "gridbuf.codes", free_codes);
    if (!owner) return NULL;
    *codes = NULL;
    GB_PY_OWNED PyArray_Descr *descr = PyArray_DescrFromType(NPY_UINT8);
    return gb_py_array_view(descr, ndim, (npy_intp *)shape, (npy_intp *)strides, data, 0, owner);
}
