/* exports.c: our pools as the allocators of other libraries. They cannot carry a message:
 * NULL says that there is no memory to be had. */
#include "exports.h"

#include "blocks.h"

static void *take(int kind, int64_t bytes, int device, gb_cuda_stream stream, int any_stream) {
    gb_cuda_request request = {
        .kind = kind, .device = device, .span = bytes, .boundary = GB_CU_ALIGN, .stream = stream};
    gb_cuda_block *block;
    return gb_cu_alloc(&request, any_stream, &block, NULL) == 0 ? (void *)(uintptr_t)block->data
                                                                : NULL;
}

static void release(void *data) {
    gb_cuda_block *block = data ? gb_cuda_find((uint64_t)(uintptr_t)data) : NULL;
    if (block) gb_cuda_release(block);
}

/* cupy says neither which stream uses the memory nor which one was the last to: it is
 * nobody's until the whole device is known to be through with it. */
void *gb_cuda_cupy_malloc(void *param, size_t bytes, int device) {
    return take(GB_CUDA_DEVICE, (int64_t)bytes, device, 0, 1);
}
void *gb_cuda_cupy_malloc_managed(void *param, size_t bytes, int device) {
    return take(GB_CUDA_MANAGED, (int64_t)bytes, device, 0, 1);
}
void *gb_cuda_cupy_malloc_pinned(void *param, size_t bytes, int device) {
    return take(GB_CUDA_PINNED, (int64_t)bytes, 0, 0, 1);
}
void gb_cuda_cupy_free(void *param, void *data, int device) { release(data); }

void *gb_cuda_torch_malloc(ssize_t bytes, int device, void *stream) {
    return take(GB_CUDA_DEVICE, bytes, device, (gb_cuda_stream)(uintptr_t)stream, 0);
}
void gb_cuda_torch_free(void *data, ssize_t bytes, int device, void *stream) { release(data); }

/* Another stream uses the block too, up to the moment it is freed. */
void gb_cuda_torch_record_stream(void *data, void *stream) {
    gb_cu_record *r = (gb_cu_record *)gb_cuda_find((uint64_t)(uintptr_t)data);
    if (!r || gb_cu_key_of((gb_cuda_stream)(uintptr_t)stream) == r->key) return;
    pthread_mutex_lock(r->slab->pool->lock);
    r->key = GB_CU_UNKNOWN;
    pthread_mutex_unlock(r->slab->pool->lock);
}
