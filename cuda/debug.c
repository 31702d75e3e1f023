/* debug.c: what GRIDBUF_DEBUG=1 adds to device, pinned and managed memory: poison in what
 * is new or freed, and guard bytes behind every block, looked at when it is freed. Each
 * waits for the stream, so a program is slow and orderly with it. */
#include "blocks.h"

#define GUARD 0xFD
#define POISON 0xDB

static int set(gb_cu_record *r, uint64_t from, uint64_t to, int value, gb_cuda_error *e) {
    if (from == to) return 0;
    if (r->block.kind == GB_CUDA_PINNED)
        return memset((void *)(uintptr_t)from, value, to - from), 0;
    return GB_CU(e, cuMemsetD8Async, from, (unsigned char)value, to - from,
                 (CUstream)(uintptr_t)r->stream);
}

int gb_cu_debug_taken(gb_cu_record *r, gb_cuda_error *e) {
    uint64_t end = r->block.data + (uint64_t)r->span, last = r->base + (uint64_t)r->size;
    if (!gb_cu_enter(r->block.device, e)) return -1;
    int bad = set(r, r->base, end, POISON, e) || set(r, end, last, GUARD, e) ||
              GB_CU(e, cuStreamSynchronize, (CUstream)(uintptr_t)r->stream);
    r->block.bytes = r->span; /* the rest is the guard */
    return gb_cu_left(bad);
}

static void report(gb_cu_record *r, int64_t at) {
    char where[32] = "pinned";
    if (r->block.kind != GB_CUDA_PINNED) snprintf(where, sizeof where, "GPU %d", r->block.device);
    fprintf(stderr, "gridbuf: write past the end of %s buffer #%llu of %lld bytes, at byte %lld\n",
            where, (unsigned long long)r->block.id, (long long)r->span, (long long)at);
}

/* The whole device is waited for: the write may come from any stream, and the one the
 * block was made for may be gone. */
void gb_cu_debug_released(gb_cu_record *r) {
    unsigned char seen[GB_CU_GUARD];
    uint64_t end = r->block.data + (uint64_t)r->span;
    if (!gb_cu_enter(r->block.device, NULL)) return;
    int read = gb_cu_wait_device(r->block.device, NULL) == 0;
    if (read && r->block.kind == GB_CUDA_DEVICE)
        read = gb_cu.cuMemcpyDtoHAsync_v2(seen, end, sizeof seen, NULL) == CUDA_SUCCESS &&
               gb_cu.cuStreamSynchronize(NULL) == CUDA_SUCCESS;
    else if (read) memcpy(seen, (void *)(uintptr_t)end, sizeof seen);
    if (read) {
        size_t i = 0;
        while (i < sizeof seen && seen[i] == GUARD) i++;
        if (i < sizeof seen) report(r, r->span + (int64_t)i);
        r->stream = 0;
        r->key = GB_CU_LEGACY; /* the poison is written there */
        set(r, r->base, r->base + (uint64_t)r->size, POISON, NULL);
    }
    gb_cu_leave();
}
