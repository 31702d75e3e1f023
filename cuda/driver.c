/* driver.c: opening the driver. Nothing is opened before somebody asks for a GPU. */
#include "error.h"
#include "fork.h"

#include "../alloc/process.h"

#include <dlfcn.h>
#include <pthread.h>

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
    if (code == CUDA_ERROR_NOT_INITIALIZED &&
        gb_forked) /* another library used it before the fork */
        return gb_cu_after_fork(e);
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
    /* It stays open, come what may: a driver that has begun to initialise is not unloaded. */
    return resolve(library, path, e) || initialise(e) ? -1 : gb_cu_watch_fork();
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
