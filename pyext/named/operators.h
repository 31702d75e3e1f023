/* operators.h: Python's operators as NumPy's ufuncs, and the slots of a type that has them. */
#pragma once

#include "../core/upcall.h"

/* Python's operators by their slots: X(slot, the ufunc): `slot` stands behind Py_nb_ and, of two
 * operands, Py_nb_inplace_. */
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

enum {
    GB_PY_U_ADD,
    GB_PY_U_SUBTRACT,
    GB_PY_U_MULTIPLY,
    GB_PY_U_TRUE_DIVIDE,
    GB_PY_U_FLOOR_DIVIDE,
    GB_PY_U_REMAINDER,
    GB_PY_U_DIVMOD,
    GB_PY_U_POWER,
    GB_PY_U_MATMUL,
    GB_PY_U_LEFT_SHIFT,
    GB_PY_U_RIGHT_SHIFT,
    GB_PY_U_BITWISE_AND,
    GB_PY_U_BITWISE_OR,
    GB_PY_U_BITWISE_XOR,
    GB_PY_U_NEGATIVE,
    GB_PY_U_POSITIVE,
    GB_PY_U_ABSOLUTE,
    GB_PY_U_INVERT,
    GB_PY_U_SQUARE,
    GB_PY_U_SQRT,
    GB_PY_U_RECIPROCAL,
    GB_PY_U_LESS,
    GB_PY_U_LESS_EQUAL,
    GB_PY_U_EQUAL,
    GB_PY_U_NOT_EQUAL,
    GB_PY_U_GREATER,
    GB_PY_U_GREATER_EQUAL,
    GB_PY_UFUNCS /* comparisons as Python numbers them */
};
extern PyObject *gb_py_ufuncs[GB_PY_UFUNCS], *gb_py_word_out, *gb_py_word_axis, *gb_py_where;

/* How an operand enters the question which dtype a call gives: the type number of an array or a
 * NumPy scalar in the machine's own order, below 64, or one of these for Python's own; -1: not so
 * simply. */
enum { GB_PY_A_BOOL = 64, GB_PY_AN_INT, GB_PY_A_FLOAT, GB_PY_A_COMPLEX };
static inline int gb_py_code_of(const PyArray_Descr *descr) {
    return PyArray_ISNBO(descr->byteorder) && descr->type_num < GB_PY_A_BOOL ? descr->type_num : -1;
}
int gb_py_code_of_number(PyObject *obj);
/* NumPy 2: a Python number takes the array's dtype, whatever its value. */
extern int gb_py_weak_numbers;

/* A type's fast path for one operand or two, into `out` or, without one, a new object.
 * NotImplemented: Python's `fallback` is called, or the ufunc of one operand. `ours`: a is of the
 * type, so that a ** 2 is a square. */
typedef PyObject *(*gb_py_quick)(PyObject *ufunc, PyObject *const *in, int n, PyObject *out);
PyObject *gb_py_unary(gb_py_quick quick, int which, PyObject *a);
PyObject *gb_py_binary(gb_py_quick quick, gb_py_upcall fallback, int which, int ours, PyObject *a,
                       PyObject *b);
PyObject *gb_py_in_place(gb_py_quick quick, gb_py_upcall fallback, int which, PyObject *a,
                         PyObject *b);
PyObject *gb_py_array_ufunc(gb_py_quick quick, gb_py_upcall fallback, PyObject *args,
                            PyObject *kwargs);

/* With out= by its name: NumPy frowns on a third argument of maximum. b NULL: of one operand. */
PyObject *gb_py_ufunc_into(PyObject *ufunc, PyObject *a, PyObject *b, PyObject *target);

/* For slots: 0 with an error where pow() has a third argument. */
int gb_py_no_modulus(PyObject *modulus);

/* The functions of the slots, for the file that has unary(which, a), binary(which, a, b) and
 * in_place(which, a, b), and their rows in its type's table. */
#define GB_PY_DEFINE_UNARY_(name, which) \
    static PyObject *nb_##name(PyObject *a) { return unary(which, a); }
#define GB_PY_DEFINE_BOTH_(name, which)                                                  \
    static PyObject *nb_##name(PyObject *a, PyObject *b) { return binary(which, a, b); } \
    static PyObject *nb_in_##name(PyObject *a, PyObject *b) { return in_place(which, a, b); }
#define GB_PY_DEFINE_OPERATORS                                                                    \
    GB_PY_UNARY_OPERATORS(GB_PY_DEFINE_UNARY_)                                                    \
    GB_PY_BINARY_OPERATORS(GB_PY_DEFINE_BOTH_)                                                    \
    static PyObject *nb_divmod(PyObject *a, PyObject *b) { return binary(GB_PY_U_DIVMOD, a, b); } \
    static PyObject *nb_power(PyObject *a, PyObject *b, PyObject *m) {                            \
        return gb_py_no_modulus(m) ? binary(GB_PY_U_POWER, a, b) : NULL;                          \
    }                                                                                             \
    static PyObject *nb_in_power(PyObject *a, PyObject *b, PyObject *m) {                         \
        return gb_py_no_modulus(m) ? in_place(GB_PY_U_POWER, a, b) : NULL;                        \
    }                                                                                             \
    static PyObject *compare(PyObject *a, PyObject *b, int op) {                                  \
        return binary(GB_PY_U_LESS + op, a, b);                                                   \
    }

#define GB_PY_UNARY_SLOT_(name, which) {Py_nb_##name, nb_##name},
#define GB_PY_BOTH_SLOTS_(name, which) \
    {Py_nb_##name, nb_##name}, {Py_nb_inplace_##name, nb_in_##name},
#define GB_PY_OPERATOR_SLOTS                                                                     \
    GB_PY_UNARY_OPERATORS(GB_PY_UNARY_SLOT_)                                                     \
    GB_PY_BINARY_OPERATORS(GB_PY_BOTH_SLOTS_){Py_nb_divmod, nb_divmod}, {Py_nb_power, nb_power}, \
        {Py_nb_inplace_power, nb_in_power}, {Py_tp_richcompare, compare}, {                      \
        Py_tp_hash, PyObject_HashNotImplemented                                                  \
    }
