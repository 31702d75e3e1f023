/* type.c: which type a Field has. Where its memory lies decides which interfaces it has, so Field has a type for
 * each, and so has every class that somebody derived from it; gridbuf.field makes the latter. */
#include "field.h"
#include "../core/upcall.h"

static PyTypeObject *derived(PyTypeObject *asked, PyTypeObject *fits) {
    if (PyType_IsSubtype(asked, fits)) return asked;
    PyObject *type = gb_py_upcall_to(GB_PY_UP_TYPE_AT, "(OO)", (PyObject *)asked, (PyObject *)fits);
    Py_XDECREF(type);   /* the class that was asked for keeps it */
    return (PyTypeObject *)type;
}

PyTypeObject *gb_py_type_for(PyTypeObject *asked, gb_py_location location) {
    PyTypeObject *fits = location.kind == GB_PY_ON_DEVICE    ? gb_py_DeviceFieldType
                         : location.kind == GB_PY_ON_MANAGED ? gb_py_ManagedFieldType
                                                          : gb_py_HostFieldType;
    if (asked == gb_py_FieldType || asked == fits) return fits;
    int bound = PyType_IsSubtype(asked, gb_py_HostFieldType) || PyType_IsSubtype(asked, gb_py_DeviceFieldType) ||
                PyType_IsSubtype(asked, gb_py_ManagedFieldType);
    if (!bound || PyType_IsSubtype(asked, fits)) return derived(asked, fits);   /* somebody's subclass */
    static const char *const kinds[] = {"host", "device", "pinned", "managed"};
    int host = PyType_IsSubtype(asked, gb_py_HostFieldType), device = PyType_IsSubtype(asked, gb_py_DeviceFieldType);
    return PyErr_Format(PyExc_TypeError, "data: it is %s memory, and %R is for %s memory; gridbuf.Field takes it as it is, and its to(%s) copies it",
                        kinds[location.kind], asked, host ? "host" : device ? "device" : "managed",
                        host ? "device='cpu'" : device ? "device='gpu'" : "memory='managed'"), NULL;
}
