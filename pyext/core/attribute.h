/* attribute.h: attributes that an object may lack, interned names, and methods of a type alone. */
#pragma once

#include "common.h"

/* 1 with a new reference, 0 without such an attribute (nothing is raised), -1 with an error. */
int gb_py_optional(PyObject *obj, PyObject *name, PyObject **value);

/* Whether obj has any of n attributes: 1, 0, -1. */
int gb_py_has_any(PyObject *obj, PyObject *const *names, int n);

/* Interned names of the attributes that gridbuf reads. */
/* clang-format off */
#define GB_PY_ATTRIBUTES(X) \
    X(exchange_api, "__dlpack_c_exchange_api__") \
    X(dlpack, "__dlpack__") \
    X(dlpack_device, "__dlpack_device__") \
    X(array, "__array__") \
    X(array_struct, "__array_struct__") \
    X(array_interface, "__array_interface__") \
    X(cuda_array_interface, "__cuda_array_interface__") \
    X(gt_dims, "__gt_dims__") \
    X(dims, "dims") \
    X(gt_origin, "__gt_origin__") \
    X(readonly, "readonly") \
    X(flags, "flags") \
    X(writeable, "writeable") \
    X(is_conj, "is_conj") \
    X(is_neg, "is_neg") \
    X(requires_grad, "requires_grad") \
    X(mask, "mask") \
    X(dict, "__dict__") \
    X(gt_interface, "__gt_interface__") \
    X(gt_data_interface, "__gt_data_interface__")
/* clang-format on */
#define GB_PY_ATTRIBUTE(name, text) PyObject *name;
extern struct gb_py_attribute_names {
    GB_PY_ATTRIBUTES(GB_PY_ATTRIBUTE)
} gb_py_attr;

/* Intern n names; find the index of a name among them, -1: none. */
int gb_py_intern_names(const char *const *texts, PyObject **names, int n);
int gb_py_find_name(PyObject *const *names, int n, PyObject *name);

PyObject *gb_py_item(PyObject *self, Py_ssize_t i); /* self[i], for slots */

/* ---- methods of a type that its objects do not have ----
 *
 * `__array_function__` is such a method: NumPy asks the type, xarray asks the object, and for no
 * other name. xarray keeps an array that has it and adds it by xarray's dims, where Fields and
 * storages go by their own names: `x + y.T` would have wrong values and no error. Without the
 * attribute xarray takes the memory, by `__array__`. A subclass that overrides the method shows it
 * on its objects. */

/* Give the type the methods. `refuse` sets the error where an instance is asked for one. */
int gb_py_type_only_methods(PyTypeObject *type, PyMethodDef *methods,
                            void (*refuse)(PyObject *obj, PyObject *name));
