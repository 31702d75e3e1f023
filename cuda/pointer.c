/* pointer.c: what lies at an address that somebody else gave. */
#include "context.h"

/* The driver answers for any address, in whatever context; without one it may ask for one. */
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
    *kind = managed                      ? GB_CUDA_MANAGED
            : type == CU_MEMORYTYPE_HOST ? GB_CUDA_PINNED
                                         : GB_CUDA_DEVICE;
    return 0;
}
