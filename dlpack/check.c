/* check.c: the one check of foreign tensors; Go calls it too. */
#include "tensor.h"
#include "../alloc/strides.h"

#define KNOWN_FLAGS                                                  \
    (DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED | \
     DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED)

static inline int misaligned(const void *p, size_t to) {
    return ((uintptr_t)p & (to - 1)) != 0;
} /* to: a power of two */

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

static int check_device(DLDevice device, gb_error *e) {
    /* A switch over int: a foreign enum holds any value. */
    switch ((int)device.device_type) {
    case kDLCPU:
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLROCMHost:
    case kDLCUDAManaged: break;
    default:
        return gb_refuse(e, GB_VALUE_ERROR,
                         "device: type %d cannot be read; allowed are CPU (1), CUDA (2), CUDAHost "
                         "(3), ROCMHost (11) and "
                         "CUDAManaged (13)",
                         (int)device.device_type);
    }
    if (device.device_id < 0)
        return gb_refuse(e, GB_VALUE_ERROR, "device: id %d is negative; ids count from 0",
                         (int)device.device_id);
    return 0;
}

static int check_dtype(DLDataType dtype, int padded, gb_error *e) {
    if (dtype.lanes != 1)
        return gb_refuse(e, GB_VALUE_ERROR,
                         "dtype: %u lanes; only 1 is allowed (a vector type is one more dimension)",
                         (unsigned)dtype.lanes);
    if (gb_dlpack_itemsize(dtype, padded)) return 0;
    if (gb_dlpack_itemsize(dtype, 1))
        return gb_refuse(
            e, GB_VALUE_ERROR,
            "dtype: code %u packs items of %u bits; only items padded to a byte can be read",
            (unsigned)dtype.code, (unsigned)dtype.bits);
    return gb_refuse(e, GB_VALUE_ERROR,
                     "dtype: code %u with %u bits is no type that NumPy or ml_dtypes has",
                     (unsigned)dtype.code, (unsigned)dtype.bits);
}

/* Sizes: non-negative, and their bytes fit in 63 bits even with the zeros left out,
 * so that strides of an empty tensor can be worked out too. */
static int check_shape(const DLTensor *t, int64_t itemsize, int *empty, gb_error *e) {
    int64_t bytes = itemsize;
    *empty = 0;
    for (int i = 0; i < t->ndim; i++) {
        int64_t n = t->shape[i];
        if (n < 0)
            return gb_refuse(e, GB_VALUE_ERROR, "shape: entry %d is %lld; sizes are 0 or more", i,
                             (long long)n);
        if (n == 0) *empty = 1;
        else if (__builtin_mul_overflow(bytes, n, &bytes))
            return gb_refuse(e, GB_VALUE_ERROR,
                             "shape: with entry %d (%lld) the tensor has more than 2^63 - 1 bytes",
                             i, (long long)n);
    }
    return 0;
}

/* How far the elements reach from the first one, in bytes: low <= 0 and high > 0. */
static int check_reach(const DLTensor *t, int64_t itemsize, int empty, int64_t *low, int64_t *high,
                       gb_error *e) {
    *low = 0;
    *high = itemsize;
    for (int i = 0; i < t->ndim; i++) {
        int64_t n = t->shape[i], step, span;
        if (__builtin_mul_overflow(t->strides[i], itemsize, &step))
            return gb_refuse(
                e, GB_VALUE_ERROR,
                "strides: entry %d is %lld items of %lld bytes, more than 2^63 - 1 bytes", i,
                (long long)t->strides[i], (long long)itemsize);
        if (empty) continue;
        int64_t *end = step < 0 ? low : high;
        if (__builtin_mul_overflow(n - 1, step, &span) || __builtin_add_overflow(*end, span, end))
            return gb_refuse(
                e, GB_VALUE_ERROR,
                "strides: entry %d (%lld items) takes %lld elements beyond 2^63 - 1 bytes", i,
                (long long)t->strides[i], (long long)n);
    }
    return 0;
}

static int check_memory(const DLTensor *t, int64_t low, int64_t high, gb_error *e) {
    if (!t->data) return gb_refuse(e, GB_VALUE_ERROR, "data: NULL for a tensor that has elements");
    uintptr_t first, end;
    int64_t extent;
    if (__builtin_sub_overflow(high, low, &extent))
        return gb_refuse(e, GB_VALUE_ERROR,
                         "strides: the elements reach over more than 2^63 - 1 bytes");
    if (__builtin_add_overflow((uintptr_t)t->data, t->byte_offset, &first))
        return gb_refuse(e, GB_VALUE_ERROR,
                         "byte_offset: %llu from data is beyond the address space",
                         (unsigned long long)t->byte_offset);
    if (first < (uintptr_t)0 - (uintptr_t)low ||
        __builtin_add_overflow(first, (uintptr_t)high, &end))
        return gb_refuse(e, GB_VALUE_ERROR,
                         "strides: elements from %lld to %lld bytes around address %#llx leave the "
                         "address space",
                         (long long)low, (long long)high, (unsigned long long)first);
    return 0;
}

static int check(const DLTensor *t, int padded, gb_error *e) {
    if (t->ndim < 0 || t->ndim > GB_DLPACK_MAXDIMS)
        return gb_refuse(e, GB_VALUE_ERROR, "ndim: %d; allowed are 0 to %d", (int)t->ndim,
                         GB_DLPACK_MAXDIMS);
    if (check_device(t->device, e) < 0 || check_dtype(t->dtype, padded, e) < 0) return -1;
    if (t->ndim > 0 && !t->shape)
        return gb_refuse(e, GB_VALUE_ERROR, "shape: NULL for %d dimensions", (int)t->ndim);
    if (t->ndim > 0 &&
        (misaligned(t->shape, sizeof *t->shape) || misaligned(t->strides, sizeof *t->strides)))
        return gb_refuse(e, GB_VALUE_ERROR,
                         "shape, strides: not aligned to %d bytes, so not lists of int64",
                         (int)sizeof(int64_t));
    int64_t itemsize = gb_dlpack_itemsize(t->dtype, padded), low = 0, high;
    int empty;
    if (check_shape(t, itemsize, &empty, e) < 0) return -1;
    if (t->strides) {
        if (check_reach(t, itemsize, empty, &low, &high, e) < 0) return -1;
    } else { /* C order, as 1.1 and older say it */
        high = itemsize;
        for (int i = 0; i < t->ndim; i++) high *= t->shape[i] ? t->shape[i] : 1;
    }
    return empty ? 0 : check_memory(t, low, high, e);
}

static inline int is_readable(const void *p, size_t alignment, const char *type, gb_error *e) {
    if (!p) return gb_refuse(e, GB_VALUE_ERROR, "tensor: NULL"), 0;
    return !misaligned(p, alignment) ||
           (gb_refuse(e, GB_VALUE_ERROR, "tensor: not aligned to a %s", type), 0);
}
#define READABLE(p, type, e) is_readable(p, _Alignof(type), #type, e)

int gb_dlpack_check(const DLTensor *t, gb_error *e) {
    return READABLE(t, DLTensor, e) ? check(t, 0, e) : -1;
}

int gb_dlpack_check_versioned(const DLManagedTensorVersioned *m, gb_error *e) {
    if (!READABLE(m, DLManagedTensorVersioned, e)) return -1;
    if (m->version.major != DLPACK_MAJOR_VERSION)
        return gb_refuse(e, GB_VALUE_ERROR, "version: %u.%u; only major version %d can be read",
                         (unsigned)m->version.major, (unsigned)m->version.minor,
                         DLPACK_MAJOR_VERSION);
    if (m->flags & ~(uint64_t)KNOWN_FLAGS)
        return gb_refuse(e, GB_VALUE_ERROR,
                         "flags: %#llx has bits that DLPack %d.%d does not define (it has %#lx)",
                         (unsigned long long)m->flags, DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION,
                         KNOWN_FLAGS);
    return check(&m->dl_tensor, (m->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0, e);
}

int gb_dlpack_check_legacy(const DLManagedTensor *m, gb_error *e) {
    return READABLE(m, DLManagedTensor, e) ? check(&m->dl_tensor, 0, e) : -1;
}

void gb_dlpack_byte_strides(const DLTensor *t, int64_t *strides) {
    int64_t itemsize = gb_dlpack_itemsize(t->dtype, 1);
    if (!t->strides) gb_c_strides(strides, t->shape, t->ndim, itemsize);
    for (int i = 0; t->strides && i < t->ndim; i++) strides[i] = t->strides[i] * itemsize;
}
