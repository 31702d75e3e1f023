/* over.c: Fields and arrays over memory that is there already: as somebody described it, or another
 * Field's. */
#include "field.h"

static int plain(const gb_py_imported *m) {
    if (m->ndim > GB_MAXDIMS)
        return PyErr_Format(PyExc_ValueError, "data: %d dimensions; at most %d are allowed",
                            m->ndim, GB_MAXDIMS),
               0;
    if (!PyDataType_FLAGCHK(m->descr, NPY_ITEM_REFCOUNT) &&
        !PyDataType_FLAGCHK(m->descr, NPY_ITEM_HASOBJECT))
        return 1;
    return PyErr_Format(PyExc_TypeError,
                        "data: its dtype %R holds Python objects; only plain memory can be shared",
                        m->descr),
           0;
}

PyObject *gb_py_from_memory(PyTypeObject *type, const gb_py_imported *m) {
    if (!plain(m)) return NULL;
    if (!type)
        return gb_py_array_view(m->descr, m->ndim, m->shape, m->strides, m->data,
                                m->readonly ? 0 : NPY_ARRAY_WRITEABLE, m->owner);
    type = gb_py_type_for(type, m->location);
    gb_py_field *f = type ? gb_py_field_alloc(type, m->ndim) : NULL;
    if (!f) return NULL;
    if (!(f->dtype = gb_py_dtype_of(m->descr))) return Py_DECREF((PyObject *)f), NULL;
    for (int i = 0; i < m->ndim; i++) {
        f->geometry.shape[i] = m->shape[i];
        f->geometry.strides[i] = m->strides[i];
        f->geometry.dims[i] = GB_DIM_I + i;
    }
    f->geometry.itemsize = f->dtype->itemsize;
    gb_geometry_finish(&f->geometry);
    f->data = m->data;
    f->readonly = m->readonly != 0;
    f->location = m->location;
    f->owner = Py_XNewRef(m->owner);
    if ((f->block = m->block)) gb_heap_share(f->block);
    return (PyObject *)f;
}

PyObject *gb_py_from_field(PyTypeObject *type, const gb_py_field *from) {
    int n = from->geometry.ndim;
    type = gb_py_type_for(type, from->location);
    gb_py_field *f = type ? gb_py_field_alloc(type, n) : NULL;
    if (!f) return NULL;
    gb_geometry own = f->geometry;
    gb_py_field_share(f, from);
    memcpy(own.shape, from->geometry.shape, n * sizeof(int64_t));
    memcpy(own.strides, from->geometry.strides, n * sizeof(int64_t));
    memcpy(own.dims, from->geometry.dims, n * sizeof(int32_t));
    gb_geometry_finish(&f->geometry);
    f->data = from->data;
    if (gb_py_field_copy_meta(f, from) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}
