/* reduce_result.c: what a reduction returns: scalars, arrays, Fields with what stays
 * of their dims, origin and halo, and which outputs failed. */
#include "reducing.h"

#include "../core/array.h"
#include "../core/upcall.h"

/* What a Field keeps of another one of which axes went. */
static int keep_meta(const gb_py_reduce_args *q, uint32_t went, gb_py_field *f,
                     const gb_py_field *from) {
    if (gb_py_field_room(f, from->origin != NULL, from->halo != NULL) < 0) return -1;
    for (int a = 0, d = 0; a < from->geometry.ndim; a++) {
        int gone = went >> a & 1;
        if (gone && !q->keepdims) continue;
        f->geometry.dims[d] = from->geometry.dims[a];
        if (f->origin) f->origin[d] = gone ? 0 : from->origin[a];
        for (int side = 0; f->halo && side < 2; side++)
            f->halo[2 * d + side] = gone ? 0 : from->halo[2 * a + side];
        d++;
    }
    f->dims_given = 1;
    return 0;
}

static PyObject *field(const gb_py_reduce_args *q, uint32_t went, const gb_geometry *g,
                       gb_py_dtype *dtype, void *data) {
    gb_py_field *f = gb_py_field_on_block(g, dtype, data);
    if (!f) return NULL;
    if (keep_meta(q, went, f, (gb_py_field *)q->array) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

PyObject *gb_py_reduce_result(const gb_py_reduce_args *q, const gb_gu_reduction *r, int i,
                              void *data) {
    if (!r->plan[i]) { /* the one number in data */
        GB_PY_OWNED PyArray_Descr *descr = PyArray_DescrFromType(gb_py_npy_type(r->out[i].from));
        return descr ? PyArray_Scalar(data, descr, NULL) : NULL;
    }
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of_type(r->out[i].from);
    PyObject *result = NULL;
    if (!dtype) gb_heap_release(data);
    else if (gb_py_is_field(q->array))
        result = field(q, r->gone, &r->plan[i]->geometry, dtype, data);
    else result = gb_py_array_over(&r->plan[i]->geometry, dtype, data, 1, NULL);
    return result;
}

/* ---- failures ---- */

/* Takes result. */
PyObject *gb_py_reduce_outcome(gb_py_reduce_args *q, const gb_gu_reduction *r, PyObject *result,
                               gb_gu_reducing *run) {
    int64_t failed = gb_gu_reduce_failed(run);
    if (!failed && q->errors != GB_PY_RETURN) return result;
    GB_PY_OWNED PyObject *codes = failed ? gb_py_codes_array(&run->codes, r->out_ndim, r->out_shape,
                                                             r->code_strides)
                                         : Py_NewRef(Py_None),
                         *shape = gb_py_ints_tuple(r->out_shape, r->out_ndim);
    PyObject *outcome =
        codes && shape ? gb_py_upcall_to(GB_PY_UP_GUFUNC_CONCLUDE, "(OOOLLsO)",
                                         (PyObject *)q->gufunc, result, codes, (long long)failed,
                                         (long long)r->kept_n, gb_py_errors_words[q->errors], shape)
                       : NULL;
    Py_DECREF(result);
    return outcome;
}
