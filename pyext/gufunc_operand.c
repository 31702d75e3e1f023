/* gufunc_operand.c: operands of a call: arrays and Python numbers. */
#include "gufunc.h"

#include <math.h>
#include <string.h>

static const uint8_t types_of[] = {
    [NPY_BOOL] = GT_BOOL, [NPY_BYTE] = GT_I8, [NPY_UBYTE] = GT_U8, [NPY_SHORT] = GT_I16, [NPY_USHORT] = GT_U16,
    [NPY_INT] = GT_I32, [NPY_UINT] = GT_U32, [NPY_LONG] = sizeof(long) == 8 ? GT_I64 : GT_I32,
    [NPY_ULONG] = sizeof(long) == 8 ? GT_U64 : GT_U32, [NPY_LONGLONG] = GT_I64, [NPY_ULONGLONG] = GT_U64,
    [NPY_FLOAT] = GT_F32, [NPY_DOUBLE] = GT_F64, [NPY_LONGDOUBLE] = GT_LONGDOUBLE, [NPY_CFLOAT] = GT_C64,
    [NPY_CDOUBLE] = GT_C128, [NPY_CLONGDOUBLE] = GT_CLONGDOUBLE, [NPY_DATETIME] = GT_MOMENT,
    [NPY_TIMEDELTA] = GT_DURATION, [NPY_HALF] = GT_F16,
};

uint8_t gb_type_of_descr(PyArray_Descr *descr) {
    int n = descr->type_num;
    return n >= 0 && (size_t)n < sizeof types_of ? types_of[n] : 0;
}

int gb_npy_type(uint8_t type) {
    static const int numbers[GT_TYPES] = {
        [GT_BOOL] = NPY_BOOL, [GT_I8] = NPY_INT8, [GT_U8] = NPY_UINT8, [GT_I16] = NPY_INT16, [GT_U16] = NPY_UINT16,
        [GT_I32] = NPY_INT32, [GT_U32] = NPY_UINT32, [GT_I64] = NPY_INT64, [GT_U64] = NPY_UINT64, [GT_F16] = NPY_HALF,
        [GT_F32] = NPY_FLOAT, [GT_F64] = NPY_DOUBLE, [GT_LONGDOUBLE] = NPY_LONGDOUBLE, [GT_C64] = NPY_CFLOAT,
        [GT_C128] = NPY_CDOUBLE, [GT_CLONGDOUBLE] = NPY_CLONGDOUBLE, [GT_MOMENT] = NPY_DATETIME, [GT_DURATION] = NPY_TIMEDELTA,
    };
    return numbers[type];
}

int gb_arg_array(gb_arg *a, PyArrayObject *array) {
    PyArray_Descr *descr = PyArray_DESCR(array);
    a->type = gb_type_of_descr(descr);
    a->swapped = descr->byteorder == (NPY_BYTE_ORDER == NPY_LITTLE_ENDIAN ? '>' : '<');
    a->misaligned = !PyArray_ISALIGNED(array);
    a->absent = a->weak = 0;
    a->ndim = PyArray_NDIM(array);
    a->ndims = -1;
    size_t kept = (size_t)(a->ndim < GB_MAXDIMS ? a->ndim : GB_MAXDIMS);   /* more are refused */
    memcpy(a->shape, PyArray_DIMS(array), kept * sizeof *a->shape);
    memcpy(a->strides, PyArray_STRIDES(array), kept * sizeof *a->strides);
    a->data = PyArray_BYTES(array);
    a->keep = Py_NewRef((PyObject *)array);
    return a->type && a->ndim <= GB_MAXDIMS ? 0 : -1;
}

static int put_int(gb_arg *a, uint8_t type, long long v) {
#define FITS(ctype, low, high)                                                                                    \
    do {                                                                                                          \
        if (v < (long long)(low) || v > (long long)(high)) return 0;                                              \
        ctype w = (ctype)v;                                                                                       \
        memcpy(a->number, &w, sizeof w);                                                                          \
        return 1;                                                                                                 \
    } while (0)
    switch (type) {
    case GT_I8: FITS(int8_t, INT8_MIN, INT8_MAX);
    case GT_U8: FITS(uint8_t, 0, UINT8_MAX);
    case GT_I16: FITS(int16_t, INT16_MIN, INT16_MAX);
    case GT_U16: FITS(uint16_t, 0, UINT16_MAX);
    case GT_I32: FITS(int32_t, INT32_MIN, INT32_MAX);
    case GT_U32: FITS(uint32_t, 0, UINT32_MAX);
    case GT_I64: FITS(int64_t, INT64_MIN, INT64_MAX);
    case GT_U64: FITS(uint64_t, 0, INT64_MAX);
    case GT_F32: FITS(float, -(1 << 24), 1 << 24);
    case GT_F64: FITS(double, -(1LL << 53), 1LL << 53);
    }
    return 0;
#undef FITS
}

int gb_arg_number(gb_arg *a, uint8_t type) {
    if (a->weak == 1) {
        int overflow;
        long long v = PyLong_AsLongLongAndOverflow(a->given, &overflow);
        if (overflow || !put_int(a, type, v)) return 0;
    } else {
        double v = PyFloat_AsDouble(a->given);
        float narrow = (float)v;
        if (type == GT_F64) memcpy(a->number, &v, sizeof v);
        else if (type == GT_F32 && (isfinite(narrow) || !isfinite(v))) memcpy(a->number, &narrow, sizeof narrow);
        else return 0;
    }
    a->type = type;
    a->data = a->number;
    return 1;
}

void gb_invocation_clear(gb_invocation *v) {
    for (int i = 0; i < v->nop + v->has_where; i++) Py_CLEAR(v->arg[i].keep);
    Py_CLEAR(v->codes);
    if (v->entry) gb_entry_drop(v->entry);
    v->entry = NULL;
}
