/* module.c: gridbuf._core, the functions and types that gridbuf re-exports. To be read in this
 * order; no file calls a later one. A folder is named twice where other folders stand between its
 * files.
 *
 * core/       what Python calls: functions.h; errors and references: references.c; the ways up
 *             into Python and down into Go: upcall.c, attribute.c, go.c; a request: args.c,
 *             dtype.c, request.c, plan.c, callcache.c (same call, same plan); long work: work.c;
 *             host memory and arrays: memory.c; memory of the driver: driver.c
 * named/      NumPy's ufuncs: operators.c, elementwise.c; slices and numbers as keys: keys.c
 * field/      record.c, host.c (NumPy's protocols), device.c (CUDA's), names.c
 * copies/     host.c: between arrays and Fields on the host
 * exchange/   import_interface.c, import_dlpack.c, device_wrap.c, wrap.c (any object to its
 *             memory), values.c
 * device/     async_copy.c, copy.c, functions.c
 * copies/     many in one call: slots.c, entries.c, program.c, mpi_exchange.c
 * gufunc/     keywords.c, operands.c, resolve.c, run.c, call.c; reductions: reduce_args.c,
 *             reduce.c; type.c
 * watch/      lines.c, allocations.c, stand_in.c
 * storage/    host storages: record.c, request.c, interface.c, index.c
 * copies/     assign.c: copyto and fill
 * field/      new.c, index.c
 * here        what Python calls: constructors.c, backends.c, statistics.c, exact.c
 * named/      NumPy by name, for both: reductions.c, broadcast.c, alike.c, ufuncs.c,
 *             functions.c
 * field/      dlpack.c, type.c
 * storage/    type.c
 * fused/      operand.c, call.c, function.c: gridbuf.fused
 */
#define GB_PY_IMPORTS_NUMPY
#include "core/common.h"
#include "core/upcall.h"
#include "field/field.h"
#include "../bridge/gufunc.h"
#include "../cuda/strided.h"
#include "../dlpack/dlpack.h"
#include "../exact/exact.h"

#include <docs.h>

#ifdef GRIDBUF_PANIC
static PyObject *panic_py(PyObject *self, PyObject *none) {
    gb_error e;
    return GB_PY_ENTER_GO(&e, gb_py_go->panic(&e)) < 0 ? NULL : Py_NewRef(Py_None);
}
#endif

#define METH_NAMED (METH_FASTCALL | METH_KEYWORDS)
#define ROW(given, name) {#name, (PyCFunction)(void *)gb_py_##name, METH_##given, NULL},
#define ROW_WITH_DOC(given, name) \
    {#name, (PyCFunction)(void *)gb_py_##name, METH_##given, GB_PY_DOC_##name},
static PyMethodDef methods[] = {
    GB_PY_FUNCTIONS(ROW, ROW_WITH_DOC)
#ifdef GRIDBUF_PANIC
        {"panic", panic_py, METH_NOARGS, NULL},
#endif
    {NULL},
};

/* In reading order. */
/* clang-format off */
#define INITS(INIT) \
    INIT(gb_py_numbers_init) \
    INIT(gb_py_operators_init) \
    INIT(gb_py_elementwise_init) \
    INIT(gb_py_type_only_methods_init) \
    INIT(gb_py_trace_init) \
    INIT(gb_py_go_init) \
    INIT(gb_py_attribute_init) \
    INIT(gb_py_decref_init) \
    INIT(gb_py_handler_init) \
    INIT(gb_py_args_init) \
    INIT(gb_py_dtype_init) \
    INIT(gb_py_plan_init) \
    INIT(gb_py_device_block_init) \
    INIT(gb_py_field_init) \
    INIT(gb_py_plan_methods_init) \
    INIT(gb_py_device_field_init) \
    INIT(gb_py_import_dlpack_init) \
    INIT(gb_py_from_producer_init) \
    INIT(gb_py_async_copy_init) \
    INIT(gb_py_field_dlpack_init) \
    INIT(gb_py_exchange_init) \
    INIT(gb_py_program_init) \
    INIT(gb_py_mpi_exchange_init) \
    INIT(gb_py_keywords_init) \
    INIT(gb_py_reduce_args_init) \
    INIT(gb_py_gufunc_init) \
    INIT(gb_py_stand_in_init) \
    INIT(gb_py_describe_init) \
    INIT(gb_py_storage_init) \
    INIT(gb_py_fused_call_init) \
    INIT(gb_py_fused_function_init)
/* clang-format on */
#define DECLARED(init) int init(PyObject *module);
#define ENTRY(init) init,
INITS(DECLARED)

/* The types and caches below exist once a process. An import after sys.modules was purged gets the
 * module that holds them, so that Fields made before stay Fields; another interpreter has its own,
 * which NumPy refuses. */
static PyObject *first;
static PyInterpreterState *first_interpreter;

static PyObject *create(PyObject *spec, PyModuleDef *unused) {
    (void)unused;
    if (first && first_interpreter == PyInterpreterState_Get()) {
        gb_py_upcall_forget();
        return Py_NewRef(first);
    }
    GB_PY_OWNED PyObject *name = PyObject_GetAttrString(spec, "name");
    return name ? PyModule_NewObject(name) : NULL;
}

static int exec(PyObject *module) {
    static int (*const inits[])(PyObject *) = {INITS(ENTRY)};
    if (module == first) return 0;
    import_array1(-1);
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++)
        if (inits[i](module) < 0) return -1;
    first = Py_NewRef(module);
    first_interpreter = PyInterpreterState_Get();
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_create, create},
    {Py_mod_exec, exec},
#ifdef Py_GIL_DISABLED /* caches and lists are written for one thread at a time */
    {Py_mod_gil, Py_MOD_GIL_USED},
#endif
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gridbuf._core",
    .m_doc = "The C side of gridbuf; import gridbuf instead.",
    .m_methods = methods,
    .m_slots = slots,
};

__attribute__((visibility("default"))) PyObject *PyInit__core(void);
PyObject *PyInit__core(void) { return PyModuleDef_Init(&definition); }

/* ---- constants of C for Python ---- */

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
