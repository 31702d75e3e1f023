/* copy_view.c: what transfer/ needs to know of an array's or a Field's memory. */
#include "../core/attribute.h"
#include "copying.h"

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
                                  gb_py_attr.mask); /* of a mask NumPy's way knows */
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
    if (dst->ndim == 0)
        return memcpy(dst->data, element, (size_t)dst->itemsize),
               gb_py_tell(progress, 1.0) < 0 ? -1 : 1;
    return gb_py_copy_finish(&copy, gb_copy_plan_fill(&copy, dst, element, GB_RAW, dst->itemsize),
                             progress) < 0
               ? -1
               : 1;
}

#define END_OF_LEGACY \
    2048 /* NumPy numbers its new kinds of dtype, such as StringDType, from here */

int gb_py_descr_trivially_copyable(PyArray_Descr *descr) {
    int n = descr->type_num;
    return n >= 0 && n < END_OF_LEGACY && PyDataType_ELSIZE(descr) > 0 && !PyDataType_REFCHK(descr);
}

/* NumPy up to 2.5 looks for overlaps by half: not where the source is one element or has items of
 * another size. */
PyObject *gb_py_apart(PyArrayObject *target, PyObject *value) {
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
