/* error.c: what went wrong, in one sentence. */
#include "error.h"

#include <stdarg.h>

int gb_cu_fail(gb_cuda_error *e, int status, const char *format, ...) {
    if (!e) return -1;
    va_list values;
    va_start(values, format);
    e->status = status;
    e->code = 0;
    vsnprintf(e->text, sizeof e->text, format, values);
    va_end(values);
    return -1;
}

static int status_of(CUresult code) {
    switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY: return GB_CUDA_NO_MEMORY;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE: return GB_CUDA_NO_DEVICE;
    case CUDA_ERROR_STUB_LIBRARY: return GB_CUDA_NO_DRIVER;
    default: return GB_CUDA_FAILED;
    }
}

int gb_cu_says(gb_cuda_error *e, CUresult code, const char *call) {
    if (code == CUDA_SUCCESS) return 0;
    const char *name = NULL, *text = NULL;
    if (gb_cu.cuGetErrorName(code, &name) != CUDA_SUCCESS || !name)
        name = "an error without a name";
    if (gb_cu.cuGetErrorString(code, &text) != CUDA_SUCCESS || !text)
        text = "the driver has no text for it";
    gb_cu_fail(e, status_of(code), "%s (%d) from %s: %s", name, code, call, text);
    if (e) e->code = code;
    return -1;
}

char *gb_cu_size(char room[32], int64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double n = (double)bytes;
    int unit = 0;
    while (n >= 1024 && unit < 6) n /= 1024, unit++;
    snprintf(room, 32, unit ? "%.1f %s" : "%.0f %s", n, units[unit]);
    return room;
}
