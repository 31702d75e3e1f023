/* module.c: gridbuf._core, the functions and types that gridbuf re-exports. To be read in this
 * order; no file calls a later one, and no folder a later folder:
 *
 * core/       what Python calls: functions.h; the ways up into
 *             Python and into Go: upcall.c, attribute.c, numbers.c, go.c; exceptions under way:
 *             pending.c; releasing from any thread: decref.c; a request: args.c, dtype.c,
 *             element.c, backends.c, request.c (keywords), plan.c, explain.c, plancache.c,
 *             callcache.c (same call, same plan); host memory: trace.c, memory.c, handler.c
 *             (NumPy's), copy_run.c, array.c; operators.c, elementwise.c, of_the_type.c; keys:
 *             cut.c; memory of the driver: device_stream.c, device_block.c
 * field/      core.c (the record), host_access.c, type.c, over.c, class.c, buffer.c, names.c;
 *             values: copy_view.c, copyto.c
 * exchange/   mapped.c, import_typestr.c, import_interface.c, import_dlpack.c, import_exchange.c,
 *             import_producer.c, device_wrap.c, wrap.c (any object to its memory), values.c,
 *             field_wrap.c
 * device/     async_copy.c, copy.c, async.c, dlpack.c, functions.c, field.c
 * program/    copies planned together: apart.c, slots.c, entries.c, on_gpu.c, type.c; and sent:
 *             messages.c
 * gufunc/     attach.c, entries.c, axes.c, halo.c, keywords.c, operand.c, choice.c, cache.c, run.c,
 *             output.c, invoke.c, call.c; reductions: reduce_cache.c, reduce_args.c,
 *             reduce_result.c, reduce.c; type.c
 * watch/      lines.c, allocations.c, stand_in.c
 * storage/    record.c, request.c, describe.c, acquire.c, cut.c (keys), index.c, spread.c, ufunc.c,
 *             function.c, type.c: host storages, as far as they need no thought
 * here        what Python calls: assign.c, device_new.c, constructors.c, register.c,
 *             requirements.c, statistics.c, exact.c; of a Field: field_new.c, plan_memory.c (a
 *             Plan's methods), field_reduce.c, field_index.c, field_number.c, field_dlpack.c,
 *             exchange.c, field.c (the type); like.c
 */
#define GB_PY_IMPORTS_NUMPY
#include "core/upcall.h"
#include "field/field.h"

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

/* In reading order: what stands further down uses what stands above. */
/* clang-format off */
#define INITS(INIT) \
    INIT(gb_py_numbers_init) \
    INIT(gb_py_operators_init) \
    INIT(gb_py_elementwise_init) \
    INIT(gb_py_of_the_type_init) \
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
    INIT(gb_py_plan_memory_init) \
    INIT(gb_py_device_field_init) \
    INIT(gb_py_import_dlpack_init) \
    INIT(gb_py_from_producer_init) \
    INIT(gb_py_async_copy_init) \
    INIT(gb_py_field_dlpack_init) \
    INIT(gb_py_exchange_init) \
    INIT(gb_py_program_init) \
    INIT(gb_py_messages_init) \
    INIT(gb_py_keywords_init) \
    INIT(gb_py_reduce_args_init) \
    INIT(gb_py_gufunc_init) \
    INIT(gb_py_stand_in_init) \
    INIT(gb_py_describe_init) \
    INIT(gb_py_storage_init) \
    INIT(gb_py_storage_function_init)
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
