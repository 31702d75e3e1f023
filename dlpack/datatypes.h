/* datatypes.h: DLPack's types for NumPy's and ml_dtypes'. The numbers stand in alloc/elements.h,
 * the others here. */
#pragma once

#include "../alloc/elements.h"
#include "dlpack.h"

/* X(name, DLPack's code, bits): the types of ml_dtypes under the names it gives them. It holds
 * those of less than a byte one to a byte, which DLPack calls padded. */
#define GB_DLPACK_EACH_EXTENDED(X)                 \
    X("bfloat16", Bfloat, 16)                      \
    X("float8_e3m4", Float8_e3m4, 8)               \
    X("float8_e4m3", Float8_e4m3, 8)               \
    X("float8_e4m3b11fnuz", Float8_e4m3b11fnuz, 8) \
    X("float8_e4m3fn", Float8_e4m3fn, 8)           \
    X("float8_e4m3fnuz", Float8_e4m3fnuz, 8)       \
    X("float8_e5m2", Float8_e5m2, 8)               \
    X("float8_e5m2fnuz", Float8_e5m2fnuz, 8)       \
    X("float8_e8m0fnu", Float8_e8m0fnu, 8)         \
    X("float6_e2m3fn", Float6_e2m3fn, 6)           \
    X("float6_e3m2fn", Float6_e3m2fn, 6)           \
    X("float4_e2m1fn", Float4_e2m1fn, 4)

typedef struct gb_dlpack_extended {
    const char *name;
    DLDataType dtype;
} gb_dlpack_extended;

#define GB_DLPACK_ONE_MORE_(name, code, bits) +1
enum { GB_DLPACK_EXTENDED_TYPES = GB_DLPACK_EACH_EXTENDED(GB_DLPACK_ONE_MORE_) };
extern const gb_dlpack_extended gb_dlpack_extended_types[GB_DLPACK_EXTENDED_TYPES];

/* DLPack's type of a gb_type; no bits: it has none. */
DLDataType gb_dlpack_type_of(int type);

/* One number for code and bits, for a switch over both. */
#define GB_DLPACK_KEY(code, bits) ((code) << 8 | (bits))

/* The gb_type, or GB_RAW where it is no number of NumPy's. */
int gb_dlpack_number(DLDataType dtype);
