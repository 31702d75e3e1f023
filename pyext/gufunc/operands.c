/* operands.c: operands of a call: arrays, Fields, Python numbers, and objects that
 * gridbuf.gufunc.operands converts; new outputs; halo and origin of results. */
#include "gufunc.h"
#include "../core/memory.h"
#include "../core/references.h"
#include "../core/upcall.h"
#include "../exchange/exchange.h"

#include <sys/param.h>

void gb_py_arg_keep(gb_py_arg *a, PyObject *obj) {
    GB_PY_OWNED PyObject *old = a->keep;
    a->keep = Py_NewRef(obj);
}

static void look_at_array(gb_py_arg *a, PyArrayObject *array) {
    PyArray_Descr *descr = PyArray_DESCR(array);
    a->type = gb_py_type_of_descr(descr);
    a->swapped = descr->byteorder == NPY_OPPBYTE;
    a->misaligned = !PyArray_ISALIGNED(array);
    a->absent = a->weak = 0;
    a->ndim = PyArray_NDIM(array);
    a->ndims = -1;
    int n = a->ndim <= GB_MAXDIMS ? a->ndim : 0;
    for (int d = 0; d < n; d++) {
        a->shape[d] = PyArray_DIMS(array)[d];
        a->strides[d] = PyArray_STRIDES(array)[d];
    }
    a->data = PyArray_BYTES(array);
    a->field = NULL;
}

void gb_py_arg_array(gb_py_arg *a, PyArrayObject *array) {
    look_at_array(a, array);
    gb_py_arg_keep(a, (PyObject *)array);
}

static void look_at_field(gb_py_arg *a, gb_py_field *f) {
    const gb_geometry *g = &f->geometry;
    a->type = gb_py_type_of_descr(f->dtype->descr);
    a->swapped = f->dtype->descr->byteorder == NPY_OPPBYTE;
    a->absent = a->weak = 0;
    a->ndim = g->ndim;
    a->ndims = f->dims_given ? g->ndim : -1;
    uintptr_t bits = (uintptr_t)f->data;
    for (int d = 0; d < g->ndim; d++) {
        a->shape[d] = g->shape[d];
        a->strides[d] = g->strides[d];
        a->dims[d] = g->dims[d];
        if (g->shape[d] > 1) bits |= (uintptr_t)g->strides[d];
    }
    a->misaligned = (bits & (f->dtype->alignment - 1)) != 0;
    a->data = f->data;
    a->field = f;
}

int gb_py_arg_look(gb_py_arg *a, PyObject *obj) {
    if (PyArray_CheckExact(obj)) look_at_array(a, (PyArrayObject *)obj);
    else if (gb_py_is_field(obj) && ((gb_py_field *)obj)->location.kind == GB_PY_HEAP)
        look_at_field(a, (gb_py_field *)obj);
    else return 0;
    return 1;
}

static int read_memory(gb_py_arg *a, PyObject *obj) {
    int found = gb_py_arg_look(a, obj);
    if (found) gb_py_arg_keep(a, obj);
    return found;
}

/* Convert by gridbuf.gufunc.operands.normal, which makes an ndarray or a Field, or raises. what:
 * "input 0", "out", "where". */
static int read_other(gb_py_arg *a, PyObject *obj, const char *what) {
    GB_PY_OWNED PyObject *found = gb_py_upcall_to(GB_PY_UP_GUFUNC_OPERAND, "(Os)", obj, what);
    if (!found || read_memory(a, found)) return found ? 0 : -1;
    return gb_py_fail(PyExc_TypeError, "%s: expected an array, got %R", what, obj);
}

static int check(const gb_py_arg *a, const char *what, const char *does) {
    if (a->ndim > GB_MAXDIMS)
        return gb_py_setup_error("%s: %d dimensions; at most %d are allowed", what, a->ndim,
                                 GB_MAXDIMS);
    if (a->type && a->type < GB_DATETIME) return 0;
    PyArray_Descr *descr =
        a->field ? a->field->dtype->descr : PyArray_DESCR((PyArrayObject *)a->keep);
    return gb_py_setup_error("%s: no kernel %s elements of type %S", what, does, (PyObject *)descr);
}

int gb_py_read_input(gb_py_arg *a, PyObject *obj, int i) {
    char what[24];
    a->given = obj;
    if (PyFloat_CheckExact(obj) || PyLong_CheckExact(obj) || PyComplex_CheckExact(obj)) {
        a->weak = GB_GU_WEAK_COMPLEX;
        if (PyLong_CheckExact(obj)) a->weak = GB_GU_WEAK_INT;
        if (PyFloat_CheckExact(obj)) a->weak = GB_GU_WEAK_FLOAT;
        return 0;
    }
    if (read_memory(a, obj)) {
        if (__builtin_expect(a->type && a->type < GB_DATETIME && a->ndim <= GB_MAXDIMS, 1))
            return 0;
    } else if (PyBool_Check(obj)) {
        a->type = GB_BOOL;
        a->number[0] = obj == Py_True;
        a->data = a->number;
        return 0;
    }
    PyOS_snprintf(what, sizeof what, "input %d", i);
    if (!a->keep &&
        (PyArray_CheckScalar(obj) || PyList_CheckExact(obj) || PyTuple_CheckExact(obj))) {
        GB_PY_OWNED PyObject *values = gb_py_values_of(obj),
                             *array = values ? PyArray_FromAny(values, NULL, 0, 0, 0, NULL) : NULL;
        if (!array) {
            gb_py_prefix_error(what, 0);
            return -1;
        }
        gb_py_arg_array(a, (PyArrayObject *)array);
    } else if (!a->keep && read_other(a, obj, what) < 0) {
        return -1;
    }
    return check(a, what, "takes");
}

int gb_py_read_mask(gb_py_arg *a, PyObject *obj) {
    a->given = obj;
    if (PyBool_Check(obj)) { /* where=True was dropped before */
        a->type = GB_BOOL;
        a->number[0] = 0;
        a->data = a->number;
        return 0;
    }
    if (!read_memory(a, obj) && read_other(a, obj, "where") < 0) return -1;
    if (a->ndim > GB_MAXDIMS) return check(a, "where", "takes");
    if (a->type == GB_BOOL) return 0;
    PyArray_Descr *descr =
        a->field ? a->field->dtype->descr : PyArray_DESCR((PyArrayObject *)a->keep);
    return gb_py_fail(PyExc_TypeError, "where: expected bools, got %S", (PyObject *)descr);
}

int gb_py_read_output(gb_py_arg *a, PyObject *obj, int i, int several) {
    char what[24] = "out";
    if (obj == Py_None) {
        a->absent = 1;
        return 0;
    }
    if (several) PyOS_snprintf(what, sizeof what, "out[%d]", i);
    a->given = obj;
    if (!read_memory(a, obj) && read_other(a, obj, what) < 0) return -1;
    if (a->field ? a->field->readonly : !PyArray_ISWRITEABLE((PyArrayObject *)a->keep))
        return gb_py_fail(PyExc_ValueError, "%s: it is read-only", what);
    return check(a, what, "gives");
}

int gb_py_arg_number(gb_py_arg *a, uint8_t type) {
    int done = a->weak != GB_GU_WEAK_COMPLEX && gb_py_put_number(a->number, type, a->given);
    if (a->weak == GB_GU_WEAK_COMPLEX && type == GB_C128) {
        double pair[2] = {PyComplex_RealAsDouble(a->given), PyComplex_ImagAsDouble(a->given)};
        memcpy(a->number, pair, sizeof pair);
        done = 1;
    }
    if (!done) return 0;
    a->type = type;
    a->data = a->number;
    return 1;
}

/* ---- halo and origin of a result ----
 *
 * Along each axis the domain of a result is the intersection of the domains of all inputs that have
 * the axis in full. Inputs that are broadcast along the axis do not count. Storages join them
 * alike. */

/* The index of a dimension in a Field at its full size; -1: there is none. */
static int axis_of(const gb_py_field *f, int32_t name, int64_t size) {
    for (int d = 0; d < f->geometry.ndim; d++)
        if (f->geometry.dims[d] == name) return f->geometry.shape[d] == size ? d : -1;
    return -1;
}

static int join_halos(gb_py_field *result, const gb_py_invocation *v) {
    int nin = v->gufunc->info.nin, halo = 0, origin = 0;
    for (int i = 0; i < nin; i++) {
        const gb_py_field *f = v->arg[i].field;
        halo |= f && f->halo;
        origin |= f && f->origin;
    }
    if (!halo && !origin) return 0;
    if (gb_py_field_room(result, origin, halo) < 0) return -1;
    for (int d = 0; d < result->geometry.ndim; d++) {
        int64_t low = 0, high = 0, first = 0, size = result->geometry.shape[d];
        for (int i = 0; i < nin; i++) {
            const gb_py_field *f = v->arg[i].field;
            int axis = f ? axis_of(f, result->geometry.dims[d], size) : -1;
            if (axis < 0) continue;
            if (f->halo) {
                low = MAX(low, f->halo[2 * axis]);
                high = MAX(high, f->halo[2 * axis + 1]);
            }
            if (f->origin) first = MAX(first, f->origin[axis]);
        }
        low = MIN(low, size);
        if (halo) {
            result->halo[2 * d] = low;
            result->halo[2 * d + 1] = MIN(high, size - low);
        }
        if (origin) result->origin[d] = MIN(first, size);
    }
    return 0;
}

/* ---- new outputs ---- */

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
    if (join_halos(f, v) < 0) Py_CLEAR(f);
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

/* Result of a call: outputs as given, fresh 0-d ones as scalars. */
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
