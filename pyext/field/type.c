/* type.c: which type a Field has. Where its memory lies decides which interfaces it has, so Field
 * has a type for each, and so has every class that somebody derived from it; gridbuf.field makes
 * the latter. */
#include "field.h"
#include "../core/upcall.h"

PyTypeObject *gb_py_type_for(PyTypeObject *asked, gb_py_location location) {
    PyTypeObject *fits = location.kind == GB_PY_ON_DEVICE    ? gb_py_DeviceFieldType
                         : location.kind == GB_PY_ON_MANAGED ? gb_py_ManagedFieldType
                                                             : gb_py_HostFieldType;
    if (asked == gb_py_FieldType || asked == fits) return fits;
    if (PyType_IsSubtype(asked, fits)) return asked; /* somebody's subclass */
    PyObject *type = gb_py_upcall_to(GB_PY_UP_TYPE_AT, "(OO)", (PyObject *)asked, (PyObject *)fits);
    Py_XDECREF(type); /* the class that was asked for keeps it */
    return (PyTypeObject *)type;
}
