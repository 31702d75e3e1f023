/* cast.h: elements between memory and a kernel's scratch memory, converted, swapped and packed. */
#pragma once

#include "call.h"
#include "types.h"

/* n items from src to dst, any steps and alignment; the regions do not overlap. */
void gb_gu_cast(int to, char *dst, intptr_t dst_step, int from, const char *src, intptr_t src_step,
                int64_t n);

/* Moves rows of len elements of an operand, core included, into packed kernel form, and back. row
 * and step are the distances of rows and of elements in memory. */
void gb_gu_pack_rows(char *packed, const gb_gu_operand *o, const char *memory, int64_t row,
                     int64_t rows, int64_t step, int64_t len);
void gb_gu_unpack_rows(char *memory, const gb_gu_operand *o, const char *packed, int64_t row,
                       int64_t rows, int64_t step, int64_t len);
static inline void gb_gu_pack(char *packed, const gb_gu_operand *o, const char *memory,
                              int64_t step, int64_t len) {
    gb_gu_pack_rows(packed, o, memory, 0, 1, step, len);
}
static inline void gb_gu_unpack(char *memory, int64_t step, const gb_gu_operand *o,
                                const char *packed, int64_t len) {
    gb_gu_unpack_rows(memory, o, packed, 0, 1, step, len);
}
