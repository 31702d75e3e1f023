/* operators.h: Python's operators as NumPy's ufuncs, and the slots of a type that has them. */
#ifndef GRIDBUF_OPERATORS_H
#define GRIDBUF_OPERATORS_H

#include "common.h"

#define GB_PY_UNARY_OPERATORS(X, p) X(p, negative, U_NEGATIVE) X(p, positive, U_POSITIVE) X(p, absolute, U_ABSOLUTE) X(p, invert, U_INVERT)
#define GB_PY_BINARY_OPERATORS(X, p)                                                                                        \
    X(p, add, U_ADD) X(p, subtract, U_SUBTRACT) X(p, multiply, U_MULTIPLY) X(p, true_divide, U_TRUE_DIVIDE)                 \
    X(p, floor_divide, U_FLOOR_DIVIDE) X(p, remainder, U_REMAINDER) X(p, matrix_multiply, U_MATMUL) X(p, lshift, U_LEFT_SHIFT) \
    X(p, rshift, U_RIGHT_SHIFT) X(p, and, U_BITWISE_AND) X(p, or, U_BITWISE_OR) X(p, xor, U_BITWISE_XOR)

enum {
    U_ADD, U_SUBTRACT, U_MULTIPLY, U_TRUE_DIVIDE, U_FLOOR_DIVIDE, U_REMAINDER, U_DIVMOD, U_POWER, U_MATMUL, U_LEFT_SHIFT, U_RIGHT_SHIFT,
    U_BITWISE_AND, U_BITWISE_OR, U_BITWISE_XOR, U_NEGATIVE, U_POSITIVE, U_ABSOLUTE, U_INVERT, U_SQUARE, U_SQRT,
    U_LESS, U_LESS_EQUAL, U_EQUAL, U_NOT_EQUAL, U_GREATER, U_GREATER_EQUAL, UFUNCS   /* comparisons as Python numbers them */
};
extern PyObject *gb_py_ufuncs[UFUNCS], *gb_py_word_out;
extern int gb_py_weak_numbers;   /* NumPy 2: a Python number takes the array's dtype, whatever its value */

int gb_py_operators_init(void);

/* For slots: 0 with an error where pow() has a third argument. */
int gb_py_no_modulus(PyObject *modulus);

/* The functions of the slots, for the header of a type, for the file that has unary(which, a), binary(which, a, b) and
 * in_place(which, a, b), and for the type's table. */
#define GB_PY_DECLARE_UNARY_(p, name, which) PyObject *p##name(PyObject *a);
#define GB_PY_DECLARE_BOTH_(p, name, which) PyObject *p##name(PyObject *a, PyObject *b), *p##in_##name(PyObject *a, PyObject *b);
#define GB_PY_DECLARE_OPERATORS(p)                                                                                  \
    GB_PY_UNARY_OPERATORS(GB_PY_DECLARE_UNARY_, p) GB_PY_BINARY_OPERATORS(GB_PY_DECLARE_BOTH_, p)                   \
    PyObject *p##divmod(PyObject *a, PyObject *b), *p##power(PyObject *a, PyObject *b, PyObject *modulus);          \
    PyObject *p##in_power(PyObject *a, PyObject *b, PyObject *modulus), *p##compare(PyObject *a, PyObject *b, int op);

#define GB_PY_DEFINE_UNARY_(p, name, which) PyObject *p##name(PyObject *a) { return unary(which, a); }
#define GB_PY_DEFINE_BOTH_(p, name, which)                                    \
    PyObject *p##name(PyObject *a, PyObject *b) { return binary(which, a, b); } \
    PyObject *p##in_##name(PyObject *a, PyObject *b) { return in_place(which, a, b); }
#define GB_PY_DEFINE_OPERATORS(p)                                                                                          \
    GB_PY_UNARY_OPERATORS(GB_PY_DEFINE_UNARY_, p) GB_PY_BINARY_OPERATORS(GB_PY_DEFINE_BOTH_, p)                            \
    PyObject *p##divmod(PyObject *a, PyObject *b) { return binary(U_DIVMOD, a, b); }                                       \
    PyObject *p##power(PyObject *a, PyObject *b, PyObject *m) { return gb_py_no_modulus(m) ? binary(U_POWER, a, b) : NULL; }      \
    PyObject *p##in_power(PyObject *a, PyObject *b, PyObject *m) { return gb_py_no_modulus(m) ? in_place(U_POWER, a, b) : NULL; } \
    PyObject *p##compare(PyObject *a, PyObject *b, int op) { return binary(U_LESS + op, a, b); }

#define GB_PY_UNARY_SLOT_(p, name, which) {Py_nb_##name, p##name},
#define GB_PY_BOTH_SLOTS_(p, name, which) {Py_nb_##name, p##name}, {Py_nb_inplace_##name, p##in_##name},
#define GB_PY_OPERATOR_SLOTS(p)                                                                            \
    GB_PY_UNARY_OPERATORS(GB_PY_UNARY_SLOT_, p) GB_PY_BINARY_OPERATORS(GB_PY_BOTH_SLOTS_, p)               \
    {Py_nb_divmod, p##divmod}, {Py_nb_power, p##power}, {Py_nb_inplace_power, p##in_power},                \
    {Py_tp_richcompare, p##compare}, {Py_tp_hash, PyObject_HashNotImplemented}

#endif
