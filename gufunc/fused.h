/* fused.h: several elementwise loops as one kernel, a NumPy loop whose data says which (fuse.go
 * compiles it). The elements are taken a tile at a time; what one loop gives to the next lies in
 * scratch memory of the size of a tile, which stays in the first cache. */
#pragma once

#include "types.h"

#define GB_GU_FUSED_ROOM (40 << 10) /* bytes of scratch memory, on the stack of a worker */
#define GB_GU_FUSED_TILE 4096 /* bytes of a slot of the widest type, where the room is enough */
#define GB_GU_FUSED_ARGS 8    /* operands of one loop, at most */

/* A cast has the types of its one input and its output; a select is np.where of a bool, and two
 * values of the output's type. */
enum { GB_GU_FUSED_LOOP = 1, GB_GU_FUSED_CAST, GB_GU_FUSED_SELECT };

/* Where the values of a loop's operand are: an operand of the kernel, else a parameter, which is
 * the same for all elements, or a slot of the scratch memory, at so many bytes. */
enum { GB_GU_FUSED_PARAMETER = -1, GB_GU_FUSED_SLOT = -2 };
typedef struct gb_gu_fused_place {
    int32_t operand;
    int32_t at, step;
} gb_gu_fused_place;

typedef struct gb_gu_fused_step {
    gb_gu_numpy_loop function;
    void *data;
    int32_t kind, nargs, from, to; /* types: of a cast, and of what a select gives */
    gb_gu_fused_place place[GB_GU_FUSED_ARGS];
} gb_gu_fused_step;

typedef struct gb_gu_fused {
    int32_t nop, nsteps, nparams;
    int32_t tile, room; /* elements; bytes of scratch memory */
    gb_gu_fused_step step[];
} gb_gu_fused;

/* The data of the kernel. flags: for each step the floating-point exceptions it raised, as NumPy
 * numbers them; NULL: they stay where they are. */
typedef struct gb_gu_fused_run {
    const gb_gu_fused *program;
    char *parameters; /* 16 bytes each */
    uint8_t *flags;
} gb_gu_fused_run;

gb_gu_fused *gb_gu_fused_new(int nsteps);
void gb_gu_fused_free(gb_gu_fused *program);
void gb_gu_fused_loop(char **args, intptr_t const *dims, intptr_t const *steps, void *data);
