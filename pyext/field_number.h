/* field_number.h: operators, comparisons and NumPy's protocols of functions, as slots of the Field type. */
#ifndef GRIDBUF_FIELD_NUMBER_H
#define GRIDBUF_FIELD_NUMBER_H

#include "field/field.h"

int gb_py_field_number_init(void);
int gb_py_field_protocols_init(void);   /* field_protocols.c */
PyObject *gb_py_field_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_field_array_function(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_field_compare(PyObject *a, PyObject *b, int op);

#define GB_PY_UNARY(name) PyObject *gb_py_field_##name(PyObject *a);
#define GB_PY_BOTH(name) PyObject *gb_py_field_##name(PyObject *a, PyObject *b), *gb_py_field_in_##name(PyObject *a, PyObject *b);
GB_PY_UNARY(negative) GB_PY_UNARY(positive) GB_PY_UNARY(absolute) GB_PY_UNARY(invert)
GB_PY_BOTH(add) GB_PY_BOTH(subtract) GB_PY_BOTH(multiply) GB_PY_BOTH(true_divide) GB_PY_BOTH(floor_divide) GB_PY_BOTH(remainder)
GB_PY_BOTH(matmul) GB_PY_BOTH(left_shift) GB_PY_BOTH(right_shift) GB_PY_BOTH(bitwise_and) GB_PY_BOTH(bitwise_or) GB_PY_BOTH(bitwise_xor)
PyObject *gb_py_field_divmod(PyObject *a, PyObject *b);
PyObject *gb_py_field_power(PyObject *a, PyObject *b, PyObject *modulus),
    *gb_py_field_in_power(PyObject *a, PyObject *b, PyObject *modulus);

#define GB_PY_SLOT(name) {Py_nb_##name, gb_py_field_##name}
#define GB_PY_FIELD_NUMBER_SLOTS                                                                                            \
    GB_PY_SLOT(negative), GB_PY_SLOT(positive), GB_PY_SLOT(absolute), GB_PY_SLOT(invert), GB_PY_SLOT(divmod), GB_PY_SLOT(add), \
    GB_PY_SLOT(subtract), GB_PY_SLOT(multiply), GB_PY_SLOT(true_divide), GB_PY_SLOT(floor_divide), GB_PY_SLOT(remainder), \
    GB_PY_SLOT(power), \
    {Py_nb_matrix_multiply, gb_py_field_matmul}, {Py_nb_inplace_matrix_multiply, gb_py_field_in_matmul},                       \
    {Py_nb_lshift, gb_py_field_left_shift}, {Py_nb_inplace_lshift, gb_py_field_in_left_shift},                                 \
    {Py_nb_rshift, gb_py_field_right_shift}, {Py_nb_inplace_rshift, gb_py_field_in_right_shift},                               \
    {Py_nb_and, gb_py_field_bitwise_and}, {Py_nb_inplace_and, gb_py_field_in_bitwise_and},                                     \
    {Py_nb_or, gb_py_field_bitwise_or}, {Py_nb_inplace_or, gb_py_field_in_bitwise_or},                                         \
    {Py_nb_xor, gb_py_field_bitwise_xor}, {Py_nb_inplace_xor, gb_py_field_in_bitwise_xor},                                     \
    {Py_nb_inplace_add, gb_py_field_in_add}, {Py_nb_inplace_subtract, gb_py_field_in_subtract},                                \
    {Py_nb_inplace_multiply, gb_py_field_in_multiply}, {Py_nb_inplace_true_divide, gb_py_field_in_true_divide},                \
    {Py_nb_inplace_floor_divide, gb_py_field_in_floor_divide}, {Py_nb_inplace_remainder, gb_py_field_in_remainder},            \
    {Py_nb_inplace_power, gb_py_field_in_power}, {Py_tp_richcompare, gb_py_field_compare}, {Py_tp_hash, PyObject_HashNotImplemented}

#endif
