/* alike.c: ufuncs of host Fields with the same shape, names, halo and origin, arrays of
 * their shape, and numbers. Operands whose indices differ are ufuncs.c's. */
#include "named.h"

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL gridbuf_UFUNC_API
#include <numpy/ufuncobject.h>

/* ---- dtypes of results: NumPy decides once for each combination ---- */

/* Of numbers and bools alone. */
static int code_of(PyArray_Descr *descr) {
    int code = gb_py_code_of(descr);
    return code <= NPY_CLONGDOUBLE || code == NPY_HALF ? code : -1;
}

static int code_of_number(PyObject *obj) {
    int code = gb_py_weak_numbers ? gb_py_code_of_number(obj) : -1;
    return code <= NPY_CLONGDOUBLE || code == NPY_HALF || code >= GB_PY_A_BOOL ? code : -1;
}

#define ENTRIES 256
static struct {
    PyObject *ufunc;
    int codes, result;
} memo[ENTRIES]; /* result: a type number, or -1: not for here */

static int slot(PyObject *ufunc, int codes) {
    return (int)((((uintptr_t)ufunc >> 4) ^ (uintptr_t)codes * 0x9E3779B97F4A7C15u) % ENTRIES);
}

/* An operand without elements, as NumPy's choice of a loop sees it. */
static PyObject *sample(PyObject *given, int code) {
    npy_intp none = 0;
    if (code >= GB_PY_A_BOOL)
        return PyObject_CallNoArgs(
            (PyObject *)Py_TYPE(given)); /* zero: 1e300 would be an overflow of float32 */
    return PyArray_SimpleNew(1, &none, code);
}

/* The type number of the result; -1: not for here; -2: an error. */
static int ask(PyObject *ufunc, PyObject *const *in, const int *code, int n) {
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    if (u->nin != n || u->nout != 1 || u->core_enabled) return -1;
    GB_PY_OWNED PyObject *a = sample(in[0], code[0]), *b = n > 1 ? sample(in[1], code[1]) : NULL;
    GB_PY_OWNED PyObject *made =
        a && (b || n == 1) ? PyObject_CallFunctionObjArgs(ufunc, a, b, NULL) : NULL;
    return !made ? -2 : PyArray_Check(made) ? code_of(PyArray_DESCR((PyArrayObject *)made)) : -1;
}

static int result_type(PyObject *ufunc, PyObject *const *in, const int *code, int n) {
    int codes = code[0] | (n > 1 ? code[1] + 1 : 0) << 8, i = slot(ufunc, codes);
    if (memo[i].ufunc == ufunc && memo[i].codes == codes) return memo[i].result;
    int result = ask(ufunc, in, code, n);
    if (result == -2) return -2;
    GB_PY_OWNED PyObject *before = memo[i].ufunc;
    memo[i].ufunc = Py_NewRef(ufunc);
    memo[i].codes = codes;
    memo[i].result = result;
    return result;
}

/* ---- the quick way ---- */

static int same_indices(const gb_py_field *a, const gb_py_field *b) {
    size_t n = (size_t)a->geometry.ndim;
    return a->geometry.ndim == b->geometry.ndim &&
           memcmp(a->geometry.shape, b->geometry.shape, n * sizeof *a->geometry.shape) == 0 &&
           a->dims_given == b->dims_given &&
           (!a->dims_given ||
            memcmp(a->geometry.dims, b->geometry.dims, n * sizeof *a->geometry.dims) == 0);
}

static int same_list(const int64_t *a, const int64_t *b, size_t n) {
    return !a == !b && (!a || memcmp(a, b, n * sizeof *a) == 0);
}

static int alike(const gb_py_field *a, const gb_py_field *b) {
    size_t n = (size_t)a->geometry.ndim;
    return a == b || (same_indices(a, b) && same_list(a->origin, b->origin, n) &&
                      same_list(a->halo, b->halo, 2 * n));
}

static int has_shape(PyObject *array, const gb_py_field *f) {
    PyArrayObject *a = (PyArrayObject *)array;
    return PyArray_NDIM(a) == f->geometry.ndim && PyArray_NDIM(a) > 0 &&
           memcmp(PyArray_DIMS(a), f->geometry.shape, (size_t)PyArray_NDIM(a) * sizeof(int64_t)) ==
               0;
}

int gb_py_field_code_beside(PyObject *obj, const gb_py_field *lead) {
    if (gb_py_is_plain_field(obj))
        return alike((gb_py_field *)obj, lead) ? code_of(((gb_py_field *)obj)->dtype->descr) : -1;
    if (PyArray_CheckExact(obj))
        return has_shape(obj, lead) ? code_of(PyArray_DESCR((PyArrayObject *)obj)) : -1;
    return code_of_number(obj);
}

static int fits_as_out(PyObject *out, const gb_py_field *lead) {
    if (PyArray_CheckExact(out)) return has_shape(out, lead);
    return gb_py_is_plain_field(out) && !((gb_py_field *)out)->readonly &&
           same_indices((gb_py_field *)out, lead);
}

static PyObject *bare(PyObject *obj) {
    return gb_py_is_field(obj) ? gb_py_field_numpy(obj, NULL) : Py_NewRef(obj);
}

static gb_py_elements elements_of(PyObject *obj, int lead_type, void *room) {
    static const int64_t repeated[GB_MAXDIMS];
    if (PyArray_CheckExact(obj)) return gb_py_elements_of_array((PyArrayObject *)obj);
    if (!gb_py_is_field(obj)) return gb_py_elements_of_number(obj, lead_type, room, repeated);
    gb_py_field *f = (gb_py_field *)obj;
    return gb_py_elements_at(f->data, f->geometry.strides, f->geometry.ndim, f->dtype->descr,
                             f->dtype->alignment);
}

/* By the ufunc's own loop; 0: by NumPy. The shape is the lead's. */
static int elementwise(PyObject *ufunc, PyObject *const *in, int n, PyObject *out,
                       const gb_py_field *lead) {
    _Alignas(16) char room[16];
    gb_py_elements args[GB_PY_ELEMENTWISE_INPUTS], target = elements_of(out, -1, room);
    if (PyArray_CheckExact(out) && !PyArray_ISWRITEABLE((PyArrayObject *)out)) return 0;
    for (int i = 0; i < n; i++) args[i] = elements_of(in[i], lead->dtype->descr->type_num, room);
    return gb_py_elementwise_into(ufunc, args, n, &target, lead->geometry.shape,
                                  lead->geometry.ndim);
}

static PyObject *by_numpy(PyObject *ufunc, PyObject *const *in, int n, PyObject *out) {
    GB_PY_OWNED PyObject *target = bare(out), *a = target ? bare(in[0]) : NULL,
                         *b = a && n > 1 ? bare(in[1]) : NULL;
    GB_PY_OWNED PyObject *done = a && (b || n == 1) ? gb_py_ufunc_into(ufunc, a, b, target) : NULL;
    return done ? Py_NewRef(out) : NULL;
}

static PyObject *run(PyObject *ufunc, PyObject *const *in, int n, PyObject *out,
                     const gb_py_field *lead) {
    int done = elementwise(ufunc, in, n, out, lead);
    return done < 0 ? NULL : done ? Py_NewRef(out) : by_numpy(ufunc, in, n, out);
}

PyObject *gb_py_alike(PyObject *ufunc, PyObject *const *in, int n, PyObject *out) {
    int code[2];
    const gb_py_field *lead = n < 1 || n > 2                          ? NULL
                              : gb_py_is_plain_field(in[0])           ? (gb_py_field *)in[0]
                              : n == 2 && gb_py_is_plain_field(in[1]) ? (gb_py_field *)in[1]
                                                                      : NULL;
    if (!lead || Py_TYPE(ufunc) != Py_TYPE(gb_py_ufuncs[GB_PY_U_ADD]) ||
        (out && !fits_as_out(out, lead)))
        Py_RETURN_NOTIMPLEMENTED;
    for (int i = 0; i < n; i++)
        if ((code[i] = gb_py_field_code_beside(in[i], lead)) == -1) Py_RETURN_NOTIMPLEMENTED;
    int type = result_type(ufunc, in, code, n);
    if (type == -2) return NULL;
    if (type < 0) Py_RETURN_NOTIMPLEMENTED;
    if (out) return run(ufunc, in, n, out, lead);
    GB_PY_OWNED PyArray_Descr *descr = PyArray_DescrFromType(type);
    GB_PY_OWNED gb_py_dtype *dtype = descr ? gb_py_dtype_of(descr) : NULL;
    GB_PY_OWNED PyObject *made = dtype ? (PyObject *)gb_py_field_like(lead, dtype) : NULL;
    return made ? run(ufunc, in, n, made, lead) : NULL;
}
