/* staging.h: between the host and a GPU in several moves, laid out and converted on the way. */
#pragma once

#include "pair.h"
#include "strided.h"

#define GB_CU_DIRECT_CALLS \
    32 /* so many moves of the driver are worth their calls; then a kernel or the host lays out */

/* Between the host and a GPU, whose side is the pair's a; converted where the types differ. */
typedef struct gb_cu_staged {
    int direction; /* GB_CUDA_UPLOAD or GB_CUDA_DOWNLOAD */
    int pinned;    /* the host's side can be moved as it is */
    const gb_cu_pair *pair;
    uint64_t device;
    char *host;
    int64_t device_item, host_item;
    int device_type, host_type;
    gb_cuda_queue on;
} gb_cu_staged;
int gb_cu_staged_copy(gb_cuda_job *job, const gb_cu_staged *s, gb_cuda_error *e);

/* Memory that the job's work needs for a while, at *data. */
int gb_cu_temporary(gb_cuda_job *job, int kind, int64_t bytes, gb_cuda_queue on, uint64_t *data,
                    gb_cuda_error *e);
