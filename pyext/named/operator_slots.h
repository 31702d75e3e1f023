/* operator_slots.h: Python's operators by their slots: X(slot, the ufunc): `slot` stands behind
 * Py_nb_ and, of two operands, Py_nb_inplace_. */
#pragma once

#define GB_PY_UNARY_OPERATORS(X)  \
    X(negative, GB_PY_U_NEGATIVE) \
    X(positive, GB_PY_U_POSITIVE) X(absolute, GB_PY_U_ABSOLUTE) X(invert, GB_PY_U_INVERT)
/* clang-format off */
#define GB_PY_BINARY_OPERATORS(X) \
    X(add, GB_PY_U_ADD) \
    X(subtract, GB_PY_U_SUBTRACT) \
    X(multiply, GB_PY_U_MULTIPLY) \
    X(true_divide, GB_PY_U_TRUE_DIVIDE) \
    X(floor_divide, GB_PY_U_FLOOR_DIVIDE) \
    X(remainder, GB_PY_U_REMAINDER) \
    X(matrix_multiply, GB_PY_U_MATMUL) \
    X(lshift, GB_PY_U_LEFT_SHIFT) \
    X(rshift, GB_PY_U_RIGHT_SHIFT) \
    X(and, GB_PY_U_BITWISE_AND) \
    X(or, GB_PY_U_BITWISE_OR) \
    X(xor, GB_PY_U_BITWISE_XOR)
/* clang-format on */
