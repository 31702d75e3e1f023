/* field_number.h: operators, comparisons and NumPy's protocols of functions, as slots of the Field type. */
#ifndef GRIDBUF_FIELD_NUMBER_H
#define GRIDBUF_FIELD_NUMBER_H

#include "field/field.h"

int gb_field_number_init(void);
int gb_field_protocols_init(void);   /* field_protocols.c */
PyObject *gb_field_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_field_array_function(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_field_compare(PyObject *a, PyObject *b, int op);

#define GB_UNARY(name) PyObject *gb_field_##name(PyObject *a);
#define GB_BOTH(name) PyObject *gb_field_##name(PyObject *a, PyObject *b), *gb_field_in_##name(PyObject *a, PyObject *b);
GB_UNARY(negative) GB_UNARY(positive) GB_UNARY(absolute) GB_UNARY(invert)
GB_BOTH(add) GB_BOTH(subtract) GB_BOTH(multiply) GB_BOTH(true_divide) GB_BOTH(floor_divide) GB_BOTH(remainder)
GB_BOTH(matmul) GB_BOTH(left_shift) GB_BOTH(right_shift) GB_BOTH(bitwise_and) GB_BOTH(bitwise_or) GB_BOTH(bitwise_xor)
PyObject *gb_field_divmod(PyObject *a, PyObject *b);
PyObject *gb_field_power(PyObject *a, PyObject *b, PyObject *modulus), *gb_field_in_power(PyObject *a, PyObject *b, PyObject *modulus);

#define GB_SLOT(name) {Py_nb_##name, gb_field_##name}
#define GB_FIELD_NUMBER_SLOTS                                                                                            \
    GB_SLOT(negative), GB_SLOT(positive), GB_SLOT(absolute), GB_SLOT(invert), GB_SLOT(divmod), GB_SLOT(add),             \
    GB_SLOT(subtract), GB_SLOT(multiply), GB_SLOT(true_divide), GB_SLOT(floor_divide), GB_SLOT(remainder), GB_SLOT(power), \
    {Py_nb_matrix_multiply, gb_field_matmul}, {Py_nb_inplace_matrix_multiply, gb_field_in_matmul},                       \
    {Py_nb_lshift, gb_field_left_shift}, {Py_nb_inplace_lshift, gb_field_in_left_shift},                                 \
    {Py_nb_rshift, gb_field_right_shift}, {Py_nb_inplace_rshift, gb_field_in_right_shift},                               \
    {Py_nb_and, gb_field_bitwise_and}, {Py_nb_inplace_and, gb_field_in_bitwise_and},                                     \
    {Py_nb_or, gb_field_bitwise_or}, {Py_nb_inplace_or, gb_field_in_bitwise_or},                                         \
    {Py_nb_xor, gb_field_bitwise_xor}, {Py_nb_inplace_xor, gb_field_in_bitwise_xor},                                     \
    {Py_nb_inplace_add, gb_field_in_add}, {Py_nb_inplace_subtract, gb_field_in_subtract},                                \
    {Py_nb_inplace_multiply, gb_field_in_multiply}, {Py_nb_inplace_true_divide, gb_field_in_true_divide},                \
    {Py_nb_inplace_floor_divide, gb_field_in_floor_divide}, {Py_nb_inplace_remainder, gb_field_in_remainder},            \
    {Py_nb_inplace_power, gb_field_in_power}, {Py_tp_richcompare, gb_field_compare}, {Py_tp_hash, PyObject_HashNotImplemented}

#endif
