/* memory.c: allocations. A device address is reserved and never mapped; the memory behind
 * it lies elsewhere, between two pages that fault. Addresses are never used again, so that
 * an access to freed memory is always noticed. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

static fake_block *blocks;
static size_t in_use[64];
static int64_t living;

EXPORT int64_t fake_blocks(void) { return living; }
EXPORT int64_t fake_bytes(int device) { return (int64_t)in_use[device]; }

fake_block *fake_find(CUdeviceptr address) {
    for (fake_block *b = blocks; b; b = b->next)
        if (address >= b->address && address < b->address + b->bytes) return b;
    return NULL;
}

void *fake_at(CUdeviceptr address, size_t bytes, const char *who) {
    static fake_block *last;
    fake_block *b = last && address >= last->address && address < last->address + last->bytes
                        ? last
                        : fake_find(address);
    if (!b || b->freed || address + bytes > b->address + b->bytes) {
        fprintf(stderr, "fake CUDA driver: %s touches %zu bytes at %#llx: %s\n", who, bytes,
                address,
                !b         ? "no such memory"
                : b->freed ? "freed"
                           : "beyond its end");
        abort();
    }
    last = b;
    if (fake.acting && b->kind == FAKE_DEVICE && b->context != fake.acting)
        fake_misuse("%s of GPU %d touches memory of GPU %d", who, fake.acting->device,
                    b->context->device);
    return b->backing + (address - b->address);
}

/* What tests look at device memory with; the work that writes it may still be pending. */
EXPORT void *fake_look(uint64_t address, size_t bytes) {
    return fake_at(address, bytes, "the test");
}

static CUresult allocate(fake_context *context, fake_kind kind, size_t bytes, int ordered,
                         CUdeviceptr *address) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (kind != FAKE_PINNED &&
        (bytes > (size_t)fake.memory || in_use[context->device] + bytes > (size_t)fake.memory))
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE + 2 * PAGE;
    char *backing =
        mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (backing == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    mprotect(backing + PAGE, mapped - 2 * PAGE, PROT_READ | PROT_WRITE);
    fake_block *b = calloc(1, sizeof *b);
    b->backing = backing + PAGE;
    b->address = (CUdeviceptr)(uintptr_t)b->backing;
    if (kind == FAKE_DEVICE) {
        char *reserved =
            mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        b->address = (CUdeviceptr)(uintptr_t)reserved + PAGE +
                     256 * (1 + (CUdeviceptr)living % 8); /* aligned to 256 and no more */
    }
    b->bytes = bytes;
    b->mapped = mapped;
    b->kind = kind;
    b->context = context;
    b->ordered = ordered;
    b->next = blocks;
    blocks = b;
    living++;
    if (kind != FAKE_PINNED) in_use[context->device] += bytes;
    *address = b->address;
    return CUDA_SUCCESS;
}

void fake_release(fake_block *b) {
    if (b->kind == FAKE_DEVICE) munmap(b->backing - PAGE, b->mapped);
    else /* keep the address in one step: between two, another thread's memory could come here */
        mmap(b->backing - PAGE, b->mapped, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    b->freed = 1;
    living--;
    if (b->kind != FAKE_PINNED) in_use[b->context->device] -= b->bytes;
}

static fake_block *to_free(CUdeviceptr address, int pinned, fake_context *context,
                           const char *call) {
    fake_block *b = fake_find(address);
    if (!b || b->address != address || b->freed || pinned != (b->kind == FAKE_PINNED))
        fake_misuse("%s of %#llx, which is %s", call, address,
                    !b         ? "unknown"
                    : b->freed ? "freed already"
                               : "no block of its kind");
    else if (!pinned && b->context != context)
        fake_misuse("%s with the context of GPU %d, of memory of GPU %d", call, context->device,
                    b->context->device);
    else return b;
    return NULL;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    BEGIN_WITHIN(cuMemAlloc_v2, context)
    END(allocate(context, FAKE_DEVICE, bytes, 0, address));
}

EXPORT CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
    BEGIN_WITHIN(cuMemAllocManaged, context)
    END(flags != 1 ? CUDA_ERROR_INVALID_VALUE : allocate(context, FAKE_MANAGED, bytes, 0, address));
}

EXPORT CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
    BEGIN_WITHIN(cuMemHostAlloc, context)
    CUdeviceptr at = 0;
    CUresult code =
        flags > 7 ? CUDA_ERROR_INVALID_VALUE : allocate(context, FAKE_PINNED, bytes, 0, &at);
    if (code == CUDA_SUCCESS) *address = (void *)(uintptr_t)at;
    END(code);
}

EXPORT CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
    BEGIN_WITHIN(cuMemAllocAsync, context)
    if (!fake.pools) END(801);
    if (!fake_resolve(stream, context)) END(400);
    END(allocate(context, FAKE_DEVICE, bytes, 1, address));
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
    BEGIN_LATE(cuMemFree_v2)
    if (injected_ == CUDA_ERROR_DEINITIALIZED) END(injected_);
    NEED_CONTEXT(context)
    fake_block *b = to_free(address, 0, context, "cuMemFree");
    if (!b) END(CUDA_ERROR_INVALID_VALUE);
    if (!b->ordered) fake_drain(NULL, context); /* it waits, but not for stream-ordered memory */
    fake_release(b);
    END_LATE(CUDA_SUCCESS);
}

EXPORT CUresult cuMemFreeHost(void *address) {
    BEGIN_LATE(cuMemFreeHost)
    if (injected_ == CUDA_ERROR_DEINITIALIZED) END(injected_);
    NEED_CONTEXT(context)
    fake_block *b = to_free((CUdeviceptr)(uintptr_t)address, 1, context, "cuMemFreeHost");
    if (!b) END(CUDA_ERROR_INVALID_VALUE);
    fake_release(b); /* does not wait: whoever frees it under a copy is found out */
    END_LATE(CUDA_SUCCESS);
}

static void free_in_order(fake_work *w) { fake_release(fake_find(w->to)); }

EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    BEGIN_LATE(cuMemFreeAsync)
    if (injected_ == CUDA_ERROR_DEINITIALIZED) END(injected_);
    NEED_CONTEXT(context)
    fake_block *b = to_free(address, 0, context, "cuMemFreeAsync");
    fake_stream *s = fake_resolve(stream, context);
    if (!b || !s) END(CUDA_ERROR_INVALID_VALUE);
    fake_work *w = fake_new_work(s, free_in_order);
    w->to = address;
    fake_submit(w);
    END_LATE(CUDA_SUCCESS);
}

EXPORT CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address) {
    BEGIN(cuPointerGetAttribute)
    fake_block *b = fake_find(address);
    if (!b || b->freed) END(CUDA_ERROR_INVALID_VALUE);
    if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(unsigned *)value = b->kind == FAKE_PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    else if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED)
        *(unsigned *)value = b->kind == FAKE_MANAGED;
    else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) *(int *)value = b->context->device;
    else END(CUDA_ERROR_INVALID_VALUE);
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    BEGIN_WITHIN(cuMemGetInfo_v2, context)
    *total = (size_t)fake.memory;
    *free_bytes = *total - in_use[context->device];
    END(CUDA_SUCCESS);
}
