/* kernels.h: the kernels, written once: NVRTC makes PTX of them (kernels.ptx, by
 * kernels.py), and the fake driver of the tests compiles them for the host, where a
 * block's threads take turns between barriers.
 *
 * Axis 0 is the fastest of the destination. Strides are bytes and may be negative. */
#ifndef GRIDBUF_CUDA_KERNELS_H
#define GRIDBUF_CUDA_KERNELS_H

#define GB_KERNEL_AXES \
    9 /* one more than a view has: for elements that are not aligned to their size */
#define GB_TILE 32
#define GB_TILE_ROWS 8

#ifdef __CUDACC__
#define GB_ALIGNED __align__(16)
#else
#define GB_ALIGNED __attribute__((aligned(16)))
#endif

typedef unsigned long long gb_word;

typedef struct gb_kernel_job {
    gb_word dst, src;            /* element 0 */
    GB_ALIGNED gb_word value[2]; /* of a fill */
    long long count;             /* elements; of a transposition: tiles */
    long long shape[GB_KERNEL_AXES], dst_strides[GB_KERNEL_AXES], src_strides[GB_KERNEL_AXES];
    int ndim, padding;
} gb_kernel_job;

/* ---- many copies in one launch ---- */

#define GB_ENTRY_AXES 8
#define GB_PROGRAM_SLOTS 128

enum { GB_MOVE, GB_ADD_BOOL, GB_ADD_INTEGER, GB_ADD_HALF, GB_ADD_FLOAT, GB_ADD_DOUBLE };

/* A box of words. Word i of axis 0 is xored with the bytes of `flip` from i words on, around and
 * around. */
typedef struct gb_kernel_entry {
    GB_ALIGNED gb_word flip[2];
    long long first;          /* the number of its first word among all of a program */
    long long dst_at, src_at; /* of word 0, in bytes from element 0 of the slots */
    long long dst_strides[GB_ENTRY_AXES], src_strides[GB_ENTRY_AXES];
    unsigned shape[GB_ENTRY_AXES];
    int dst_slot, src_slot, word, ndim;
    int how, negative, clear, padding;
} gb_kernel_entry;

/* Words `first` to `end`, which are those of n entries. */
typedef struct gb_kernel_program {
    gb_word entries, bases; /* of gb_kernel_entry; of gb_word, or 0: they are in `base` */
    long long first, end;
    int n, padding;
    gb_word base[GB_PROGRAM_SLOTS];
} gb_kernel_program;

#ifdef __CUDACC__
typedef unsigned char gb_u1;
typedef unsigned short gb_u2;
typedef unsigned gb_u4;
typedef unsigned long long gb_u8;
typedef ulonglong2 gb_u16;
#define KERNEL extern "C" __global__ void
#define EACH_THREAD
#define BARRIER __syncthreads();
#define SHARED __shared__
#define AT(T, address) (*(T *)(address))
#define ENTRY(number) ((const gb_kernel_entry *)job.entries + (number))
static __device__ gb_u2 half_sum(gb_u2 x, gb_u2 y) {
    float a, b;
    asm("cvt.f32.f16 %0, %1;" : "=f"(a) : "h"(x));
    asm("cvt.f32.f16 %0, %1;" : "=f"(b) : "h"(y));
    a += b; /* 24 bits are enough for what is rounded twice to be the rounded sum */
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(a));
    return x;
}
#define ONE_BY_ONE _Pragma("unroll 1")
#endif

#ifdef KERNEL
/* Where element i of the axes from `first` on lies, in dst and src. */
#define LOCATE(INDEX, first)                                     \
    ONE_BY_ONE for (int axis = first; axis < job.ndim; axis++) { \
        INDEX n = (INDEX)job.shape[axis], at = rest % n;         \
        rest /= n;                                               \
        dst += (gb_word)((long long)at * job.dst_strides[axis]); \
        src += (gb_word)((long long)at * job.src_strides[axis]); \
    }

#define GRID_LOOP(INDEX)                                                                          \
    INDEX step = (INDEX)gridDim.x * blockDim.x;                                                   \
    ONE_BY_ONE for (INDEX i = (INDEX)blockIdx.x * blockDim.x + threadIdx.x; i < (INDEX)job.count; \
                    i += step)

/* Below 2^30 elements 32-bit divisions do. */
#define COPY(T, INDEX, name)                          \
    KERNEL name(gb_kernel_job job) {                  \
        EACH_THREAD {                                 \
            GRID_LOOP(INDEX) {                        \
                INDEX rest = i;                       \
                gb_word dst = job.dst, src = job.src; \
                LOCATE(INDEX, 0)                      \
                AT(T, dst) = AT(T, src);              \
            }                                         \
        }                                             \
    }

#define FILL(T, name)                                     \
    KERNEL name(gb_kernel_job job) {                      \
        EACH_THREAD {                                     \
            GRID_LOOP(gb_word) {                          \
                gb_word rest = i, dst = job.dst, src = 0; \
                if (job.count < 1 << 30) {                \
                    unsigned whole = (unsigned)rest;      \
                    {                                     \
                        unsigned rest = whole;            \
                        LOCATE(unsigned, 0)               \
                    }                                     \
                } else {                                  \
                    LOCATE(gb_word, 0)                    \
                }                                         \
                AT(T, dst) = *(const T *)job.value;       \
            }                                             \
        }                                                 \
    }

/* Axis 1 is the source's fastest. A block moves one tile of axes 0 and 1, read along
 * axis 1 and written along axis 0; the odd column keeps the banks apart. */
#define TRANSPOSE(T, name)                                                          \
    KERNEL name(gb_kernel_job job) {                                                \
        SHARED T tile[GB_TILE][GB_TILE + 1];                                        \
        gb_word tiles0 = (gb_word)(job.shape[0] + GB_TILE - 1) / GB_TILE;           \
        gb_word tiles1 = (gb_word)(job.shape[1] + GB_TILE - 1) / GB_TILE;           \
        gb_word rest = blockIdx.x, dst = job.dst, src = job.src;                    \
        long long start0 = (long long)(rest % tiles0) * GB_TILE;                    \
        rest /= tiles0;                                                             \
        long long start1 = (long long)(rest % tiles1) * GB_TILE;                    \
        rest /= tiles1;                                                             \
        LOCATE(gb_word, 2)                                                          \
        EACH_THREAD {                                                               \
            long long at1 = start1 + threadIdx.x;                                   \
            for (int row = threadIdx.y; row < GB_TILE; row += GB_TILE_ROWS)         \
                if (at1 < job.shape[1] && start0 + row < job.shape[0])              \
                    tile[row][threadIdx.x] =                                        \
                        AT(T, src + (gb_word)((start0 + row) * job.src_strides[0] + \
                                              at1 * job.src_strides[1]));           \
        }                                                                           \
        BARRIER                                                                     \
        EACH_THREAD {                                                               \
            long long at0 = start0 + threadIdx.x;                                   \
            for (int row = threadIdx.y; row < GB_TILE; row += GB_TILE_ROWS)         \
                if (at0 < job.shape[0] && start1 + row < job.shape[1])              \
                    AT(T, dst + (gb_word)(at0 * job.dst_strides[0] +                \
                                          (start1 + row) * job.dst_strides[1])) =   \
                        tile[threadIdx.x][row];                                     \
        }                                                                           \
    }

#define OF_SIZE(n)                          \
    COPY(gb_u##n, unsigned, gb_copy_##n)    \
    COPY(gb_u##n, gb_word, gb_copy_far_##n) \
    FILL(gb_u##n, gb_fill_##n)              \
    TRANSPOSE(gb_u##n, gb_transpose_##n)
OF_SIZE(1)
OF_SIZE(2)
OF_SIZE(4)
OF_SIZE(8)
OF_SIZE(16)

#define MOVE(T)                                 \
    {                                           \
        AT(T, dst) = (T)(AT(T, src) ^ (T)flip); \
        if (entry->clear) AT(T, src) = 0;       \
    }                                           \
    break
#define ADD(T, SUM)                       \
    {                                     \
        T x = AT(T, dst), y = AT(T, src); \
        AT(T, dst) = SUM;                 \
        if (entry->clear) AT(T, src) = 0; \
    }                                     \
    break

KERNEL gb_program_1(gb_kernel_program job) {
    EACH_THREAD {
        int found = 0;
        gb_word step = (gb_word)gridDim.x * blockDim.x;
        ONE_BY_ONE for (gb_word i =
                            (gb_word)job.first + (gb_word)blockIdx.x * blockDim.x + threadIdx.x;
                        i < (gb_word)job.end; i += step) {
            int high = job.n - 1;
            ONE_BY_ONE while (found < high) {
                int middle = (found + high + 1) / 2;
                if ((gb_word)ENTRY(middle)->first <= i) found = middle;
                else high = middle - 1;
            }
            const gb_kernel_entry *entry = ENTRY(found);
            gb_word dst = job.bases ? AT(gb_word, job.bases + 8 * (gb_word)entry->dst_slot)
                                    : job.base[entry->dst_slot];
            gb_word src = job.bases ? AT(gb_word, job.bases + 8 * (gb_word)entry->src_slot)
                                    : job.base[entry->src_slot];
            unsigned rest = (unsigned)(i - (gb_word)entry->first), turn = 0;
            dst += (gb_word)entry->dst_at;
            src += (gb_word)entry->src_at;
            ONE_BY_ONE for (int axis = 0; axis < entry->ndim; axis++) {
                unsigned n = entry->shape[axis], at = rest % n;
                rest /= n;
                if (axis == 0) turn = at * (unsigned)entry->word & 15;
                dst += (gb_word)((long long)at * entry->dst_strides[axis]);
                src += (gb_word)((long long)at * entry->src_strides[axis]);
            }
            gb_word flip = entry->flip[turn >> 3] >> 8 * (turn & 7);
            int negative = entry->negative;
            switch (entry->how) {
            case GB_MOVE:
                switch (entry->word) {
                case 1: MOVE(gb_u1);
                case 2: MOVE(gb_u2);
                case 4: MOVE(gb_u4);
                case 8: MOVE(gb_u8);
                case 16: {
                    gb_u16 x = AT(gb_u16, src), nothing = {0, 0};
                    x.x ^= entry->flip[0];
                    x.y ^= entry->flip[1];
                    AT(gb_u16, dst) = x;
                    if (entry->clear) AT(gb_u16, src) = nothing;
                } break;
                }
                break;
            case GB_ADD_INTEGER:
                switch (entry->word) {
                case 1: ADD(gb_u1, (gb_u1)(negative ? x - y : x + y));
                case 2: ADD(gb_u2, (gb_u2)(negative ? x - y : x + y));
                case 4: ADD(gb_u4, negative ? x - y : x + y);
                case 8: ADD(gb_u8, negative ? x - y : x + y);
                }
                break;
            case GB_ADD_BOOL: ADD(gb_u1, (gb_u1)((x | y) != 0));
            case GB_ADD_HALF: ADD(gb_u2, half_sum(x, (gb_u2)(negative ? y ^ 0x8000 : y)));
            case GB_ADD_FLOAT: ADD(float, negative ? x - y : x + y);
            case GB_ADD_DOUBLE: ADD(double, negative ? x - y : x + y);
            }
        }
    }
}
#endif

#endif
