/* interface.c: see interface.h. */
#include "interface.h"

#include <inttypes.h>

#define ALLOWED "allowed are None, 1 (legacy default), 2 (per-thread default) and a pointer"

/* Versions 0 to 2 differ only in what they leave out. */
int gb_interface_cuda_version(int64_t version, gb_error *e) {
    return version >= 0 && version <= 3
               ? 0
               : gb_refuse(e, GB_VALUE_ERROR, "version: %" PRId64 "; versions 0 to 3 are read",
                           version);
}

/* 0 could mean no stream, or one of the two default streams. */
int gb_interface_cuda_stream(int64_t stream, gb_error *e) {
    if (stream > 0) return 0;
    return gb_refuse(e, GB_VALUE_ERROR,
                     stream ? "stream: %" PRId64 " is no pointer; " ALLOWED
                            : "stream: %" PRId64 " is ambiguous; " ALLOWED,
                     stream);
}
