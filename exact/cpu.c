/* cpu.c: which kernels this processor runs: those that transfer/ chose, where it has FMA, too. */
#include "kernels.h"
#include "../transfer/transfer.h"

#include <string.h>

const gb_exact_kernels *gb_exact_kernels_here(void) {
#ifdef __x86_64__
    const char *name = gb_copy_kernels_name();
    if (strcmp(name, "avx512") == 0) return &gb_exact_kernels_avx512;
    if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("fma")) return &gb_exact_kernels_avx2;
#endif
    return &gb_exact_kernels_plain;
}
