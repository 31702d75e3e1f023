/* upstream.c: memory from the driver, and back to it. */
#include "blocks.h"

#define PORTABLE 1      /* CU_MEMHOSTALLOC_PORTABLE: pinned for every context */
#define ATTACH_GLOBAL 1 /* CU_MEM_ATTACH_GLOBAL */

int gb_cu_alloc_raw(gb_cu_device *d, int kind, int64_t bytes, int ordered, gb_cuda_stream stream,
                    gb_cu_raw *raw, gb_cuda_error *e) {
    CUdeviceptr address = 0;
    void *pinned = NULL;
    int bad;
    *raw = (gb_cu_raw){0};
    switch (kind) {
    case GB_CUDA_PINNED:
        bad = GB_CU(e, cuMemHostAlloc, &pinned, (size_t)bytes, PORTABLE);
        address = (CUdeviceptr)(uintptr_t)pinned;
        break;
    case GB_CUDA_MANAGED:
        bad = GB_CU(e, cuMemAllocManaged, &address, (size_t)bytes, ATTACH_GLOBAL);
        break;
    default:
        raw->ordered = ordered && d->memory_pools;
        bad = raw->ordered
                  ? GB_CU(e, cuMemAllocAsync, &address, (size_t)bytes, (CUstream)(uintptr_t)stream)
                  : GB_CU(e, cuMemAlloc_v2, &address, (size_t)bytes);
    }
    raw->base = address;
    return bad;
}

/* What a release reports is not ours to tell: as the process ends the driver may be gone
 * already (CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_CONTEXT_IS_DESTROYED), and the memory with it. */
void gb_cu_free_raw(int kind, gb_cu_raw raw) {
    if (kind == GB_CUDA_PINNED) gb_cu.cuMemFreeHost((void *)(uintptr_t)raw.base);
    else if (raw.ordered) gb_cu.cuMemFreeAsync(raw.base, NULL);
    else gb_cu.cuMemFree_v2(raw.base); /* waits for what the device is doing */
}
