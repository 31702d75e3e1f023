/* operator_slots.h: Python's operators by their slots: X(p, slot, the ufunc): `slot` stands behind Py_nb_ and, of two operands, Py_nb_inplace_. */
#pragma once

#define GB_PY_UNARY_OPERATORS(X, p) X(p, negative, GB_PY_U_NEGATIVE) X(p, positive, GB_PY_U_POSITIVE) X(p, absolute, GB_PY_U_ABSOLUTE) X(p, invert, GB_PY_U_INVERT)
#define GB_PY_BINARY_OPERATORS(X, p)                                                                                        \
    X(p, add, GB_PY_U_ADD) X(p, subtract, GB_PY_U_SUBTRACT) X(p, multiply, GB_PY_U_MULTIPLY) X(p, true_divide, GB_PY_U_TRUE_DIVIDE)                 \
    X(p, floor_divide, GB_PY_U_FLOOR_DIVIDE) X(p, remainder, GB_PY_U_REMAINDER) X(p, matrix_multiply, GB_PY_U_MATMUL) X(p, lshift, GB_PY_U_LEFT_SHIFT) \
    X(p, rshift, GB_PY_U_RIGHT_SHIFT) X(p, and, GB_PY_U_BITWISE_AND) X(p, or, GB_PY_U_BITWISE_OR) X(p, xor, GB_PY_U_BITWISE_XOR)
