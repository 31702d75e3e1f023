/* copy.c: bytes from here to there, on a stream. */
#include "driver.h"

#define ON(queue) ((CUstream)(uintptr_t)(queue).stream)

static int check(int direction, int64_t bytes, gb_cuda_error *e) {
    if (direction < GB_CUDA_UPLOAD || direction > GB_CUDA_WITHIN) return gb_cu_fail(e, GB_CUDA_ARGUMENT, "direction is %d, not 0, 1 or 2", direction);
    if (bytes < 0) return gb_cu_fail(e, GB_CUDA_ARGUMENT, "%lld bytes to copy", (long long)bytes);
    return 0;
}

int gb_cuda_copy(int direction, uint64_t dst, uint64_t src, int64_t bytes, gb_cuda_queue on, gb_cuda_error *e) {
    if (check(direction, bytes, e)) return -1;
    if (bytes == 0) return 0;
    if (!gb_cu_enter(on.device, e)) return -1;
    int bad = direction == GB_CUDA_UPLOAD     ? GB_CU(e, cuMemcpyHtoDAsync_v2, dst, (const void *)(uintptr_t)src, (size_t)bytes, ON(on))
              : direction == GB_CUDA_DOWNLOAD ? GB_CU(e, cuMemcpyDtoHAsync_v2, (void *)(uintptr_t)dst, src, (size_t)bytes, ON(on))
                                              : GB_CU(e, cuMemcpyDtoDAsync_v2, dst, src, (size_t)bytes, ON(on));
    gb_cu_leave();
    return bad;
}

int gb_cuda_copy_rows(int direction, uint64_t dst, int64_t dst_pitch, uint64_t src, int64_t src_pitch, int64_t width, int64_t rows,
                      gb_cuda_queue on, gb_cuda_error *e) {
    if (check(direction, width, e)) return -1;
    if (rows < 0 || (rows > 1 && (dst_pitch < width || src_pitch < width)))
        return gb_cu_fail(e, GB_CUDA_ARGUMENT, "%lld rows of %lld bytes, %lld and %lld bytes apart", (long long)rows, (long long)width,
                          (long long)dst_pitch, (long long)src_pitch);
    if (width == 0 || rows == 0) return 0;
    if (rows == 1 || (dst_pitch == width && src_pitch == width))
        return gb_cuda_copy(direction, dst, src, width * rows, on, e);
    if (direction == GB_CUDA_WITHIN) {   /* there cuMemcpy2D wants pitches of its own choice */
        gb_cuda_view to = {dst, {dst_pitch, 1}}, from = {src, {src_pitch, 1}};
        return gb_cuda_relayout(&to, &from, (int64_t[]){rows, width}, 2, 1, on, e);
    }
    if (!gb_cu_enter(on.device, e)) return -1;
    int up = direction == GB_CUDA_UPLOAD, bad = 0;
    int64_t most = dst_pitch > INT32_MAX || src_pitch > INT32_MAX ? 1 : rows;   /* the driver's limit: a row at a time then */
    for (int64_t row = 0; row < rows && !bad; row += most) {
        uint64_t to = dst + (uint64_t)(row * dst_pitch), from = src + (uint64_t)(row * src_pitch);
        size_t apart = (size_t)(most == 1 ? width : dst_pitch), source_apart = (size_t)(most == 1 ? width : src_pitch);
        CUDA_MEMCPY2D c = {.srcMemoryType = up ? MEMORY_HOST : MEMORY_DEVICE, .dstMemoryType = up ? MEMORY_DEVICE : MEMORY_HOST,
                           .srcHost = up ? (const void *)(uintptr_t)from : NULL, .srcDevice = up ? 0 : from, .srcPitch = source_apart,
                           .dstHost = up ? NULL : (void *)(uintptr_t)to, .dstDevice = up ? to : 0, .dstPitch = apart,
                           .WidthInBytes = (size_t)width, .Height = (size_t)most};
        bad = GB_CU(e, cuMemcpy2DAsync_v2, &c, ON(on));
    }
    gb_cu_leave();
    return bad;
}

/* On the destination's device; the other one's context is retained first. */
int gb_cuda_copy_peer(uint64_t dst, uint64_t src, int src_device, int64_t bytes, gb_cuda_queue on, gb_cuda_error *e) {
    if (check(GB_CUDA_WITHIN, bytes, e)) return -1;
    if (bytes == 0) return 0;
    gb_cu_device *from = gb_cu_enter(src_device, e);
    if (!from) return -1;
    gb_cu_leave();
    gb_cu_device *to = gb_cu_enter(on.device, e);
    if (!to) return -1;
    int bad = GB_CU(e, cuMemcpyPeerAsync, dst, to->context, src, from->context, (size_t)bytes, ON(on));
    gb_cu_leave();
    return bad;
}

int gb_cuda_set(uint64_t dst, int width, uint32_t value, int64_t count, gb_cuda_queue on, gb_cuda_error *e) {
    if ((width != 1 && width != 2 && width != 4) || count < 0 || dst % (uint64_t)width)
        return gb_cu_fail(e, GB_CUDA_ARGUMENT, "cannot set %lld values of %d bytes at %#llx", (long long)count, width, (unsigned long long)dst);
    if (count == 0) return 0;
    if (!gb_cu_enter(on.device, e)) return -1;
    int bad = width == 1   ? GB_CU(e, cuMemsetD8Async, dst, (unsigned char)value, (size_t)count, ON(on))
              : width == 2 ? GB_CU(e, cuMemsetD16Async, dst, (unsigned short)value, (size_t)count, ON(on))
                           : GB_CU(e, cuMemsetD32Async, dst, value, (size_t)count, ON(on));
    gb_cu_leave();
    return bad;
}

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

int gb_cuda_what(uint64_t address, int *kind, int *device, gb_cuda_error *e) {
    *kind = -1;
    *device = 0;
    if (gb_cuda_start(e)) return -1;
    unsigned type = 0, managed = 0;
    CUresult code;
    if (ask(&type, POINTER_MEMORY_TYPE, address, &code, e)) return -1;
    if (code != CUDA_SUCCESS || (type != MEMORY_HOST && type != MEMORY_DEVICE)) return 0;
    if (ask(&managed, POINTER_IS_MANAGED, address, &code, e) || ask(device, POINTER_DEVICE_ORDINAL, address, &code, e)) return -1;
    *kind = managed ? GB_CUDA_MANAGED : type == MEMORY_HOST ? GB_CUDA_PINNED : GB_CUDA_DEVICE;
    return 0;
}
