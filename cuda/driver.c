/* driver.c: the CUDA driver: opened at run time, its errors as sentences, fork, and contexts. */
#include "driver.h"

#include "../alloc/system.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>

gb_cu_driver gb_cu;

/* ---- errors ---- */

int gb_cu_fail(gb_cuda_error *e, int status, const char *format, ...) {
    if (!e) return -1;
    va_list values;
    va_start(values, format);
    e->status = status;
    e->code = 0;
    vsnprintf(e->text, sizeof e->text, format, values);
    va_end(values);
    return -1;
}

static int status_of(CUresult code) {
    switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY: return GB_CUDA_NO_MEMORY;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE: return GB_CUDA_NO_DEVICE;
    case CUDA_ERROR_STUB_LIBRARY: return GB_CUDA_NO_DRIVER;
    default: return GB_CUDA_FAILED;
    }
}

int gb_cu_says(gb_cuda_error *e, CUresult code, const char *call) {
    if (code == CUDA_SUCCESS) return 0;
    const char *name = NULL, *text = NULL;
    if (gb_cu.cuGetErrorName(code, &name) != CUDA_SUCCESS || !name)
        name = "an error without a name";
    if (gb_cu.cuGetErrorString(code, &text) != CUDA_SUCCESS || !text)
        text = "the driver has no text for it";
    gb_cu_fail(e, status_of(code), "%s (%d) from %s: %s", name, code, call, text);
    if (e) e->code = code;
    return -1;
}

char *gb_cu_size(char room[32], int64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double n = (double)bytes;
    int unit = 0;
    for (; n >= 1024 && unit < 6; unit++) n /= 1024;
    snprintf(room, 32, unit ? "%.1f %s" : "%.0f %s", n, units[unit]);
    return room;
}

/* ---- fork ---- */

/* A context does not survive fork. The child drops what was made before without a call of the
 * driver, and refuses anything new; the child of a process that never used the driver may use it.
 * The fork holds all locks, so that the child finds consistent pools. */

int gb_cu_in_child;
pthread_mutex_t gb_cu_making = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t gb_cu_pool_locks[GB_CUDA_KINDS][GB_CUDA_MAX_DEVICES] = {
    [0 ... GB_CUDA_KINDS - 1] = {[0 ... GB_CUDA_MAX_DEVICES - 1] = PTHREAD_MUTEX_INITIALIZER},
};
pthread_mutex_t gb_cu_live_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t gb_cu_streams_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t gb_cu_events_lock = PTHREAD_MUTEX_INITIALIZER;

int gb_cu_after_fork(gb_cuda_error *e) {
    return gb_cu_fail(
        e, GB_CUDA_FORKED,
        "CUDA cannot be used after fork: this process was forked from one that had used the GPU; "
        "start workers with multiprocessing's \"spawn\" or \"forkserver\"");
}

/* Locks in the order of taking; unlocking has no order. */
static void each(int (*act)(pthread_mutex_t *)) {
    act(&gb_cu_making);
    for (int kind = 0; kind < GB_CUDA_KINDS; kind++)
        for (int device = 0; device < GB_CUDA_MAX_DEVICES; device++)
            act(&gb_cu_pool_locks[kind][device]);
    act(&gb_cu_live_lock);
    act(&gb_cu_streams_lock);
    act(&gb_cu_events_lock);
}

static void before(void) { each(pthread_mutex_lock); }
static void in_parent(void) { each(pthread_mutex_unlock); }
static void in_child(void) {
    each(pthread_mutex_unlock);
    gb_cu_in_child = 1;
}

static int watch_fork(void) {
    static int watching;
    if (!watching) pthread_atfork(before, in_parent, in_child);
    watching = 1;
    return 0;
}

/* ---- opening the driver, at the first call that needs a GPU ---- */

static int started;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *name;
    size_t at;
    int needed;
} entries[] = {
#define NEEDED(name, parameters) {#name, offsetof(gb_cu_driver, name), 1},
#define OPTIONAL(name, parameters) {#name, offsetof(gb_cu_driver, name), 0},
    GB_CU_ENTRIES(NEEDED, OPTIONAL)};

static int resolve(void *library, const char *path, gb_cuda_error *e) {
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *entry = dlsym(library, entries[i].name);
        if (!entry && entries[i].needed)
            return gb_cu_fail(
                e, GB_CUDA_OLD_DRIVER,
                "the CUDA driver %s is too old: it has no %s; gridbuf needs CUDA %d.%d or later",
                path, entries[i].name, GB_CUDA_MIN_VERSION / 1000, GB_CUDA_MIN_VERSION % 1000 / 10);
        memcpy((char *)&gb_cu + entries[i].at, &entry, sizeof entry);
    }
    return 0;
}

static int initialise(gb_cuda_error *e) {
    int version = 0;
    CUresult code = gb_cu.cuInit(0);
    /* Another library used the driver before the fork. */
    if (code == CUDA_ERROR_NOT_INITIALIZED && gb_forked) return gb_cu_after_fork(e);
    if (gb_cu_says(e, code, "cuInit")) {
        if (code == CUDA_ERROR_NO_DEVICE)
            gb_cu_fail(e, GB_CUDA_NO_DEVICE,
                       "there is no GPU that CUDA can use: CUDA_ERROR_NO_DEVICE (100) from cuInit; "
                       "look at nvidia-smi and at CUDA_VISIBLE_DEVICES");
        if (e) e->code = code;
        return -1;
    }
    if (GB_CU(e, cuDriverGetVersion, &version)) return -1;
    if (version < GB_CUDA_MIN_VERSION)
        return gb_cu_fail(
            e, GB_CUDA_OLD_DRIVER,
            "the CUDA driver is too old: it is for CUDA %d.%d, and gridbuf needs %d.%d or later",
            version / 1000, version % 1000 / 10, GB_CUDA_MIN_VERSION / 1000,
            GB_CUDA_MIN_VERSION % 1000 / 10);
    return 0;
}

static int start(gb_cuda_error *e) {
    const char *path = gb_setting("GRIDBUF_LIBCUDA");
    if (!path || !*path) path = "libcuda.so.1";
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return gb_cu_fail(e, GB_CUDA_NO_DRIVER,
                          "there is no CUDA driver on this machine: %s; device memory needs an "
                          "NVIDIA GPU and its driver",
                          dlerror());
    /* Never closed, also after an error: a driver that has begun to initialise is not unloaded. */
    return resolve(library, path, e) || initialise(e) ? -1 : watch_fork();
}

int gb_cuda_start(gb_cuda_error *e) {
    if (__builtin_expect(gb_cu_in_child, 0)) return gb_cu_after_fork(e);
    if (__builtin_expect(__atomic_load_n(&started, __ATOMIC_ACQUIRE), 1)) return 0;
    pthread_mutex_lock(&starting);
    int bad = started ? 0 : start(e);
    if (!bad) __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&starting);
    return bad;
}

int gb_cuda_started(void) { return __atomic_load_n(&started, __ATOMIC_ACQUIRE) && !gb_cu_in_child; }

/* ---- contexts ---- */

/* The primary context of a device is current only while a function of this room runs, so that any
 * thread may call, and contexts of other libraries stay current around the call. */

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

/* GRIDBUF_STREAM_ORDERED=0 selects cuMemAlloc, whose memory can be shared between processes (CUDA
 * IPC), as many builds of MPI require. */
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
    if (depth == DEEPEST) {
        gb_cu_fail(e, GB_CUDA_FAILED, "contexts are entered and never left");
        return NULL;
    }
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

/* A pop reports errors of earlier asynchronous work; the call that waits for that work reports them
 * again. */
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
    if (count == 1) {
        *device = 0;
        return 0;
    }
    if (GB_CU(e, cuStreamGetCtx, (CUstream)(uintptr_t)stream, &context)) return -1;
    for (int i = 0; i < count; i++)
        if (context == __atomic_load_n(&devices[i].context, __ATOMIC_ACQUIRE)) {
            *device = i;
            return 0;
        }
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

/* ---- foreign addresses ---- */

/* The driver answers for any address in any context; without a current context it may require
 * one. */
static int ask(void *value, int attribute, uint64_t address, CUresult *code, gb_cuda_error *e) {
    *code = gb_cu.cuPointerGetAttribute(value, attribute, address);
    if (*code == CUDA_ERROR_INVALID_CONTEXT && gb_cu_enter(0, e)) {
        *code = gb_cu.cuPointerGetAttribute(value, attribute, address);
        gb_cu_leave();
    }
    if (*code == CUDA_ERROR_INVALID_VALUE) return 0;
    return gb_cu_says(e, *code, "cuPointerGetAttribute");
}

int gb_cuda_pointer_attributes(uint64_t address, int *kind, int *device, gb_cuda_error *e) {
    *kind = -1;
    *device = 0;
    if (gb_cuda_start(e)) return -1;
    unsigned type = 0, managed = 0;
    CUresult code;
    if (ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address, &code, e)) return -1;
    if (code != CUDA_SUCCESS || (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE))
        return 0;
    if (ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address, &code, e) ||
        ask(device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address, &code, e))
        return -1;
    if (managed) *kind = GB_CUDA_MANAGED;
    else *kind = type == CU_MEMORYTYPE_HOST ? GB_CUDA_PINNED : GB_CUDA_DEVICE;
    return 0;
}
