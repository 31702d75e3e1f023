/* class.c: what subclasses of Field keep: their instances' attributes, and their type, as type.c
 * gives it. */
#include "../core/attribute.h"
#include "field.h"

static int is_own(PyTypeObject *type) {
    return type == gb_py_HostFieldType || type == gb_py_DeviceFieldType ||
           type == gb_py_ManagedFieldType || type == gb_py_FieldType;
}

/* What a user of the class has set on the instance goes along to views and copies. */
int gb_py_field_inherit(gb_py_field *f, const gb_py_field *from) {
    if (is_own(Py_TYPE((PyObject *)from)) || Py_TYPE((PyObject *)f) != Py_TYPE((PyObject *)from))
        return 0;
    GB_PY_OWNED PyObject *own = NULL, *theirs = NULL;
    int found = gb_py_optional((PyObject *)from, gb_py_attr.dict, &theirs), rc = found < 0 ? -1 : 0;
    if (found > 0 && PyDict_Check(theirs) && PyDict_Size(theirs) > 0 &&
        (rc = gb_py_optional((PyObject *)f, gb_py_attr.dict, &own)) > 0)
        rc = PyDict_Update(own, theirs);
    return rc;
}

PyObject *gb_py_field_as(PyTypeObject *type, gb_py_field *from) {
    if (!(type = gb_py_type_for(type, from->location))) return NULL;
    if (type == Py_TYPE((PyObject *)from)) return Py_NewRef((PyObject *)from);
    if (from->lists) return gb_py_from_field(type, from);
    gb_py_field *f = gb_py_field_alloc(type, -1); /* the plan goes along */
    if (!f) return NULL;
    gb_py_field_share(f, from);
    f->geometry = from->geometry;
    f->plan = (gb_py_plan_object *)Py_NewRef((PyObject *)from->plan);
    f->data = from->data;
    if (gb_py_field_copy_meta(f, from) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

PyObject *gb_py_field_around(PyObject *type, PyObject *field) {
    if (gb_py_is_field(field)) return gb_py_field_as((PyTypeObject *)type, (gb_py_field *)field);
    return PyErr_Format(PyExc_TypeError, "field: expected a gridbuf.Field, got %R", Py_TYPE(field));
}

PyObject *gb_py_field_get_class(PyObject *self, void *unused) {
    return Py_NewRef((PyObject *)Py_TYPE(self));
}

/* Else a host address could be told as a GPU's. */
int gb_py_field_set_class(PyObject *self, PyObject *value, void *unused) {
    return PyErr_Format(PyExc_TypeError,
                        "__class__: the class of a Field says where its memory lies; %R(field) "
                        "shares the memory of a Field",
                        value ? value : (PyObject *)gb_py_FieldType),
           -1;
}
