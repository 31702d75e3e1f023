/* move.c: copies and sets. Memory of the host that CUDA does not know is read at once when
 * it is the source, and waited for when it is the destination, as the driver does. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

static void *host_or_device(CUdeviceptr address, size_t bytes, const char *who) {
    return fake_find(address) ? fake_at(address, bytes, who) : (void *)(uintptr_t)address;
}

static void copy_rows(fake_work *w) {
    for (size_t row = 0; row < w->rows; row++) {
        const char *from =
            w->staged ? w->staged + row * w->bytes
                      : host_or_device(w->from + row * w->from_pitch, w->bytes, "a copy's source");
        memmove(host_or_device(w->to + row * w->to_pitch, w->bytes, "a copy's target"), from,
                w->bytes);
    }
}

static int is_device(CUdeviceptr address) {
    fake_block *b = fake_find(address);
    return b && b->kind != FAKE_PINNED;
}

/* Memory of another GPU, which no stream of the context may move without saying so. */
static int is_elsewhere(CUdeviceptr address, fake_context *context) {
    fake_block *b = fake_find(address);
    return b && b->kind == FAKE_DEVICE && b->context != context;
}

/* The lock is held; lets it go. */
static CUresult submit_copy(CUdeviceptr to, size_t to_pitch, int to_host, CUdeviceptr from,
                            size_t from_pitch, int from_host, size_t bytes, size_t rows,
                            CUstream stream, int between) {
    NEED_CONTEXT(context)
    fake_stream *s = fake_resolve(stream, context);
    if (!s) END(400);
    if (!bytes || !rows) END(CUDA_SUCCESS);
    if (is_elsewhere(to, context) + is_elsewhere(from, context) > between) {
        fake_misuse("a copy on GPU %d from %#llx to %#llx, of which one lies on another GPU",
                    context->device, from, to);
        END(CUDA_ERROR_INVALID_VALUE);
    }
    if ((!to_host && !is_device(to)) || (!from_host && !is_device(from))) {
        fake_misuse("%#llx is no device memory", !to_host && !is_device(to) ? to : from);
        END(CUDA_ERROR_INVALID_VALUE);
    }
    fake_work *w = fake_new_work(s, copy_rows);
    w->between = between;
    w->to = to, w->to_pitch = to_pitch, w->from = from, w->from_pitch = from_pitch,
    w->bytes = bytes, w->rows = rows;
    if (from_host && !fake_find(from) && !fake.late) {
        w->staged = malloc(bytes * rows);
        for (size_t row = 0; row < rows; row++)
            memcpy(w->staged + row * bytes, (char *)(uintptr_t)from + row * from_pitch, bytes);
    }
    fake_submit(w);
    if (to_host && !fake_find(to)) fake_drain(s, NULL);
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                                     CUstream stream) {
    BEGIN(cuMemcpyHtoDAsync_v2)
    return submit_copy(to, 0, 0, (CUdeviceptr)(uintptr_t)from, 0, 1, bytes, 1, stream, 0);
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    BEGIN(cuMemcpyDtoHAsync_v2)
    return submit_copy((CUdeviceptr)(uintptr_t)to, 0, 1, from, 0, 0, bytes, 1, stream, 0);
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                     CUstream stream) {
    BEGIN(cuMemcpyDtoDAsync_v2)
    return submit_copy(to, 0, 0, from, 0, 0, bytes, 1, stream, 0);
}

EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                  CUcontext from_context, size_t bytes, CUstream stream) {
    BEGIN(cuMemcpyPeerAsync)
    fake_block *a = fake_find(to), *b = fake_find(from);
    if (!a || !b || a->context != to_context || b->context != from_context) {
        fake_misuse("a copy between GPUs with the context of another");
        END(CUDA_ERROR_INVALID_VALUE);
    }
    return submit_copy(to, 0, 0, from, 0, 0, bytes, 1, stream, 1);
}

EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream) {
    BEGIN(cuMemcpy2DAsync_v2)
    int to_host = c->dstMemoryType == CU_MEMORYTYPE_HOST,
        from_host = c->srcMemoryType == CU_MEMORYTYPE_HOST;
    if (c->dstPitch > 0x7fffffff || c->srcPitch > 0x7fffffff ||
        (c->Height > 1 && (c->dstPitch < c->WidthInBytes || c->srcPitch < c->WidthInBytes)) ||
        c->srcXInBytes || c->srcY || c->dstXInBytes || c->dstY)
        END(CUDA_ERROR_INVALID_VALUE);
    return submit_copy(to_host ? (CUdeviceptr)(uintptr_t)c->dstHost : c->dstDevice, c->dstPitch,
                       to_host, from_host ? (CUdeviceptr)(uintptr_t)c->srcHost : c->srcDevice,
                       c->srcPitch, from_host, c->WidthInBytes, c->Height, stream, 0);
}

static void set(fake_work *w) {
    char *at = fake_at(w->to, w->count * (size_t)w->width, "a memset");
    for (size_t i = 0; i < w->count; i++)
        memcpy(at + i * (size_t)w->width, &w->value, (size_t)w->width);
}

static CUresult submit_set(CUdeviceptr to, int width, unsigned value, size_t count,
                           CUstream stream) {
    NEED_CONTEXT(context)
    fake_stream *s = fake_resolve(stream, context);
    if (!s) END(400);
    if (is_elsewhere(to, context))
        fake_misuse("a memset on GPU %d of %#llx, which lies on another GPU", context->device, to);
    if (is_elsewhere(to, context) || !is_device(to) || to % (unsigned)width)
        END(CUDA_ERROR_INVALID_VALUE);
    fake_work *w = fake_new_work(s, set);
    w->to = to, w->width = width, w->value = value, w->count = count;
    END(fake_submit(w));
}

/* Another library's kernel, on a stream of its own. */
EXPORT void fake_foreign_set(uint64_t to, int value, size_t count, uint64_t stream) {
    fake_lock();
    fake_work *w = fake_new_work((fake_stream *)(uintptr_t)stream, set);
    w->to = to, w->width = 1, w->value = (unsigned)value, w->count = count;
    fake_submit(w);
    fake_unlock();
}

#define SET(name, type)                                                               \
    EXPORT CUresult name(CUdeviceptr to, type value, size_t count, CUstream stream) { \
        BEGIN(name)                                                                   \
        return submit_set(to, sizeof value, value, count, stream);                    \
    }
SET(cuMemsetD8Async, unsigned char)
SET(cuMemsetD16Async, unsigned short)
SET(cuMemsetD32Async, unsigned)
