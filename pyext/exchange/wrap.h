/* wrap.h: from any object to its memory. */
#pragma once

#include "../field/field.h"

/* A Field of the type, or with type NULL an ndarray, over an object's memory, by the first way in
 * that it offers; never a copy. */
PyObject *gb_py_wrap(PyTypeObject *type, PyObject *obj);
PyObject *gb_py_wrap_for(PyTypeObject *type, PyObject *obj, int request);
PyObject *gb_py_wrap_tensor(PyTypeObject *type, PyObject *obj, int request); /* by DLPack only */
PyObject *gb_py_unknown_to_numpy(
    PyObject *obj); /* by the ways that NumPy does not go; NotImplemented: there is none */

/* An array of whatever class, unless some of it is masked: no memory here could keep a mask. New
 * reference. */
PyObject *gb_py_unmasked(PyObject *obj);
/* Values, of which NumPy would make arrays by copying, and classes, whose attributes are not those
 * of an object. */
int gb_py_is_value(PyObject *obj);

/* values.c. What NumPy may take values from in place of obj, which would believe any array
 * interface and make references of foreign bytes: the memory that was checked, else obj itself. New
 * reference. */
PyObject *gb_py_values_of(PyObject *obj);

/* A number, or an array without indices. */
int gb_py_is_one_value(PyObject *obj);
/* One element of the dtype with that value, converted as by assignment: the value's own code may
 * run. */
PyArrayObject *gb_py_element(PyArray_Descr *descr, PyObject *value);

/* The dims, origin and halo that obj carries, for the Field or array over it: 1 with new
 * references (None where it does not say), 0 without any, -1 with an error. */
int gb_py_inherited_metadata(PyObject *obj, PyObject *wrapped, PyObject *inherited[3]);
