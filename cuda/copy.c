/* copy.c: bytes from here to there, on a stream. */
#include "context.h"

int gb_cuda_copy(int direction, uint64_t dst, uint64_t src, int64_t bytes, gb_cuda_queue on,
                 gb_cuda_error *e) {
    if (direction < GB_CUDA_UPLOAD || direction > GB_CUDA_WITHIN)
        return gb_cu_fail(e, GB_CUDA_ARGUMENT, "direction is %d, not 0, 1 or 2", direction);
    if (bytes < 0) return gb_cu_fail(e, GB_CUDA_ARGUMENT, "%lld bytes to copy", (long long)bytes);
    if (bytes == 0) return 0;
    if (!gb_cu_enter(on.device, e)) return -1;
    int bad = direction == GB_CUDA_UPLOAD
                  ? GB_CU(e, cuMemcpyHtoDAsync_v2, dst, (const void *)(uintptr_t)src, (size_t)bytes,
                          GB_CU_STREAM(on))
              : direction == GB_CUDA_DOWNLOAD
                  ? GB_CU(e, cuMemcpyDtoHAsync_v2, (void *)(uintptr_t)dst, src, (size_t)bytes,
                          GB_CU_STREAM(on))
                  : GB_CU(e, cuMemcpyDtoDAsync_v2, dst, src, (size_t)bytes, GB_CU_STREAM(on));
    return gb_cu_left(bad);
}

/* On the destination's device; the other one's context is retained first. */
int gb_cuda_copy_peer(uint64_t dst, uint64_t src, int src_device, int64_t bytes, gb_cuda_queue on,
                      gb_cuda_error *e) {
    if (bytes < 0) return gb_cu_fail(e, GB_CUDA_ARGUMENT, "%lld bytes to copy", (long long)bytes);
    if (bytes == 0) return 0;
    gb_cu_device *from = gb_cu_enter(src_device, e);
    if (!from) return -1;
    gb_cu_leave();
    gb_cu_device *to = gb_cu_enter(on.device, e);
    if (!to) return -1;
    return gb_cu_left(GB_CU(e, cuMemcpyPeerAsync, dst, to->context, src, from->context,
                            (size_t)bytes, GB_CU_STREAM(on)));
}

int gb_cuda_set(uint64_t dst, int width, uint32_t value, int64_t count, gb_cuda_queue on,
                gb_cuda_error *e) {
    if ((width != 1 && width != 2 && width != 4) || count < 0 || dst % (uint64_t)width)
        return gb_cu_fail(e, GB_CUDA_ARGUMENT, "cannot set %lld values of %d bytes at %#llx",
                          (long long)count, width, (unsigned long long)dst);
    if (count == 0) return 0;
    if (!gb_cu_enter(on.device, e)) return -1;
    int bad =
        width == 1
            ? GB_CU(e, cuMemsetD8Async, dst, (unsigned char)value, (size_t)count, GB_CU_STREAM(on))
        : width == 2 ? GB_CU(e, cuMemsetD16Async, dst, (unsigned short)value, (size_t)count,
                             GB_CU_STREAM(on))
                     : GB_CU(e, cuMemsetD32Async, dst, value, (size_t)count, GB_CU_STREAM(on));
    return gb_cu_left(bad);
}
