/* fold.h: what the kernels of fold.c get as data; gridbuf.gufunc.reduction packs it. */
#ifndef GRIDBUF_GUFUNC_FOLD_H
#define GRIDBUF_GUFUNC_FOLD_H

#include "call.h"

typedef struct gb_fold {
    void *loop, *data;
    int64_t item;               /* bytes, at most 16 */
    int32_t form, ordered, has_start, reserved;
    char start[16], identity[16];
} gb_fold;

/* The initial state, size bytes, comes right after it. */
typedef struct gb_state_kernel {
    void (*step)(void *state, intptr_t first, intptr_t n, char **args, intptr_t const *steps, void *data);
    void (*merge)(void *state, void const *later, void *data);
    int (*final)(void const *state, char **outs, void *data);
    void *data;
    int64_t size, outputs;
} gb_state_kernel;

intptr_t gb_fold_loop(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status);
intptr_t gb_fold_masked_loop(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status);
intptr_t gb_state_step_loop(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status);
intptr_t gb_state_merge_loop(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status);

#endif
