/* operand.c: operands of a call: arrays, Fields, Python numbers, and whatever
 * gridbuf.gufunc.operands makes an array or a Field of. */
#include "gufunc.h"
#include "../core/pending.h"
#include "../exchange/wrap.h"
#include "../core/upcall.h"

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
    for (int d = 0; d < n; d++)
        a->shape[d] = PyArray_DIMS(array)[d], a->strides[d] = PyArray_STRIDES(array)[d];
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
        a->shape[d] = g->shape[d], a->strides[d] = g->strides[d], a->dims[d] = g->dims[d];
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

/* Python makes an ndarray or a Field of it, or says why not. what: "input 0", "out", "where". */
static int read_other(gb_py_arg *a, PyObject *obj, const char *what) {
    GB_PY_OWNED PyObject *found = gb_py_upcall_to(GB_PY_UP_GUFUNC_OPERAND, "(Os)", obj, what);
    if (!found || read_memory(a, found)) return found ? 0 : -1;
    return PyErr_Format(PyExc_TypeError, "%s: expected an array, got %R", what, obj), -1;
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
    if (PyFloat_CheckExact(obj) || PyLong_CheckExact(obj) || PyComplex_CheckExact(obj))
        return a->weak = PyLong_CheckExact(obj)    ? GB_GU_WEAK_INT
                         : PyFloat_CheckExact(obj) ? GB_GU_WEAK_FLOAT
                                                   : GB_GU_WEAK_COMPLEX,
               0;
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
        if (!array) return gb_py_blame(what, 0), -1;
        gb_py_arg_array(a, (PyArrayObject *)array);
    } else if (!a->keep && read_other(a, obj, what) < 0) {
        return -1;
    }
    return check(a, what, "takes");
}

int gb_py_read_mask(gb_py_arg *a, PyObject *obj) {
    a->given = obj;
    if (PyBool_Check(obj)) { /* where=True has been left out */
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
    return PyErr_Format(PyExc_TypeError, "where: expected bools, got %S", (PyObject *)descr), -1;
}

int gb_py_read_output(gb_py_arg *a, PyObject *obj, int i, int several) {
    char what[24] = "out";
    if (obj == Py_None) return a->absent = 1, 0;
    if (several) PyOS_snprintf(what, sizeof what, "out[%d]", i);
    a->given = obj;
    if (!read_memory(a, obj) && read_other(a, obj, what) < 0) return -1;
    if (a->field ? a->field->readonly : !PyArray_ISWRITEABLE((PyArrayObject *)a->keep))
        return PyErr_Format(PyExc_ValueError, "%s: it is read-only", what), -1;
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
