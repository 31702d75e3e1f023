/* context.c: devices, primary contexts and each thread's stack of them. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 64

static fake_context primary[DEVICES];
static int initialised, pid;
static int64_t balance; /* contexts on any thread's stack */
static __thread struct {
    fake_context *at[16];
    int depth;
} stack;

EXPORT int64_t fake_balance(void) { return __atomic_load_n(&balance, __ATOMIC_RELAXED); }
EXPORT void fake_destroy_context(int device, int destroyed) {
    primary[device].destroyed = destroyed;
}

fake_context *fake_primary(int device) { return &primary[device]; }
fake_context *fake_current(void) { return stack.depth ? stack.at[stack.depth - 1] : NULL; }

#define NEED_INIT \
    if (!initialised || pid != getpid()) return fake_leave(CUDA_ERROR_NOT_INITIALIZED);
#define NEED_DEVICE \
    NEED_INIT       \
    if (device < 0 || device >= fake.devices) return fake_leave(CUDA_ERROR_INVALID_DEVICE);

EXPORT CUresult cuInit(unsigned flags) {
    BEGIN(cuInit)
    if (flags) END(CUDA_ERROR_INVALID_VALUE);
    if (initialised && pid != getpid())
        END(CUDA_ERROR_NOT_INITIALIZED); /* as the real one after fork */
    initialised = 1;
    pid = getpid();
    END(fake.devices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

EXPORT CUresult cuDriverGetVersion(int *version) {
    BEGIN(cuDriverGetVersion)
    *version = fake.version;
    END(CUDA_SUCCESS);
}

static const struct {
    CUresult code;
    const char *name, *text;
} errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
};

static CUresult describe(CUresult code, const char **out, int text) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) {
            *out = text ? errors[i].text : errors[i].name;
            return CUDA_SUCCESS;
        }
    *out = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuGetErrorName(CUresult code, const char **name) {
    BEGIN(cuGetErrorName)
    END(describe(code, name, 0));
}

EXPORT CUresult cuGetErrorString(CUresult code, const char **text) {
    BEGIN(cuGetErrorString)
    END(describe(code, text, 1));
}

EXPORT CUresult cuDeviceGetCount(int *count) {
    BEGIN(cuDeviceGetCount) NEED_INIT *count = fake.devices;
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuDeviceGet(CUdevice *out, int device) {
    BEGIN(cuDeviceGet) NEED_DEVICE *out = device;
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuDeviceGetName(char *name, int room, CUdevice device) {
    BEGIN(cuDeviceGetName) NEED_DEVICE snprintf(name, (size_t)room, "fake GPU %d", device);
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    BEGIN(cuDeviceGetAttribute)
    NEED_DEVICE *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9
                         : attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED ? fake.pools
                         : attribute == CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY ||
                                 attribute == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
                             ? 1
                             : 0;
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    BEGIN(cuDeviceTotalMem_v2) NEED_DEVICE *bytes = (size_t)fake.memory;
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    BEGIN(cuDevicePrimaryCtxRetain) NEED_DEVICE primary[device].device = device;
    primary[device].retained++;
    *context = &primary[device];
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
    BEGIN(cuCtxPushCurrent_v2)
    NEED_INIT if (context < primary || context >= primary + DEVICES || !context->retained) {
        fake_misuse("push of a context that nobody retained");
        END(CUDA_ERROR_INVALID_CONTEXT);
    }
    if (context->destroyed) END(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    if (stack.depth == 16) {
        fake_misuse("contexts are pushed and never popped");
        END(CUDA_ERROR_INVALID_VALUE);
    }
    stack.at[stack.depth++] = context;
    balance++;
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    BEGIN_LATE(cuCtxPopCurrent_v2)
    if (!stack.depth) {
        fake_misuse("pop from an empty stack of contexts");
        END(CUDA_ERROR_INVALID_CONTEXT);
    }
    *context = stack.at[--stack.depth];
    balance--;
    END_LATE(CUDA_SUCCESS);
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
    BEGIN_WITHIN(cuCtxGetDevice, context)
    *device = context->device;
    END(CUDA_SUCCESS);
}
