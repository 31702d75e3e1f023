/* epoch.c: waiting for a whole device, and knowing that it was waited for. */
#include "blocks.h"

static uint64_t begun, done[GB_CUDA_MAX_DEVICES];

/* A wait that begins after a block was freed has a greater number than the block's epoch. */
uint64_t gb_cu_now_epoch(void) { return __atomic_load_n(&begun, __ATOMIC_ACQUIRE); }
uint64_t gb_cu_epoch(int device) { return __atomic_load_n(&done[device], __ATOMIC_ACQUIRE); }

int gb_cu_wait_device(int device, gb_cuda_error *e) {
    uint64_t number = __atomic_add_fetch(&begun, 1, __ATOMIC_ACQ_REL), before = gb_cu_epoch(device);
    if (GB_CU(e, cuCtxSynchronize)) return -1;
    while (before < number && !__atomic_compare_exchange_n(&done[device], &before, number, 0,
                                                           __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {}
    return 0;
}

int gb_cuda_synchronize(int device, gb_cuda_error *e) {
    return gb_cu_enter(device, e) ? gb_cu_left(gb_cu_wait_device(device, e)) : -1;
}

int gb_cu_wait_devices(uint64_t devices, gb_cuda_error *e) {
    int bad = 0;
    for (int device = 0; device < GB_CUDA_MAX_DEVICES; device++)
        if (devices >> device & 1 && gb_cuda_synchronize(device, bad ? NULL : e)) bad = -1;
    return bad;
}
