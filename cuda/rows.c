/* rows.c: rows of bytes that lie a pitch apart. */
#include "copy.h"

int gb_cuda_copy_rows(int direction, uint64_t dst, int64_t dst_pitch, uint64_t src, int64_t src_pitch, int64_t width, int64_t rows,
                      gb_cuda_queue on, gb_cuda_error *e) {
    if (gb_cu_check_copy(direction, width, e)) return -1;
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
        CUDA_MEMCPY2D c = {.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                           .dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
                           .srcHost = up ? (const void *)(uintptr_t)from : NULL, .srcDevice = up ? 0 : from, .srcPitch = source_apart,
                           .dstHost = up ? NULL : (void *)(uintptr_t)to, .dstDevice = up ? to : 0, .dstPitch = apart,
                           .WidthInBytes = (size_t)width, .Height = (size_t)most};
        bad = GB_CU(e, cuMemcpy2DAsync_v2, &c, GB_CU_STREAM(on));
    }
    gb_cu_leave();
    return bad;
}
