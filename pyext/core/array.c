/* array.c: memory for a plan, and arrays over it: exactly np.ndarray. */
#include "array.h"
#include "copy_run.h"
#include "memory.h"

int gb_py_plan_allocate(const gb_plan *plan, int zero, void **data) {
    int fresh;
    if (gb_py_allocate(&plan->want, data, &fresh) < 0) return -1;
    int64_t span = plan->want.span;
    if (!zero || fresh || gb_heap_zero(*data, span) == 0 || gb_py_fill_zero(*data, span) == 0)
        return 0;
    gb_heap_release(*data); /* Ctrl-C */
    return -1;
}

PyObject *gb_py_array_view(PyArray_Descr *descr, int ndim, const npy_intp *shape,
                           const npy_intp *strides, void *data, int flags, PyObject *base) {
    Py_INCREF((PyObject *)descr);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, (npy_intp *)shape,
                                           (npy_intp *)strides, data, flags, NULL);
    if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0)
        Py_CLEAR(array);
    return array;
}

PyObject *gb_py_array_over(const gb_geometry *g, gb_py_dtype *dtype, void *data, int writable,
                           PyObject *base) {
    Py_INCREF((PyObject *)dtype->descr);
    int flags = writable ? NPY_ARRAY_WRITEABLE : 0;
    npy_intp *strides = (npy_intp *)g->strides;
    if (g->flags & (GB_GEOMETRY_C_PACKED | GB_GEOMETRY_F_PACKED) &&
        ((uintptr_t)data & (dtype->alignment - 1)) == 0) {
        /* NumPy fills in these strides by itself, and then need not look for contiguity. */
        strides = NULL;
        flags |= NPY_ARRAY_ALIGNED | (g->flags & GB_GEOMETRY_C_PACKED ? NPY_ARRAY_C_CONTIGUOUS
                                                                      : NPY_ARRAY_F_CONTIGUOUS);
    }
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype->descr, g->ndim,
                                           (npy_intp *)g->shape, strides, data, flags, NULL);
    if (base) {
        if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0)
            Py_CLEAR(array);
    } else if (array) {
        ((PyArrayObject_fields *)array)->mem_handler = Py_NewRef(gb_py_handler);
        PyArray_ENABLEFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA);
    } else {
        gb_heap_release(data);
    }
    return array;
}
