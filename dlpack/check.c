/* check.c: the one check of foreign tensors; Go calls it too. */
#include "check.h"
#include "../alloc/strides.h"

#include <stdarg.h>
#include <stdio.h>

#define KNOWN_FLAGS \
    (DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED | DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)

__attribute__((format(printf, 3, 4))) static int refuse(char *why, size_t capacity, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (why && capacity) vsnprintf(why, capacity, format, args);
    va_end(args);
    return -1;
}

static inline int misaligned(const void *p, size_t to) { return ((uintptr_t)p & (to - 1)) != 0; }   /* to: a power of two */

int64_t gb_dlpack_itemsize(DLDataType dtype, int padded) {
    switch (GB_DLPACK_KEY(dtype.code, dtype.bits)) {
#define SIZE(with, T, numpy, character, bytes, kind, code, name) \
    case GB_DLPACK_KEY(kDL##code, 8 * bytes): return bytes;
#define EXTENDED_SIZE(name, code, bits) \
    case GB_DLPACK_KEY(kDL##code, bits): return bits < 8 ? padded : bits / 8;
        GB_EACH_NUMBER(SIZE, )
        GB_DLPACK_EACH_EXTENDED(EXTENDED_SIZE)
    }
    return 0;
}

static int check_device(DLDevice device, char *why, size_t capacity) {
    /* A switch over int: a foreign enum holds any value. */
    switch ((int)device.device_type) {
    case kDLCPU:
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLROCMHost:
    case kDLCUDAManaged:
        break;
    default:
        return refuse(why, capacity,
                      "device: type %d cannot be read; allowed are CPU (1), CUDA (2), CUDAHost (3), ROCMHost (11) and "
                      "CUDAManaged (13)",
                      (int)device.device_type);
    }
    if (device.device_id < 0)
        return refuse(why, capacity, "device: id %d is negative; ids count from 0", (int)device.device_id);
    return 0;
}

static int check_dtype(DLDataType dtype, int padded, char *why, size_t capacity) {
    if (dtype.lanes != 1)
        return refuse(why, capacity, "dtype: %u lanes; only 1 is allowed (a vector type is one more dimension)",
                      (unsigned)dtype.lanes);
    if (gb_dlpack_itemsize(dtype, padded)) return 0;
    if (gb_dlpack_itemsize(dtype, 1))
        return refuse(why, capacity, "dtype: code %u packs items of %u bits; only items padded to a byte can be read",
                      (unsigned)dtype.code, (unsigned)dtype.bits);
    return refuse(why, capacity, "dtype: code %u with %u bits is no type that NumPy or ml_dtypes has", (unsigned)dtype.code,
                  (unsigned)dtype.bits);
}

/* Sizes: non-negative, and their bytes fit in 63 bits even with the zeros left out,
 * so that strides of an empty tensor can be worked out too. */
static int check_shape(const DLTensor *t, int64_t itemsize, int *empty, char *why, size_t capacity) {
    int64_t bytes = itemsize;
    *empty = 0;
    for (int i = 0; i < t->ndim; i++) {
        int64_t n = t->shape[i];
        if (n < 0) return refuse(why, capacity, "shape: entry %d is %lld; sizes are 0 or more", i, (long long)n);
        if (n == 0) *empty = 1;
        else if (__builtin_mul_overflow(bytes, n, &bytes))
            return refuse(why, capacity, "shape: with entry %d (%lld) the tensor has more than 2^63 - 1 bytes", i,
                          (long long)n);
    }
    return 0;
}

/* How far the elements reach from the first one, in bytes: low <= 0 and high > 0. */
static int check_reach(const DLTensor *t, int64_t itemsize, int empty, int64_t *low, int64_t *high, char *why,
                       size_t capacity) {
    *low = 0;
    *high = itemsize;
    for (int i = 0; i < t->ndim; i++) {
        int64_t n = t->shape[i], step, span;
        if (__builtin_mul_overflow(t->strides[i], itemsize, &step))
            return refuse(why, capacity, "strides: entry %d is %lld items of %lld bytes, more than 2^63 - 1 bytes", i,
                          (long long)t->strides[i], (long long)itemsize);
        if (empty) continue;
        int64_t *end = step < 0 ? low : high;
        if (__builtin_mul_overflow(n - 1, step, &span) || __builtin_add_overflow(*end, span, end))
            return refuse(why, capacity, "strides: entry %d (%lld items) takes %lld elements beyond 2^63 - 1 bytes", i,
                          (long long)t->strides[i], (long long)n);
    }
    return 0;
}

static int check_memory(const DLTensor *t, int64_t low, int64_t high, char *why, size_t capacity) {
    if (!t->data) return refuse(why, capacity, "data: NULL for a tensor that has elements");
    uintptr_t first, end;
    int64_t extent;
    if (__builtin_sub_overflow(high, low, &extent))
        return refuse(why, capacity, "strides: the elements reach over more than 2^63 - 1 bytes");
    if (__builtin_add_overflow((uintptr_t)t->data, t->byte_offset, &first))
        return refuse(why, capacity, "byte_offset: %llu from data is beyond the address space",
                      (unsigned long long)t->byte_offset);
    if (first < (uintptr_t)0 - (uintptr_t)low || __builtin_add_overflow(first, (uintptr_t)high, &end))
        return refuse(why, capacity, "strides: elements from %lld to %lld bytes around address %#llx leave the address space",
                      (long long)low, (long long)high, (unsigned long long)first);
    return 0;
}

static int check(const DLTensor *t, int padded, char *why, size_t capacity) {
    if (t->ndim < 0 || t->ndim > GB_DLPACK_MAXDIMS)
        return refuse(why, capacity, "ndim: %d; allowed are 0 to %d", (int)t->ndim, GB_DLPACK_MAXDIMS);
    if (check_device(t->device, why, capacity) < 0 || check_dtype(t->dtype, padded, why, capacity) < 0) return -1;
    if (t->ndim > 0 && !t->shape) return refuse(why, capacity, "shape: NULL for %d dimensions", (int)t->ndim);
    if (t->ndim > 0 && (misaligned(t->shape, sizeof *t->shape) || misaligned(t->strides, sizeof *t->strides)))
        return refuse(why, capacity, "shape, strides: not aligned to %d bytes, so not lists of int64", (int)sizeof(int64_t));
    int64_t itemsize = gb_dlpack_itemsize(t->dtype, padded), low = 0, high;
    int empty;
    if (check_shape(t, itemsize, &empty, why, capacity) < 0) return -1;
    if (t->strides) {
        if (check_reach(t, itemsize, empty, &low, &high, why, capacity) < 0) return -1;
    } else { /* C order, as 1.1 and older say it */
        high = itemsize;
        for (int i = 0; i < t->ndim; i++) high *= t->shape[i] ? t->shape[i] : 1;
    }
    return empty ? 0 : check_memory(t, low, high, why, capacity);
}

int gb_dlpack_check(const DLTensor *t, char *why, size_t capacity) {
    if (!t) return refuse(why, capacity, "tensor: NULL");
    if (misaligned(t, _Alignof(DLTensor))) return refuse(why, capacity, "tensor: not aligned to a DLTensor");
    return check(t, 0, why, capacity);
}

int gb_dlpack_check_versioned(const DLManagedTensorVersioned *m, char *why, size_t capacity) {
    if (!m) return refuse(why, capacity, "tensor: NULL");
    if (misaligned(m, _Alignof(DLManagedTensorVersioned)))
        return refuse(why, capacity, "tensor: not aligned to a DLManagedTensorVersioned");
    if (m->version.major != DLPACK_MAJOR_VERSION)
        return refuse(why, capacity, "version: %u.%u; only major version %d can be read", (unsigned)m->version.major,
                      (unsigned)m->version.minor, DLPACK_MAJOR_VERSION);
    if (m->flags & ~(uint64_t)KNOWN_FLAGS)
        return refuse(why, capacity, "flags: %#llx has bits that DLPack %d.%d does not define (it has %#lx)",
                      (unsigned long long)m->flags, DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION, KNOWN_FLAGS);
    return check(&m->dl_tensor, (m->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0, why, capacity);
}

int gb_dlpack_check_legacy(const DLManagedTensor *m, char *why, size_t capacity) {
    if (!m) return refuse(why, capacity, "tensor: NULL");
    if (misaligned(m, _Alignof(DLManagedTensor)))
        return refuse(why, capacity, "tensor: not aligned to a DLManagedTensor");
    return check(&m->dl_tensor, 0, why, capacity);
}

void gb_dlpack_byte_strides(const DLTensor *t, int64_t *strides) {
    int64_t itemsize = gb_dlpack_itemsize(t->dtype, 1);
    if (!t->strides) gb_c_strides(strides, t->shape, t->ndim, itemsize);
    for (int i = 0; t->strides && i < t->ndim; i++) strides[i] = t->strides[i] * itemsize;
}
