/* operators.c: NumPy's ufuncs behind Python's operators, looked up once. */
#include "operators.h"
#include "../core/upcall.h"

PyObject *gb_py_ufuncs[GB_PY_UFUNCS], *gb_py_word_out, *gb_py_word_axis, *gb_py_where;
int gb_py_weak_numbers;
static int squares_of_floats; /* before NumPy 2.3, a ** 2.0 too was a square */

int gb_py_operators_init(PyObject *module) {
    static const char *const names[GB_PY_UFUNCS] = {
        "add",        "subtract",    "multiply",     "true_divide", "floor_divide", "remainder",
        "divmod",     "power",       "matmul",       "left_shift",  "right_shift",  "bitwise_and",
        "bitwise_or", "bitwise_xor", "negative",     "positive",    "absolute",     "invert",
        "square",     "sqrt",        "reciprocal",   "less",        "less_equal",   "equal",
        "not_equal",  "greater",     "greater_equal"};
    _Static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5,
                   "comparisons as Python numbers them");
    PyObject *numpy = PyImport_ImportModule("numpy");
    for (int i = 0; numpy && i < GB_PY_UFUNCS; i++)
        if (!(gb_py_ufuncs[i] = PyObject_GetAttrString(numpy, names[i]))) Py_CLEAR(numpy);
    if (numpy && !(gb_py_where = PyObject_GetAttrString(numpy, "where"))) Py_CLEAR(numpy);
    if (!numpy || !(gb_py_word_out = PyUnicode_InternFromString("out")) ||
        !(gb_py_word_axis = PyUnicode_InternFromString("axis")))
        return -1;
    gb_py_weak_numbers = PyArray_GetNDArrayCFeatureVersion() >= 0x12;
    squares_of_floats = PyArray_GetNDArrayCFeatureVersion() < 0x14;
    Py_DECREF(numpy);
    return 0;
}

int gb_py_no_modulus(PyObject *modulus) {
    if (modulus == Py_None) return 1;
    return PyErr_SetString(PyExc_TypeError, "pow() of arrays takes no third argument"), 0;
}

static int is_inexact(PyObject *obj) {
    GB_PY_OWNED PyObject *dtype = PyObject_GetAttrString(obj, "dtype");
    int number = dtype && PyArray_DescrCheck(dtype) ? ((PyArray_Descr *)dtype)->type_num : -1,
        is = PyTypeNum_ISFLOAT(number) || PyTypeNum_ISCOMPLEX(number);
    PyErr_Clear();
    return is;
}

/* Ufuncs of `**` for some exponents, as for ndarrays: a square, a root or a reciprocal of one
 * operand; else `which`. */
static int as_unary(int which, PyObject *a, PyObject *exponent) {
    if (which != GB_PY_U_POWER) return which;
    if (PyLong_CheckExact(exponent)) {
        int overflow;
        long n = PyLong_AsLongAndOverflow(exponent, &overflow);
        return n == 2                                  ? GB_PY_U_SQUARE
               : n == -1 && !overflow && is_inexact(a) ? GB_PY_U_RECIPROCAL
                                                       : which;
    }
    double e = PyFloat_CheckExact(exponent) ? PyFloat_AsDouble(exponent) : 0.0;
    if ((e != 0.5 && !(e == 2.0 && squares_of_floats)) || !is_inexact(a)) return which;
    return e == 2.0 ? GB_PY_U_SQUARE : GB_PY_U_SQRT;
}

PyObject *gb_py_ufunc_into(PyObject *ufunc, PyObject *a, PyObject *b, PyObject *target) {
    GB_PY_OWNED PyObject *args = b ? PyTuple_Pack(2, a, b) : PyTuple_Pack(1, a),
                         *options = PyDict_New();
    return args && options && PyDict_SetItem(options, gb_py_word_out, target) == 0
               ? PyObject_Call(ufunc, args, options)
               : NULL;
}

/* ---- operators: C's quick way first, else Python ---- */

PyObject *gb_py_unary(gb_py_quick quick, int which, PyObject *a) {
    PyObject *result = quick(gb_py_ufuncs[which], &a, 1, NULL);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
    return PyObject_CallFunctionObjArgs(gb_py_ufuncs[which], a, NULL);
}

/* b NULL: of one operand. */
static PyObject *call_operator(gb_py_quick quick, gb_py_upcall fallback, int which, PyObject *a,
                               PyObject *b, PyObject *out) {
    PyObject *in[2] = {a, b}, *result = quick(gb_py_ufuncs[which], in, b ? 2 : 1, out);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
    PyObject *function = gb_py_upcall_get(fallback);
    return function ? PyObject_CallFunctionObjArgs(function, gb_py_ufuncs[which], a, b, NULL)
                    : NULL;
}

PyObject *gb_py_binary(gb_py_quick quick, gb_py_upcall fallback, int which, int ours, PyObject *a,
                       PyObject *b) {
    int other = ours ? as_unary(which, a, b) : which;
    return other == which ? call_operator(quick, fallback, which, a, b, NULL)
                          : gb_py_unary(quick, other, a);
}

PyObject *gb_py_in_place(gb_py_quick quick, gb_py_upcall fallback, int which, PyObject *a,
                         PyObject *b) {
    int other = as_unary(which, a, b);
    return call_operator(quick, fallback, other, a, other == which ? b : NULL, a);
}

/* ---- __array_ufunc__ ---- */

/* The number of inputs, one or two, where it is a call with nothing but an out (or NULL); 0:
 * something else; -1 with an error. */
static int operands(PyObject *args, PyObject *kwargs, PyObject **in, PyObject **out) {
    Py_ssize_t n = PyTuple_Size(args), given = kwargs ? PyDict_Size(kwargs) : 0;
    if (n < 3)
        return PyErr_Format(
                   PyExc_TypeError,
                   "__array_ufunc__(ufunc, method, *inputs, **kwargs): %zd arguments given", n),
               -1;
    PyObject *method = PyTuple_GetItem(args, 1),
             *outs = given == 1 ? PyDict_GetItemWithError(kwargs, gb_py_word_out) : NULL;
    if (n > 4 || !PyUnicode_Check(method) ||
        PyUnicode_CompareWithASCIIString(method, "__call__") != 0)
        return 0;
    if (given && !(outs && PyTuple_Check(outs) && PyTuple_Size(outs) == 1)) return 0;
    *out = given ? PyTuple_GetItem(outs, 0) : NULL;
    in[0] = PyTuple_GetItem(args, 2);
    in[1] = n > 3 ? PyTuple_GetItem(args, 3) : NULL;
    return (int)n - 2;
}

PyObject *gb_py_array_ufunc(gb_py_quick quick, gb_py_upcall fallback, PyObject *args,
                            PyObject *kwargs) {
    PyObject *in[2], *out;
    int inputs = operands(args, kwargs, in, &out);
    if (inputs < 0) return NULL;
    PyObject *quickly =
        inputs ? quick(PyTuple_GetItem(args, 0), in, inputs, out) : Py_NewRef(Py_NotImplemented);
    if (quickly != Py_NotImplemented) return quickly;
    Py_DECREF(quickly);
    PyObject *function = gb_py_upcall_get(fallback);
    return function ? PyObject_Call(function, args, kwargs) : NULL;
}

/* ---- the dtype that a call gives ---- */

int gb_py_code_of_number(PyObject *obj) {
    if (PyFloat_CheckExact(obj)) return GB_PY_A_FLOAT;
    if (PyLong_CheckExact(obj)) return GB_PY_AN_INT;
    if (PyBool_Check(obj)) return GB_PY_A_BOOL;
    if (PyComplex_CheckExact(obj)) return GB_PY_A_COMPLEX;
    if (!PyArray_IsScalar(obj, Generic)) return -1;
    GB_PY_OWNED PyArray_Descr *descr = PyArray_DescrFromScalar(obj);
    int code = descr && descr->typeobj == Py_TYPE(obj)
                   ? gb_py_code_of(descr)
                   : -1; /* a subclass may have an __array_ufunc__ */
    PyErr_Clear();
    return code;
}
