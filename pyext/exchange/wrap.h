/* wrap.h: from any object to its memory. */
#ifndef GRIDBUF_WRAP_H
#define GRIDBUF_WRAP_H

#include "../field/field.h"

/* wrap.c: the same over an object's memory, by the first way in that it offers; never a copy. */
PyObject *gb_py_wrap(PyTypeObject *type, PyObject *obj);
PyObject *gb_py_wrap_tensor(PyTypeObject *type, PyObject *obj, int wishes);   /* by DLPack only */
PyObject *gb_py_wrap_interface(PyTypeObject *type, PyObject *obj, PyObject *interface);
PyObject *gb_py_wrap_struct(PyTypeObject *type, PyObject *obj, PyObject *capsule);   /* NotImplemented: no such struct */
PyObject *gb_py_host_array(PyObject *self, PyObject *obj);

PyObject *gb_py_read_typestr_method(PyObject *self, PyObject *typestr);

/* mapped.c */
PyObject *gb_py_is_mapped(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

/* What NumPy may take values from in place of obj, which would believe any array interface and make references of foreign
 * bytes: the memory that was checked, else obj itself. New reference. */
PyObject *gb_py_values(PyObject *obj);
PyObject *gb_py_values_method(PyObject *self, PyObject *obj);

/* The dims, origin and halo that obj carries, for the Field or array over it: 1 with new
 * references (None where it does not say), 0 without any, -1 with an error. */
int gb_py_inherited_metadata(PyObject *obj, PyObject *wrapped, PyObject *carried[3]);

/* device_wrap.c: a Field over an object with __cuda_array_interface__; NotImplemented for those that turn out not to have it. */
PyObject *gb_py_wrap_cuda(PyTypeObject *type, PyObject *obj);
int gb_py_has_cuda_interface(PyObject *obj);   /* its type or itself has the attribute; -1 with an error */

#endif
