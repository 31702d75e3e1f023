/* copyto.c: copies between arrays and Fields on the host, as far as the kernels do them. */
#include "copying.h"

/* src's strides with dst's shape; a leading 1 too many is dropped, as NumPy does. */
int gb_py_broadcast(gb_copy_view *src, const gb_copy_view *dst, int64_t *strides) {
    int extra = src->ndim - dst->ndim, fits = 1;
    for (int i = 0; i < extra; i++) fits = fits && src->shape[i] == 1;
    memset(strides, 0, dst->ndim * sizeof *strides);
    for (int i = fits ? dst->ndim - 1 : -1; i >= 0 && i + extra >= 0; i--) {
        int64_t n = src->shape[i + extra];
        if (n == dst->shape[i]) strides[i] = src->strides[i + extra];
        else if (n != 1) fits = 0;
    }
    if (!fits) {
        GB_PY_OWNED PyObject *from = gb_py_ints_tuple(src->shape, src->ndim),
                             *to = gb_py_ints_tuple(dst->shape, dst->ndim);
        if (from && to)
            PyErr_Format(PyExc_ValueError, "src: shape %R does not broadcast to dst's shape %R",
                         from, to);
        return -1;
    }
    src->ndim = dst->ndim;
    src->shape = dst->shape;
    src->strides = strides;
    return 0;
}

/* 1: the kernels convert; 0: NumPy has to. ndim is the source's. The caller holds both dtypes:
 * comparing them can run Python code (a title's __eq__). */
int gb_py_convertible(PyArray_Descr *to, PyArray_Descr *from, int ndim, NPY_CASTING casting,
                      int *types) {
    types[0] = types[1] = GB_RAW;
    if (from == to || PyArray_EquivTypes(from, to)) {
        if (casting == NPY_NO_CASTING && from->byteorder != to->byteorder) return 0;
        return gb_py_descr_trivially_copyable(to);
    }
    types[0] = gb_py_descr_type(to);
    types[1] = gb_py_descr_type(from);
    if (types[0] < 0 || types[1] < 0) return 0;
    if (gb_type_is_complex(types[1]) && !gb_type_is_complex(types[0]))
        return 0;            /* NumPy warns of the lost part */
    if (ndim == 0) return 0; /* NumPy 1 looks at a single value */
    return PyArray_CanCastTypeTo(from, to, casting);
}

/* Both sides, and whether the kernels convert between them; they are looked at once more after that
 * was found out. */
static int look(PyObject *dst, PyObject *src, NPY_CASTING casting, gb_py_memory *to,
                gb_py_memory *from) {
    if (!gb_py_memory_of(dst, to) || !gb_py_memory_of(src, from)) return 0;
    if (gb_py_refuse_readonly(to) < 0) return -1;
    PyArray_Descr *wanted = (PyArray_Descr *)Py_NewRef((PyObject *)to->descr),
                  *given = (PyArray_Descr *)Py_NewRef((PyObject *)from->descr);
    int types[2], kernels = gb_py_convertible(wanted, given, from->view.ndim, casting, types);
    gb_py_memory_of(dst, to);
    gb_py_memory_of(src, from);
    int same = to->descr == wanted && from->descr == given && !to->readonly;
    Py_DECREF((PyObject *)wanted); /* where they are the same, not the last reference */
    Py_DECREF((PyObject *)given);
    if (!same)
        return PyErr_SetString(PyExc_RuntimeError,
                               "dst, src: they changed while their dtypes were compared"),
               -1;
    to->view.type = types[0];
    from->view.type = types[1];
    return kernels;
}

int gb_py_copy_objects(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress) {
    int64_t strides[GB_COPY_DIMS];
    gb_py_memory to, from;
    int kernels = look(dst, src, casting, &to, &from);
    if (kernels <= 0) return kernels;
    if (gb_py_broadcast(&from.view, &to.view, strides) < 0) return -1;
    gb_copy copy;
    return gb_py_copy_finish(&copy, gb_copy_plan(&copy, &to.view, &from.view), progress) < 0 ? -1
                                                                                             : 1;
}
