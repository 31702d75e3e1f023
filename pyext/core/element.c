/* element.c: Python's numbers as elements of memory. */
#include "dtype.h"

#include <math.h>

int gb_py_put_int(char *to, uint8_t type, long long v) {
#define FITS(ctype, low, high)                                       \
    do {                                                             \
        if (v < (long long)(low) || v > (long long)(high)) return 0; \
        ctype w = (ctype)v;                                          \
        memcpy(to, &w, sizeof w);                                    \
        return 1;                                                    \
    } while (0)
    switch (type) {
    case GB_I8: FITS(int8_t, INT8_MIN, INT8_MAX);
    case GB_U8: FITS(uint8_t, 0, UINT8_MAX);
    case GB_I16: FITS(int16_t, INT16_MIN, INT16_MAX);
    case GB_U16: FITS(uint16_t, 0, UINT16_MAX);
    case GB_I32: FITS(int32_t, INT32_MIN, INT32_MAX);
    case GB_U32: FITS(uint32_t, 0, UINT32_MAX);
    case GB_I64: FITS(int64_t, INT64_MIN, INT64_MAX);
    case GB_U64: FITS(uint64_t, 0, INT64_MAX);
    case GB_F32: FITS(float, -(1 << 24), 1 << 24);
    case GB_F64: FITS(double, -(1LL << 53), 1LL << 53);
    }
    return 0;
#undef FITS
}

int gb_py_put_float(char *to, uint8_t type, double v) {
    float narrow = (float)v;
    if (type == GB_F64) memcpy(to, &v, sizeof v);
    else if (type == GB_F32 && (isfinite(narrow) || !isfinite(v)))
        memcpy(to, &narrow, sizeof narrow);
    else return 0;
    return 1;
}

int gb_py_put_number(char *to, uint8_t type, PyObject *value) {
    int overflow;
    if (PyFloat_CheckExact(value)) return gb_py_put_float(to, type, PyFloat_AsDouble(value));
    if (!PyLong_CheckExact(value)) return 0;
    long long v = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && gb_py_put_int(to, type, v);
}
