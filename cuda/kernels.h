/* kernels.h: the kernels, written once: NVRTC makes PTX of them (kernels.ptx.gz, by
 * kernels.py), and the fake driver of the tests compiles them for the host, where a
 * block's threads take turns between barriers.
 *
 * Axis 0 is the fastest of the destination. Strides are bytes and may be negative. */
#ifndef GRIDBUF_CUDA_KERNELS_H
#define GRIDBUF_CUDA_KERNELS_H

#define GB_KERNEL_AXES 9   /* one more than a view has: for elements that are not aligned to their size */
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
#define ONE_BY_ONE _Pragma("unroll 1")
#endif

#ifdef KERNEL
/* Where element i of the axes from `first` on lies, in dst and src. */
#define LOCATE(INDEX, first)                                        \
    ONE_BY_ONE for (int axis = first; axis < job.ndim; axis++) {    \
        INDEX n = (INDEX)job.shape[axis], at = rest % n;            \
        rest /= n;                                                  \
        dst += (gb_word)((long long)at * job.dst_strides[axis]);    \
        src += (gb_word)((long long)at * job.src_strides[axis]);    \
    }

#define GRID_LOOP(INDEX)                                            \
    INDEX step = (INDEX)gridDim.x * blockDim.x;                     \
    ONE_BY_ONE for (INDEX i = (INDEX)blockIdx.x * blockDim.x + threadIdx.x; i < (INDEX)job.count; i += step)

/* Below 2^30 elements 32-bit divisions do. */
#define COPY(T, INDEX, name)                                        \
    KERNEL name(gb_kernel_job job) {                                \
        EACH_THREAD {                                               \
            GRID_LOOP(INDEX) {                                      \
                INDEX rest = i;                                     \
                gb_word dst = job.dst, src = job.src;               \
                LOCATE(INDEX, 0)                                    \
                AT(T, dst) = AT(T, src);                            \
            }                                                       \
        }                                                           \
    }

#define FILL(T, name)                                               \
    KERNEL name(gb_kernel_job job) {                                \
        EACH_THREAD {                                               \
            GRID_LOOP(gb_word) {                                    \
                gb_word rest = i, dst = job.dst, src = 0;           \
                if (job.count < 1 << 30) {                          \
                    unsigned whole = (unsigned)rest;                \
                    { unsigned rest = whole; LOCATE(unsigned, 0) }  \
                } else {                                            \
                    LOCATE(gb_word, 0)                              \
                }                                                   \
                AT(T, dst) = *(const T *)job.value;                 \
            }                                                       \
        }                                                           \
    }

/* Axis 1 is the source's fastest. A block moves one tile of axes 0 and 1, read along
 * axis 1 and written along axis 0; the odd column keeps the banks apart. */
#define TRANSPOSE(T, name)                                                                              \
    KERNEL name(gb_kernel_job job) {                                                                    \
        SHARED T tile[GB_TILE][GB_TILE + 1];                                                            \
        gb_word tiles0 = (gb_word)(job.shape[0] + GB_TILE - 1) / GB_TILE;                               \
        gb_word tiles1 = (gb_word)(job.shape[1] + GB_TILE - 1) / GB_TILE;                               \
        gb_word rest = blockIdx.x, dst = job.dst, src = job.src;                                        \
        long long start0 = (long long)(rest % tiles0) * GB_TILE;                                        \
        rest /= tiles0;                                                                                 \
        long long start1 = (long long)(rest % tiles1) * GB_TILE;                                        \
        rest /= tiles1;                                                                                 \
        LOCATE(gb_word, 2)                                                                              \
        EACH_THREAD {                                                                                   \
            long long at1 = start1 + threadIdx.x;                                                       \
            for (int row = threadIdx.y; row < GB_TILE; row += GB_TILE_ROWS)                             \
                if (at1 < job.shape[1] && start0 + row < job.shape[0])                                  \
                    tile[row][threadIdx.x] =                                                            \
                        AT(T, src + (gb_word)((start0 + row) * job.src_strides[0] + at1 * job.src_strides[1])); \
        }                                                                                               \
        BARRIER                                                                                         \
        EACH_THREAD {                                                                                   \
            long long at0 = start0 + threadIdx.x;                                                       \
            for (int row = threadIdx.y; row < GB_TILE; row += GB_TILE_ROWS)                             \
                if (at0 < job.shape[0] && start1 + row < job.shape[1])                                  \
                    AT(T, dst + (gb_word)(at0 * job.dst_strides[0] + (start1 + row) * job.dst_strides[1])) = \
                        tile[threadIdx.x][row];                                                         \
        }                                                                                               \
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
#endif

#endif
