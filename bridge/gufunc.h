/* gufunc.h: the calls that enter Go for gridbuf.gufunc, and what crosses with them. */
#pragma once

#include "../gufunc/call.h"
#include "../gufunc/reduction.h"
#include "types.h"

/* What a parsed signature says, and as lines of text: the names of the dimensions and of the uniforms; for each dimension its size or -1,
 * with a c where it is computed and a ? where it is optional; for each operand the numbers of its core dimensions. */
enum { GB_BRIDGE_NAMES = 4096 };   /* bytes of names, at most */
typedef struct gb_bridge_gufunc_info {
    int64_t id;
    int32_t nin, nout, ndims, nuniforms, nkernels;
    uint8_t uniform_types[32];
    char text[GB_BRIDGE_NAMES + 24 * GB_GU_MAXCORE + 3 * GB_GU_MAXCORE * GB_GU_MAXARGS];
} gb_bridge_gufunc_info;

enum { GB_BRIDGE_GENERATED = 1 << 16 };   /* of gb_bridge_kernel_spec: gufunc.Kernel.Generated; beyond the flags that calls have as well */

/* A kernel to register. types: element types, one per operand. */
typedef struct gb_bridge_kernel_spec {
    int32_t form, flags;             /* GB_GU_EXCLUSIVE, GB_GU_ONE_WORKER, GB_GU_PURE, GB_GU_FOLDS, GB_BRIDGE_GENERATED */
    uintptr_t function, data;
    char *go_name;                      /* name of a Go kernel, or NULL */
    uint8_t types[GB_GU_MAXARGS];
    int32_t ntypes;
} gb_bridge_kernel_spec;

/* Bits of the words that encode a call (request.go): of an operand's head, whose dimensions stand above them, */
enum { GB_BRIDGE_O_SWAPPED = 1 << 8, GB_BRIDGE_O_MISALIGNED = 1 << 9, GB_BRIDGE_O_ABSENT = 1 << 10, GB_BRIDGE_O_NAMED = 1 << 11, GB_BRIDGE_O_NDIM = 16 };
/* of a call, beside how many operands it has, */
enum { GB_BRIDGE_MASK = 1 << 8, GB_BRIDGE_SIZES = 1 << 9, GB_BRIDGE_AXIS = 1 << 10, GB_BRIDGE_AXIS_NAME = 1 << 11, GB_BRIDGE_AXES = 1 << 12,
       GB_BRIDGE_KEEPDIMS = 1 << 13 };
/* and of a reduction (reduce_request.go), with how many results and axes above them. */
enum { GB_BRIDGE_R_KEEPDIMS = 1, GB_BRIDGE_R_SEQUENTIAL = 2, GB_BRIDGE_R_ONE_BY_ONE = 4, GB_BRIDGE_R_IDENTITY = 8,
       GB_BRIDGE_R_ONE_AXIS = 16,   /* more are refused */
       GB_BRIDGE_R_ALL_AXES = 32, GB_BRIDGE_R_MASK = 1 << 8, GB_BRIDGE_R_RESULTS = 16, GB_BRIDGE_R_AXES = 24, GB_BRIDGE_R_STATE = 32 };

int gbridge_gufunc_new(char *name, char *signature, int32_t flags, gb_bridge_gufunc_info *info, gb_error *e);
int gbridge_gufunc_builtin(char *name, gb_bridge_gufunc_info *info, gb_error *e);
int gbridge_gufunc_drop(int64_t id, gb_error *e);
int gbridge_gufunc_add(int64_t id, gb_bridge_kernel_spec *spec, int32_t *number, gb_error *e);
int gbridge_gufunc_types(int64_t id, int32_t kernel, uint8_t *types, gb_error *e);
/* The kernel for n inputs: types (with GB_BRIDGE_SWAPPED) and kinds of Python numbers. wanted: the types asked for, one for each operand
 * and 0 where any will do; with nwanted 0 nothing is asked for, and casting (gufunc.Casting) does not count. */
#define GB_BRIDGE_SWAPPED 0x40
int gbridge_gufunc_select(int64_t id, uint8_t *types, uint8_t *weak, int32_t n, uint8_t *wanted, int32_t nwanted, int32_t casting,
                          int32_t *number, gb_error *e);
int gbridge_gufunc_resolve(int64_t id, int64_t *encoding, int64_t n, gb_gu_call **call, gb_error *e);
int gbridge_gufunc_turn_shapes(int64_t id, int64_t *encoding, int64_t n, gb_error *e);   /* in place: core dimensions last */
int gbridge_gufunc_add_state(int64_t id, gb_gu_state_kernel *k, uint8_t *types, int32_t ntypes, int32_t any_order,
                             int32_t *number, gb_error *e);
int gbridge_gufunc_reduce(int64_t id, int64_t *encoding, int64_t n, gb_gu_reduction **r, gb_error *e);
int gbridge_gufunc_help(int64_t id, gb_gu_run *job, int32_t workers, gb_error *e);
int gbridge_gufunc_work(int64_t id, gb_gu_run *job, int64_t deadline, int32_t *more, gb_error *e);
int gbridge_gufunc_go_names(char *names, int64_t room, gb_error *e);
int gbridge_gufunc_go_kernel(char *name, char *signature, char *types, int64_t room, gb_error *e);
int gbridge_gufunc_panic_text(char *text, int64_t room, gb_error *e);
