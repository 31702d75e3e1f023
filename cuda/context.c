/* context.c: the primary context of each device, current only while one of our functions
 * acts, so that any thread may call and nobody's own context is disturbed. */
#include "context.h"
#include "../alloc/process.h"

#include <pthread.h>

static gb_cu_device devices[GB_CUDA_MAX_DEVICES];
static int device_count = -1;
static pthread_mutex_t retaining = PTHREAD_MUTEX_INITIALIZER;

#define DEEPEST 16
static __thread struct {
    int device, pushed;
} entered[DEEPEST];
static __thread int depth;

int gb_cuda_count(int *count, gb_cuda_error *e) {
    if (gb_cuda_start(e)) return -1;
    if (device_count < 0) {
        int n = 0;
        if (GB_CU(e, cuDeviceGetCount, &n)) return -1;
        if (n > GB_CUDA_MAX_DEVICES) n = GB_CUDA_MAX_DEVICES;
        __atomic_store_n(&device_count, n, __ATOMIC_RELAXED);
    }
    *count = device_count;
    return 0;
}

int gb_cu_no_device(int device, gb_cuda_error *e) {
    return gb_cu_fail(e, GB_CUDA_NO_DEVICE,
                      "there is no GPU %d: this process sees %d, numbered from 0", device,
                      device_count);
}

static int check(int device, gb_cuda_error *e) {
    int count;
    if (gb_cuda_count(&count, e)) return -1;
    if (count == 0)
        return gb_cu_fail(
            e, GB_CUDA_NO_DEVICE,
            "there is no GPU that CUDA can use; look at nvidia-smi and at CUDA_VISIBLE_DEVICES");
    return device < 0 || device >= count ? gb_cu_no_device(device, e) : 0;
}

static int attribute(CUdevice device, int which, int *value, gb_cuda_error *e) {
    *value = 0;
    return GB_CU(e, cuDeviceGetAttribute, value, which, device);
}

/* GRIDBUF_STREAM_ORDERED=0 keeps to cuMemAlloc, whose memory can be shared between processes
 * (CUDA IPC), which many builds of MPI want. */
static int wants_pools(void) {
    return gb_cu.cuMemAllocAsync && gb_cu.cuMemFreeAsync &&
           !gb_setting_is("GRIDBUF_STREAM_ORDERED", "0");
}

static int retain(gb_cu_device *d, int device, gb_cuda_error *e) {
    gb_cu_device fresh = {0};
    size_t total = 0;
    if (GB_CU(e, cuDeviceGet, &fresh.device, device) ||
        GB_CU(e, cuDeviceTotalMem_v2, &total, fresh.device))
        return -1;
    fresh.total_bytes = (int64_t)total;
    if (wants_pools() &&
        attribute(fresh.device, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &fresh.memory_pools, e))
        return -1;
    if (GB_CU(e, cuDevicePrimaryCtxRetain, &fresh.context, fresh.device)) return -1;
    CUcontext context = fresh.context;
    fresh.context = NULL;
    *d = fresh;
    __atomic_store_n(&d->context, context, __ATOMIC_RELEASE);
    return 0;
}

gb_cu_device *gb_cu_enter(int device, gb_cuda_error *e) {
    if (__builtin_expect(!gb_cuda_started() || device < 0 || device >= device_count, 0) &&
        check(device, e))
        return NULL;
    gb_cu_device *d = &devices[device];
    if (!__atomic_load_n(&d->context, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&retaining);
        int bad = d->context ? 0 : retain(d, device, e);
        pthread_mutex_unlock(&retaining);
        if (bad) return NULL;
    }
    if (depth == DEEPEST)
        return gb_cu_fail(e, GB_CUDA_FAILED, "contexts are entered and never left"), NULL;
    int push = !depth || entered[depth - 1].device != device;
    if (push && GB_CU(e, cuCtxPushCurrent_v2, d->context)) return NULL;
    entered[depth].device = device;
    entered[depth++].pushed = push;
    return d;
}

gb_cu_device *gb_cu_retained(int device) {
    return device < device_count && __atomic_load_n(&devices[device].context, __ATOMIC_ACQUIRE)
               ? &devices[device]
               : NULL;
}

gb_cu_device *gb_cu_enter_to_release(int device) {
    gb_cu_device *d = gb_cu_enter(device, NULL);
    return d ? d : gb_cu_enter(device, NULL);
}

/* What a pop reports is about asynchronous work of before; the call that waits for that
 * work says it again. */
void gb_cu_leave(void) {
    CUcontext ours;
    if (entered[--depth].pushed) gb_cu.cuCtxPopCurrent_v2(&ours);
}

int gb_cu_left(int rc) {
    gb_cu_leave();
    return rc;
}

int gb_cuda_enter(int device, gb_cuda_error *e) { return gb_cu_enter(device, e) ? 0 : -1; }
void gb_cuda_leave(void) { gb_cu_leave(); }

int gb_cuda_owner(gb_cuda_stream stream, int *device, gb_cuda_error *e) {
    CUcontext context, ours;
    int count;
    *device = -1;
    if (stream <= 2 || gb_cuda_count(&count, e)) return stream <= 2 ? 0 : -1;
    if (count == 1) return *device = 0;
    if (GB_CU(e, cuStreamGetCtx, (CUstream)(uintptr_t)stream, &context)) return -1;
    for (int i = 0; i < count; i++)
        if (context == __atomic_load_n(&devices[i].context, __ATOMIC_ACQUIRE))
            return *device = i, 0;
    if (GB_CU(e, cuCtxPushCurrent_v2, context)) return -1;
    int bad = GB_CU(e, cuCtxGetDevice, device);
    gb_cu.cuCtxPopCurrent_v2(&ours);
    return bad;
}

int gb_cuda_info(int device, gb_cuda_device_info *info, gb_cuda_error *e) {
    memset(info, 0, sizeof *info);
    gb_cu_device *d = gb_cu_enter(device, e);
    if (!d) return -1;
    int version = 0;
    size_t free_bytes = 0, total = 0;
    int bad = GB_CU(e, cuDeviceGetName, info->name, (int)sizeof info->name, d->device) ||
              GB_CU(e, cuDriverGetVersion, &version) ||
              attribute(d->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                        &info->compute_major, e) ||
              attribute(d->device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                        &info->compute_minor, e) ||
              attribute(d->device, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, &info->managed_memory, e) ||
              attribute(d->device, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                        &info->concurrent_managed, e) ||
              attribute(d->device, CU_DEVICE_ATTRIBUTE_INTEGRATED, &info->integrated, e) ||
              GB_CU(e, cuMemGetInfo_v2, &free_bytes, &total);
    gb_cu_leave();
    info->driver_version = version;
    info->memory_pools = d->memory_pools;
    info->free_bytes = (int64_t)free_bytes;
    info->total_bytes = (int64_t)total;
    return bad ? -1 : 0;
}
