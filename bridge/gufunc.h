/* gufunc.h: the records and bits of calls that enter Go for gridbuf.gufunc (bridge.h). C zeroes a
 * record before Go sees it, and no Go pointer ever enters one. */
#pragma once

#include "../gufunc/call.h"
#include "../gufunc/fused.h"
#include "../gufunc/reduction.h"

/* A parsed signature, and as lines of text: the names of the dimensions and of the
 * uniforms; for each dimension its size or -1, with a c where it is computed and a ? where it is
 * optional; for each operand the numbers of its core dimensions. */
enum { GB_BRIDGE_NAMES = 4096 }; /* bytes of names, at most */
typedef struct gb_bridge_gufunc_info {
    int64_t id;
    int32_t nin, nout, ndims, nuniforms, nkernels;
    uint8_t uniform_types[32];
    char text[GB_BRIDGE_NAMES + 24 * GB_GU_MAXCORE + 3 * GB_GU_MAXCORE * GB_GU_MAXARGS];
} gb_bridge_gufunc_info;

enum {
    GB_BRIDGE_GENERATED = 1 << 16
}; /* of gb_bridge_kernel_spec: gufunc.Kernel.Generated; beyond the flags that calls have as well */

/* A kernel to register. types: element types, one per operand. */
typedef struct gb_bridge_kernel_spec {
    int32_t form,
        flags; /* GB_GU_EXCLUSIVE, GB_GU_ONE_WORKER, GB_GU_PURE, GB_GU_FOLDS, GB_BRIDGE_GENERATED */
    uintptr_t function, data;
    char *go_name; /* name of a Go kernel, or NULL */
    uint8_t types[GB_GU_MAXARGS];
    int32_t ntypes;
} gb_bridge_kernel_spec;

/* Bits of the words that encode a call (request.go): of an operand's head, whose dimensions stand
 * above them, */
enum {
    GB_BRIDGE_O_SWAPPED = 1 << 8,
    GB_BRIDGE_O_MISALIGNED = 1 << 9,
    GB_BRIDGE_O_ABSENT = 1 << 10,
    GB_BRIDGE_O_NAMED = 1 << 11,
    GB_BRIDGE_O_NDIM = 16
};
/* of a call, beside how many operands it has, */
enum {
    GB_BRIDGE_MASK = 1 << 8,
    GB_BRIDGE_SIZES = 1 << 9,
    GB_BRIDGE_AXIS = 1 << 10,
    GB_BRIDGE_AXIS_NAME = 1 << 11,
    GB_BRIDGE_AXES = 1 << 12,
    GB_BRIDGE_KEEPDIMS = 1 << 13
};
/* and of a reduction (request.go), with the numbers of results and axes above them. */
enum {
    GB_BRIDGE_R_KEEPDIMS = 1,
    GB_BRIDGE_R_SEQUENTIAL = 2,
    GB_BRIDGE_R_ONE_BY_ONE = 4,
    GB_BRIDGE_R_IDENTITY = 8,
    GB_BRIDGE_R_ONE_AXIS = 16, /* more are refused */
    GB_BRIDGE_R_ALL_AXES = 32,
    GB_BRIDGE_R_MASK = 1 << 8,
    GB_BRIDGE_R_RESULTS = 16,
    GB_BRIDGE_R_AXES = 24,
    GB_BRIDGE_R_STATE = 32
};
#define GB_BRIDGE_SWAPPED 0x40 /* a bit of the types of gufunc_select */
