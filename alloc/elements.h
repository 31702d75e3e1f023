/* elements.h: the element types, one line each. From these lines come the numbers (gb_type) and
 * what Go and Python call them, sizes, NumPy's characters and numbers, DLPack's codes and the
 * tables of conversions. A header and nothing else, so that a room which shares no code with this
 * one can read it too.
 *
 * Conversions between reals stand in tables that end with the last real, and a range of numbers is
 * what "complex" means: a new real goes to the reals, a new type that no conversion knows to the
 * end. One that NumPy has not has NOTYPE for NumPy's number, and a space for its character. */
#pragma once

#include <stdint.h>

/* X(with, number, NumPy's number, NumPy's character, bytes, NumPy's kind, DLPack's code, name).
 * `with` is passed on. */
#define GB_EACH_REAL(X, with)                            \
    X(with, BOOL, BOOL, '?', 1, 'b', Bool, "bool")       \
    X(with, I8, INT8, 'b', 1, 'i', Int, "int8")          \
    X(with, U8, UINT8, 'B', 1, 'u', UInt, "uint8")       \
    X(with, I16, INT16, 'h', 2, 'i', Int, "int16")       \
    X(with, U16, UINT16, 'H', 2, 'u', UInt, "uint16")    \
    X(with, I32, INT32, 'i', 4, 'i', Int, "int32")       \
    X(with, U32, UINT32, 'I', 4, 'u', UInt, "uint32")    \
    X(with, I64, INT64, 'l', 8, 'i', Int, "int64")       \
    X(with, U64, UINT64, 'L', 8, 'u', UInt, "uint64")    \
    X(with, F16, FLOAT16, 'e', 2, 'f', Float, "float16") \
    X(with, F32, FLOAT32, 'f', 4, 'f', Float, "float32") \
    X(with, F64, FLOAT64, 'd', 8, 'f', Float, "float64")
#define GB_EACH_COMPLEX(X, with)                               \
    X(with, C64, COMPLEX64, 'F', 8, 'c', Complex, "complex64") \
    X(with, C128, COMPLEX128, 'D', 16, 'c', Complex, "complex128")

/* Numbers that every library has: copies convert these, DLPack has them all. */
#define GB_EACH_NUMBER(X, with) GB_EACH_REAL(X, with) GB_EACH_COMPLEX(X, with)

/* A long double is 80 bits in 128: no other library means that. Dates are eight bytes that are
 * passed on. */
#define GB_EACH_TYPE(X, with)                                                                  \
    GB_EACH_REAL(X, with)                                                                      \
    X(with, LONGDOUBLE, LONGDOUBLE, 'g', sizeof(long double), 'f', OpaqueHandle, "longdouble") \
    GB_EACH_COMPLEX(X, with)                                                                   \
    X(with, CLONGDOUBLE, CLONGDOUBLE, 'G', 2 * sizeof(long double), 'c', OpaqueHandle,         \
      "clongdouble")                                                                           \
    X(with, DATETIME, DATETIME, 'M', 8, 'M', OpaqueHandle, "datetime64")                       \
    X(with, TIMEDELTA, TIMEDELTA, 'm', 8, 'm', OpaqueHandle, "timedelta64")

/* A list is not expanded within itself: the inner one waits until the outer is done. */
#define GB_LATER()
#define GB_AGAIN(...) __VA_ARGS__

/* Elements of GB_RAW may have any size; they are moved, never converted. */
#define GB_TYPE_NUMBER_(with, T, ...) GB_##T,
typedef enum gb_type { GB_RAW, GB_EACH_TYPE(GB_TYPE_NUMBER_, ) GB_TYPES } gb_type;
#undef GB_TYPE_NUMBER_

/* Number of reals and what lies before them: long double is the last. */
enum { GB_REALS = GB_LONGDOUBLE + 1 };

static inline int gb_type_is_complex(int type) {
    return type >= GB_REALS && type <= GB_CLONGDOUBLE;
}

/* X(a complex type, the real of which it has two). */
#define GB_EACH_PAIR(X) X(C64, F32) X(C128, F64) X(CLONGDOUBLE, LONGDOUBLE)
#define GB_TYPE_PAIR_(T, real) [GB_##T - GB_REALS] = GB_##real,
#define GB_TYPE_ONE_MORE_(T, real) +1
static inline int gb_type_real(int type) {
    static const uint8_t reals[] = {GB_EACH_PAIR(GB_TYPE_PAIR_)};
    _Static_assert(sizeof reals == 0 GB_EACH_PAIR(GB_TYPE_ONE_MORE_) &&
                       sizeof reals == GB_CLONGDOUBLE - GB_REALS + 1,
                   "GB_EACH_PAIR lacks a complex type");
    return gb_type_is_complex(type) ? reals[type - GB_REALS] : type;
}

/* A fact of a type; 0 (NULL) of GB_RAW and of what is no type. */
#define GB_TYPE_ENTRY_(fact, T, numpy, character, bytes, kind, dlpack, name) \
    [GB_##T] = GB_TYPE_##fact##_(character, bytes, kind, name),
#define GB_TYPE_BYTES_(character, bytes, kind, name) bytes
#define GB_TYPE_CHAR_(character, bytes, kind, name) character
#define GB_TYPE_KIND_(character, bytes, kind, name) kind
#define GB_TYPE_NAME_(character, bytes, kind, name) name
#define GB_TYPE_FACT_(result, function, fact, element)                               \
    static inline result function(int type) {                                        \
        static const element facts[GB_TYPES] = {GB_EACH_TYPE(GB_TYPE_ENTRY_, fact)}; \
        return (unsigned)type < GB_TYPES ? facts[type] : 0;                          \
    }
GB_TYPE_FACT_(int64_t, gb_type_size, BYTES, uint8_t)
GB_TYPE_FACT_(char, gb_type_char, CHAR, char) /* NumPy's */
GB_TYPE_FACT_(char, gb_type_kind, KIND, char) /* NumPy's: b, i, u, f, c, M or m */
GB_TYPE_FACT_(const char *, gb_type_name, NAME, char *const)
