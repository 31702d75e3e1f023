/* program.h: many copies in one call: halos into messages, messages into halos, blocks to blocks.
 *
 * An entry copies one box between two slots; slots get their memory at each run. Each entry is
 * planned once: axes merged and sorted, long ones cut, so that any range of entries is a share of
 * the work for one thread.
 */
#pragma once

#include "axes.h"

#define GB_PROGRAM_AXES 7

/* Effects of a copy besides copying; they add up. */
enum {
    GB_PROGRAM_SIGN = 1,  /* the sign bit of every element is flipped on the way */
    GB_PROGRAM_ADD = 2,   /* the target gets the sum */
    GB_PROGRAM_CLEAR = 4, /* the source becomes 0 afterwards */
};

enum gb_program_kind {
    GB_PROGRAM_RUNS,      /* `run` bytes at a time, dense on both sides */
    GB_PROGRAM_ELEMENTS,  /* one element at a time */
    GB_PROGRAM_TRANSPOSE, /* the last axis is dense in the target, the one before in the source */
    GB_PROGRAM_SUMS,
};

/* A box without its memory; the kernels walk the last two axes, so that there are always two. */
typedef struct gb_program_entry {
    int64_t dst_at, src_at; /* of the first element, in bytes from the slots' element 0 */
    int64_t bytes;          /* written to the target */
    int64_t run;
    int32_t dst_slot, src_slot;
    int32_t item;
    uint8_t n, kind, mode, type;
    uint8_t sign_unit, sign_byte; /* the sign is the highest bit of this byte in every unit of so
                                     many bytes; 0: no sign */
    gb_copy_axis axis[GB_PROGRAM_AXES];
} gb_program_entry;
_Static_assert(sizeof(gb_program_entry) <= 256,
               "entries are walked by the thousand: four cache lines at most");

typedef struct gb_program {
    gb_program_entry *entries;
    int64_t n, room;
    int64_t bytes; /* written to targets in all */
    int64_t dense; /* of these, in runs of GB_PROGRAM_DENSE and more */
    int ordered;   /* entries run one after the other: sums depend on their order */
} gb_program;
#define GB_PROGRAM_DENSE 256

/* One copy as it is described. Strides of the target are not 0 along axes of two and more. */
typedef struct gb_program_copy {
    int32_t dst_slot, src_slot;
    int64_t dst_at, src_at, item;
    int mode, type; /* type: a gb_type where the elements are one in this machine's byte order */
    int sign_unit, sign_byte;
    int ndim;
    const int64_t *shape, *dst_strides, *src_strides;
} gb_program_copy;

/* GB_COPY_OK, GB_COPY_NO_MEMORY, GB_COPY_BAD_VIEW; GB_COPY_NO_CAST: elements that cannot be added.
 * A zeroed program is an empty one. */
int gb_program_append(gb_program *program, const gb_program_copy *copy);
void gb_program_free(gb_program *program);

void gb_program_entries_run(const gb_program *program, char *const *bases, int64_t first,
                            int64_t end);

/* A program and element 0 of each slot, and its entries as work. */
typedef struct gb_program_run {
    const gb_program *program;
    char *const *bases;
} gb_program_run;
gb_work gb_program_work(gb_program_run *run);
