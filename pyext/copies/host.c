/* host.c: memory of arrays and Fields on the host as transfer/ takes it, and copies by its kernels.
 */
#include "copies.h"
#include "../core/attribute.h"

_Static_assert(sizeof(npy_intp) == sizeof(int64_t),
               "shapes and strides are handed over as they are");

gb_py_memory gb_py_memory_of_field(const gb_py_field *f) {
    return (gb_py_memory){
        .view = {f->data, f->dtype->itemsize, GB_RAW, f->geometry.ndim, f->geometry.shape,
                 f->geometry.strides},
        .descr = f->dtype->descr,
        .readonly = f->readonly,
    };
}

int gb_py_memory_of(PyObject *obj, gb_py_memory *m) {
    int array = PyArray_CheckExact(obj);
    if (!array && Py_TYPE(obj) != gb_py_HostFieldType)
        array = PyArray_Check(obj) &&
                !PyObject_HasAttr((PyObject *)Py_TYPE(obj),
                                  gb_py_attr.mask); /* masked arrays go to NumPy */
    if (array) {
        PyArrayObject *a = (PyArrayObject *)obj;
        m->descr = PyArray_DESCR(a);
        m->readonly = !PyArray_ISWRITEABLE(a);
        m->view = (gb_copy_view){
            PyArray_BYTES(a), PyArray_ITEMSIZE(a),         GB_RAW,
            PyArray_NDIM(a),  (int64_t *)PyArray_SHAPE(a), (int64_t *)PyArray_STRIDES(a)};
        return 1;
    }
    if (!gb_py_is_field(obj) || gb_py_needs_driver(&((gb_py_field *)obj)->location)) return 0;
    *m = gb_py_memory_of_field((gb_py_field *)obj);
    return 1;
}

int gb_py_descr_type(PyArray_Descr *descr) {
    int type = PyArray_ISNBO(descr->byteorder) ? gb_py_type_of_descr(descr) : GB_RAW;
    return gb_copy_converts(type) ? type : -1;
}

int gb_py_fill_number(const gb_copy_view *dst, PyArray_Descr *descr, PyObject *value,
                      PyObject *progress) {
    _Alignas(16) char element[16];
    gb_copy copy;
    int type = gb_py_descr_type(descr);
    if (type < 0 || !gb_py_put_number(element, (uint8_t)type, value)) return 0;
    if (dst->ndim == 0) {
        memcpy(dst->data, element, (size_t)dst->itemsize);
        return gb_py_report_progress(progress, 1.0) < 0 ? -1 : 1;
    }
    return gb_py_copy_finish(&copy, gb_copy_plan_fill(&copy, dst, element, GB_RAW, dst->itemsize),
                             progress) < 0
               ? -1
               : 1;
}

/* NumPy numbers its new kinds of dtype, such as StringDType, from here. */
#define END_OF_LEGACY 2048

int gb_py_descr_trivially_copyable(PyArray_Descr *descr) {
    int n = descr->type_num;
    return n >= 0 && n < END_OF_LEGACY && PyDataType_ELSIZE(descr) > 0 && !PyDataType_REFCHK(descr);
}

/* NumPy up to 2.5 misses overlaps where the source is one element or has items of another size. */
PyObject *gb_py_without_overlap(PyArrayObject *target, PyObject *value) {
    intptr_t to, to_end, from, from_end;
    int memory = PyArray_Check(value) || (PyObject_CheckBuffer(value) && !PyBytes_Check(value) &&
                                          !PyArray_IsScalar(value, Generic));
    GB_PY_OWNED PyObject *source = memory ? PyArray_FROM_O(value) : NULL;
    if (!source) return memory ? NULL : Py_NewRef(value);
    int meet = gb_py_extent(target, &to, &to_end) &&
               gb_py_extent((PyArrayObject *)source, &from, &from_end) && to < from_end &&
               from < to_end;
    return meet ? PyArray_NewCopy((PyArrayObject *)source, NPY_KEEPORDER) : Py_NewRef(source);
}

/* ---- copies by the kernels ---- */

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

/* Read both sides and compare their dtypes, which may run Python code; then read both again and
 * check that nothing has changed. */
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
    Py_DECREF((PyObject *)wanted); /* not the last reference where dtypes are unchanged */
    Py_DECREF((PyObject *)given);
    if (!same)
        return gb_py_fail(PyExc_RuntimeError,
                          "dst, src: they changed while their dtypes were compared");
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
