/* context.h: the primary context of each GPU, made current for a while. */
#pragma once

#include "error.h"

typedef struct gb_cu_device {
    CUdevice device;
    CUcontext context; /* the primary one, retained for as long as the process lives */
    int memory_pools;  /* stream-ordered allocation is there and wanted */
    int64_t total_bytes;
    CUmodule kernels; /* launch.c */
    CUfunction functions[5][5];
} gb_cu_device;

/* Its context is current until gb_cu_leave; NULL on error. Within another gb_cu_enter of the same
 * device nothing is pushed. */
gb_cu_device *gb_cu_enter(int device, gb_cuda_error *e);
gb_cu_device *gb_cu_enter_to_release(
    int device); /* for what nobody can try again: it tries twice */
void gb_cu_leave(void);
int gb_cu_left(int rc); /* leaves, and gives back rc */
gb_cu_device *gb_cu_retained(
    int device); /* somebody has entered it before, or NULL; asks nothing of the driver */
int gb_cu_no_device(int device, gb_cuda_error *e); /* -1 */
