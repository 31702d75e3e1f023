/* field_number.h: operators, comparisons and NumPy's protocols of functions, as slots of the Field type. */
#ifndef GRIDBUF_FIELD_NUMBER_H
#define GRIDBUF_FIELD_NUMBER_H

#include "field/field.h"

int gb_py_field_number_init(void);
int gb_py_field_protocols_init(void);   /* field_protocols.c */
PyObject *gb_py_field_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_field_array_function(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_field_compare(PyObject *a, PyObject *b, int op);

/* Operators that are a ufunc: its name, and the slot's. */
#define GB_PY_FIELD_UNARY(X) X(negative, negative) X(positive, positive) X(absolute, absolute) X(invert, invert)
#define GB_PY_FIELD_BINARY(X)                                                                                                \
    X(add, add) X(subtract, subtract) X(multiply, multiply) X(true_divide, true_divide) X(floor_divide, floor_divide)       \
    X(remainder, remainder) X(matmul, matrix_multiply) X(left_shift, lshift) X(right_shift, rshift) X(bitwise_and, and)     \
    X(bitwise_or, or) X(bitwise_xor, xor)

#define GB_PY_UNARY(name, slot) PyObject *gb_py_field_##name(PyObject *a);
#define GB_PY_BINARY(name, slot) PyObject *gb_py_field_##name(PyObject *a, PyObject *b), *gb_py_field_in_##name(PyObject *a, PyObject *b);
GB_PY_FIELD_UNARY(GB_PY_UNARY) GB_PY_FIELD_BINARY(GB_PY_BINARY)
PyObject *gb_py_field_divmod(PyObject *a, PyObject *b);
PyObject *gb_py_field_power(PyObject *a, PyObject *b, PyObject *modulus), *gb_py_field_in_power(PyObject *a, PyObject *b, PyObject *modulus);

#define GB_PY_SLOT(name, slot) {Py_nb_##slot, gb_py_field_##name},
#define GB_PY_SLOTS(name, slot) {Py_nb_##slot, gb_py_field_##name}, {Py_nb_inplace_##slot, gb_py_field_in_##name},
#define GB_PY_FIELD_NUMBER_SLOTS                                                                                            \
    GB_PY_FIELD_UNARY(GB_PY_SLOT) GB_PY_FIELD_BINARY(GB_PY_SLOTS) GB_PY_SLOTS(power, power) GB_PY_SLOT(divmod, divmod)      \
    {Py_tp_richcompare, gb_py_field_compare}, {Py_tp_hash, PyObject_HashNotImplemented}

#endif
