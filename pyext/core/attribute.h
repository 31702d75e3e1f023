/* attribute.h: attributes that an object may lack. */
#pragma once

#include "common.h"

/* 1 with a new reference, 0 without such an attribute (nothing is raised), -1 with an error. */
int gb_py_optional(PyObject *obj, PyObject *name, PyObject **value);

/* The names that are asked for, interned. */
extern struct gb_py_attribute_names {
    PyObject *exchange_api, *dlpack, *dlpack_device, *array_struct, *array_interface, *cuda_array_interface, *array;
    PyObject *gt_dims, *dims, *gt_origin, *readonly, *flags, *writeable, *is_conj, *is_neg, *requires_grad, *mask, *gt_axis_name, *value;
    PyObject *dict, *gt_interface, *gt_data_interface;
} gb_py_attr;
int gb_py_attribute_init(void);

/* The keywords of a function, interned; which of n a name is, -1: none. */
int gb_py_words_init(const char *const *texts, PyObject **words, int n);
int gb_py_word_find(PyObject *const *words, int n, PyObject *name);
