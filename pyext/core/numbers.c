/* numbers.c: the numbers of the C below that Python code needs, as constants of the module. */
#include "common.h"
#include "../../bridge/gufunc.h"
#include "../../cuda/strided.h"
#include "../../dlpack/dlpack.h"
#include "../../exact/exact.h"

static const struct {
    const char *name;
    long value;
} numbers[] = {
    {"MEMORY_HOST", GB_CUDA_HOST},
    {"MEMORY_DEVICE", GB_CUDA_DEVICE},
    {"MEMORY_PINNED", GB_CUDA_PINNED},
    {"MEMORY_MANAGED", GB_CUDA_MANAGED},
    {"DL_CPU", kDLCPU},
    {"DL_CUDA", kDLCUDA},
    {"DL_CUDA_HOST", kDLCUDAHost},
    {"DL_ROCM", kDLROCM},
    {"DL_CUDA_MANAGED", kDLCUDAManaged},
    {"NUMPY_LOOP", GB_GU_NUMPY_LOOP},
    {"STATUS_LOOP", GB_GU_STATUS_LOOP},
    {"GO_LOOP", GB_GU_GO_LOOP},
    {"EXCLUSIVE", GB_GU_EXCLUSIVE},
    {"ONE_WORKER", GB_GU_ONE_WORKER},
    {"PURE", GB_GU_PURE},
    {"MEASURED", GB_GU_MEASURED},
    {"RAISES", GB_GU_RAISES},
    {"WEAK_INT", GB_GU_WEAK_INT},
    {"WEAK_FLOAT", GB_GU_WEAK_FLOAT},
    {"WEAK_COMPLEX", GB_GU_WEAK_COMPLEX},
    {"FOLDS", GB_GU_FOLDS},
    {"GENERATED", GB_BRIDGE_GENERATED},
    {"SWAPPED", GB_BRIDGE_SWAPPED},
    {"INVALID", GB_GU_INVALID},
    {"DIVIDE", GB_GU_DIVIDE},
    {"OVERFLOW", GB_GU_OVERFLOW},
    {"STATUS", GB_GU_STATUS},
    {"PANIC", GB_GU_PANICKED},
    {"EXACT_WORDS", GB_EXACT_WORDS},
    {"EXACT_CHUNKS", GB_EXACT_CHUNKS},
    {"EXACT_BIAS", GB_EXACT_BIAS},
};

int gb_py_numbers_init(PyObject *module) {
    char chars[GB_TYPES + 1] = {' '}; /* NumPy's character at each type's number */
    for (int type = GB_RAW + 1; type < GB_TYPES; type++) chars[type] = gb_type_char(type);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (PyModule_AddIntConstant(module, numbers[i].name, numbers[i].value) < 0) return -1;
    return PyModule_AddStringConstant(module, "TYPE_CHARS", chars);
}
