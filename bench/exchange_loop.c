/* exchange_loop.c: what a conversion through a DLPack C exchange API costs a consumer in C. */
#define _POSIX_C_SOURCE 199309L
#include "../dlpack/dlpack.h"

#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Each returns seconds a conversion, or -1 when one failed. */

double own(const DLPackExchangeAPI *api, void *object, long n) {
    double start = now();
    for (long i = 0; i < n; i++) {
        DLManagedTensorVersioned *m;
        if (api->managed_tensor_from_py_object_no_sync(object, &m) != 0) return -1;
        m->deleter(m);
    }
    return (now() - start) / (double)n;
}

double borrow(const DLPackExchangeAPI *api, void *object, long n) {
    volatile void *seen;
    double start = now();
    for (long i = 0; i < n; i++) {
        DLTensor t;
        if (api->dltensor_from_py_object_no_sync(object, &t) != 0) return -1;
        seen = t.data;
    }
    (void)seen;
    return (now() - start) / (double)n;
}

/* There and back: to a new object of the library, which is then released. */
double back(const DLPackExchangeAPI *api, void *object, long n, void (*release)(void *)) {
    double start = now();
    for (long i = 0; i < n; i++) {
        DLManagedTensorVersioned *m;
        void *made;
        if (api->managed_tensor_from_py_object_no_sync(object, &m) != 0) return -1;
        if (api->managed_tensor_to_py_object_no_sync(m, &made) != 0) return -1;
        release(made);
    }
    return (now() - start) / (double)n;
}
