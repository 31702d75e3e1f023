/* module.c: gridbuf._core, the functions and types that gridbuf re-exports. To be read in this order; no file calls a later one,
 * and no folder a later folder:
 *
 * core/        where there is no GIL: turns.c; the ways up into Python and into Go: upcall.c, attribute.c, numbers.c, go.c; exceptions under way: pending.c; releasing
 *              from any thread: decref.c; a request: args.c, dtype.c, element.c, backends.c, request.c (keywords), plan.c, explain.c, plancache.c,
 *              callcache.c (same call, same plan); host memory: who allocates: watch_blocks.c, watch_line.c, watch.c, watch_layouts.c, watch_call.c, watch_copies.c; trace.c,
 *              memory.c, handler.c (NumPy's), copy_run.c, array.c; operators.c, of_the_type.c; memory of the driver: device_error.c, device_stream.c, device_block.c
 * field/       core.c (the record), host_access.c, type.c, over.c, class.c, buffer.c, names.c; values: copy_view.c, copyto.c
 * exchange/    mapped.c, import_typestr.c, import_interface.c, import_dlpack.c, import_exchange.c, import_producer.c, device_wrap.c, wrap.c
 *              (any object to its memory), values.c, field_wrap.c
 * device/      async_copy.c, copy.c, async.c, dlpack.c, functions.c, field.c
 * program/     copies planned together: apart.c, slots.c, entries.c, on_gpu.c, type.c; and sent: messages.c
 * gufunc/      errors.c, attach.c, from_ufunc.c, entries.c, axes.c, halo.c, keywords.c, operand.c, choice.c, cache.c, run.c, output.c,
 *              invoke.c, call.c; reductions: reduce_cache.c, reduce_args.c, reduce_result.c, reduce.c; type.c
 * storage/     record.c, request.c, describe.c, acquire.c, cut.c (keys), index.c, spread.c, ufunc.c, function.c, number.c, type.c: host storages, as far as they need no thought
 * here         what Python calls: assign.c, device_new.c, constructors.c, register.c, requirements.c, statistics.c, exact.c; of a Field:
 *              field_new.c, field_index.c, field_number.c, field_protocols.c, field_dlpack.c, exchange.c, field.c (the type); like.c
 */
#define GB_PY_IMPORTS_NUMPY
#include "core/array.h"
#include "core/attribute.h"
#include "field/copying.h"
#include "device/async_copy.h"
#include "exact.h"
#include "exchange/exchange.h"
#include "exchange/import_interface.h"
#include "field_number.h"
#include "program/program.h"
#include "gufunc/gufunc.h"
#include "core/memory.h"
#include "core/numbers.h"
#include "core/of_the_type.h"
#include "core/operators.h"
#include "core/watch.h"
#include "core/watch_call.h"
#include "core/watch_copies.h"
#include "core/watch_layouts.h"
#include "core/watch_line.h"
#include "exchange/wrap.h"
#include "storage/storage.h"

#include <docs.h>

#ifdef GRIDBUF_PANIC
static PyObject *panic_py(PyObject *self, PyObject *none) {
    gb_error e;
    return GB_PY_ENTER_GO(&e, gbridge_panic(&e)) < 0 ? NULL : Py_NewRef(Py_None);
}
#endif

#define FAST (METH_FASTCALL | METH_KEYWORDS)
static PyMethodDef methods[] = {
    {"empty", (PyCFunction)(void *)gb_py_empty, FAST, GB_PY_DOC_empty},
    {"zeros", (PyCFunction)(void *)gb_py_zeros, FAST, GB_PY_DOC_zeros},
    {"ones", (PyCFunction)(void *)gb_py_ones, FAST, GB_PY_DOC_ones},
    {"full", (PyCFunction)(void *)gb_py_full, FAST, GB_PY_DOC_full},
    {"is_mapped", (PyCFunction)(void *)gb_py_is_mapped, METH_FASTCALL, NULL},
    {"constant", gb_py_constant, METH_O, NULL},
    {"host_arrays", (PyCFunction)(void *)gb_py_host_arrays, METH_FASTCALL, NULL},
    {"host_description", gb_py_host_description, METH_O, NULL},
    {"known_storage", (PyCFunction)(void *)gb_py_known_storage, METH_FASTCALL, NULL},
    {"known_like", (PyCFunction)(void *)gb_py_known_like, METH_FASTCALL, NULL},
    {"known_around", (PyCFunction)(void *)gb_py_known_around, METH_FASTCALL, NULL},
    {"plan", (PyCFunction)(void *)gb_py_plan, FAST, GB_PY_DOC_plan},
    {"explain", gb_py_explain, METH_VARARGS, NULL},
    {"set_standing_backend", gb_py_set_standing, METH_VARARGS, NULL},
    {"unmet", (PyCFunction)(void *)gb_py_unmet, FAST, NULL},
    {"empty_elements", (PyCFunction)(void *)gb_py_empty_elements, FAST, NULL},
    {"like", (PyCFunction)(void *)gb_py_like, METH_FASTCALL, NULL},
    {"copyto", (PyCFunction)(void *)gb_py_copyto, FAST, GB_PY_DOC_copyto},
    {"fill", (PyCFunction)(void *)gb_py_fill, FAST, GB_PY_DOC_fill},
    {"get_num_threads", gb_py_get_num_threads, METH_NOARGS, GB_PY_DOC_get_num_threads},
    {"set_num_threads", gb_py_set_num_threads, METH_O, GB_PY_DOC_set_num_threads},
    {"from_dlpack", (PyCFunction)(void *)gb_py_from_dlpack, FAST, GB_PY_DOC_from_dlpack},
    {"host_array", gb_py_host_array, METH_O, GB_PY_DOC_host_array},
    {"values", gb_py_values_method, METH_O, NULL},
    {"described_memory", gb_py_described_memory, METH_VARARGS, NULL},
    {"import_capsule", gb_py_import_capsule, METH_O, NULL},
    {"register_backend", (PyCFunction)(void *)gb_py_register_backend, METH_VARARGS | METH_KEYWORDS, GB_PY_DOC_register_backend},
    {"registrations", gb_py_registered, METH_NOARGS, NULL},
    {"backends", gb_py_backend_names, METH_NOARGS, GB_PY_DOC_backends},
    {"spans_meet", (PyCFunction)(void *)gb_py_spans_meet, METH_FASTCALL, NULL},
    {"exact_add", (PyCFunction)(void *)gb_py_exact_add, METH_FASTCALL, NULL},
    {"exact_merge", (PyCFunction)(void *)gb_py_exact_merge, METH_FASTCALL, NULL},
    {"numpy_handler", gb_py_numpy_handler, METH_NOARGS, NULL},
    {"run_with_handler", gb_py_run_with_handler, METH_VARARGS, NULL},
    {"set_numpy_handler", gb_py_set_numpy_handler, METH_O, NULL},
    {"watch_start", gb_py_watch_start, METH_VARARGS, NULL},
    {"watch_stop", gb_py_watch_stop, METH_NOARGS, NULL},
    {"watch_enter", gb_py_watch_enter, METH_NOARGS, NULL},
    {"watch_leave", gb_py_watch_leave, METH_O, NULL},
    {"watch_function", gb_py_watch_function, METH_VARARGS, NULL},
    {"watch_copies", gb_py_watch_copies, METH_VARARGS, NULL},
    {"watch_apart", gb_py_watch_apart, METH_O, NULL},
    {"watch_method", gb_py_watch_method, METH_VARARGS, NULL},
    {"watch_taken", gb_py_watch_taken, METH_VARARGS, NULL},
    {"watch_depth", gb_py_watch_depth, METH_NOARGS, NULL},
    {"watch_lines", gb_py_watch_lines, METH_NOARGS, NULL},
    {"watch_block", gb_py_watch_block, METH_O, NULL},
    {"watch_total", gb_py_watch_total, METH_NOARGS, NULL},
    {"watch_strides", gb_py_watch_strides, METH_O, NULL},
#ifdef GRIDBUF_PANIC
    {"panic", panic_py, METH_NOARGS, NULL},
#endif
    {NULL},
};

/* In reading order: what stands further down uses what stands above. */
static int exec(PyObject *module) {
    import_array1(-1);
    if (gb_py_numbers_init(module) < 0 || gb_py_operators_init() < 0 || gb_py_of_the_type_init() < 0 || gb_py_watch_call_init() < 0 ||
        gb_py_watch_copies_init() < 0) return -1;
    gb_py_trace_init();
    if (gb_py_go_init(module) < 0 || gb_py_attribute_init() < 0 || gb_py_decref_init() < 0 || gb_py_handler_init() < 0) return -1;
    if (gb_py_args_init() < 0 || gb_py_dtype_init(module) < 0 || gb_py_plan_init(module) < 0) return -1;
    if (gb_py_device_block_init(module) < 0 || gb_py_field_init(module) < 0 || gb_py_device_field_init(module) < 0) return -1;
    if (gb_py_import_dlpack_init() < 0 || gb_py_from_producer_init() < 0 || gb_py_async_copy_init(module) < 0) return -1;
    if (gb_py_field_dlpack_init() < 0 || gb_py_exchange_init() < 0 || gb_py_field_protocols_init() < 0) return -1;
    if (gb_py_device_copy_init(module) < 0 || gb_py_device_functions_init(module) < 0 || gb_py_statistics_init(module) < 0) return -1;
    if (gb_py_program_init(module) < 0 || gb_py_launches_init(module) < 0 || gb_py_messages_init(module) < 0) return -1;
    return gb_py_gufunc_init(module) < 0 ? -1 : gb_py_storage_init(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
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
PyObject *PyInit__core(void) {
    static void (*const themselves[])(void) = {(void (*)(void))gb_py_empty, (void (*)(void))gb_py_zeros, (void (*)(void))gb_py_plan, (void (*)(void))gb_py_from_dlpack};
    for (size_t i = 0; i < sizeof themselves / sizeof *themselves; i++)
        if (gb_py_turns_itself(themselves[i]) < 0) return NULL;
    if (gb_py_turns_init() < 0 || gb_py_methods_take_turns(methods) < 0) return NULL;
    return PyModuleDef_Init(&definition);
}
