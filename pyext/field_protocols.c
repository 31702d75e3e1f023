/* field_protocols.c: NumPy's protocols on the Field type, and not on Fields. */
#include "core/of_the_type.h"
#include "field_number.h"

#include <docs.h>

static void refuse(PyObject *obj, PyObject *name) { PyErr_Format(PyExc_AttributeError, "%R is for NumPy, which asks the type of a Field", name); }

static PyMethodDef methods[] = {
    {"__array_ufunc__", (PyCFunction)(void *)gb_py_field_array_ufunc, METH_VARARGS | METH_KEYWORDS, GB_PY_DOC_Field___array_ufunc__},
    {"__array_function__", (PyCFunction)(void *)gb_py_field_array_function, METH_VARARGS | METH_KEYWORDS, GB_PY_DOC_Field___array_function__},
    {NULL},
};

int gb_py_field_protocols_init(PyObject *module) { return gb_py_of_the_type(gb_py_FieldType, methods, refuse); }
