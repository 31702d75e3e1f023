/* datatypes.c: from one name of a type to the other. */
#include "datatypes.h"

#define NAMED(name, code, bits) {name, {kDL##code, bits, 1}},
const gb_dlpack_extended gb_dlpack_extended_types[GB_DLPACK_EXTENDED_TYPES] = {
    GB_DLPACK_EACH_EXTENDED(NAMED)};

DLDataType gb_dlpack_type_of(int type) {
    switch (type) {
#define TYPE(with, T, numpy, character, bytes, kind, code, name) \
    case GB_##T: return (DLDataType){kDL##code, 8 * bytes, 1};
        GB_EACH_NUMBER(TYPE, )
    }
    return (DLDataType){kDLOpaqueHandle, 0, 1};
}

int gb_dlpack_number(DLDataType dtype) {
    switch (GB_DLPACK_KEY(dtype.code, dtype.bits)) {
#define NUMBER(with, T, numpy, character, bytes, kind, code, name) \
    case GB_DLPACK_KEY(kDL##code, 8 * bytes): return GB_##T;
        GB_EACH_NUMBER(NUMBER, )
    }
    return GB_RAW;
}
