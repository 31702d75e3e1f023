/* upcall.h: the functions and classes of the Python package that C uses, by name. The only way up.
 */
#pragma once

#include "common.h"

#define GB_PY_UPCALLS(X)                                                       \
    X(GB_PY_UP_CHECK_MASK, "gridbuf.wrapping", "check_mask")                   \
    X(GB_PY_UP_FROM_ARRAY_METHOD, "gridbuf.wrapping", "from_array_method")     \
    X(GB_PY_UP_DESCRIBED, "gridbuf.wrapping", "described")                     \
    X(GB_PY_UP_CARRIED, "gridbuf.wrapping", "carried")                         \
    X(GB_PY_UP_EXTENDED_DTYPE, "gridbuf.wrapping", "extended_dtype")           \
    X(GB_PY_UP_STRUCTURED, "gridbuf.wrapping", "structured")                   \
    X(GB_PY_UP_EXPORTS, "gridbuf.wrapping", "exports")                         \
    X(GB_PY_UP_CUPY_MEMORY, "gridbuf.wrapping", "cupy_memory")                 \
    X(GB_PY_UP_CUPY_BLOCK, "gridbuf.wrapping", "cupy_block")                   \
    X(GB_PY_UP_CUPY_STREAM, "gridbuf.cuda", "stream_of")                       \
    X(GB_PY_UP_CUPY_ARRAY, "gridbuf.cuda", "array_over")                       \
    X(GB_PY_UP_COPYTO, "gridbuf.copies", "_copyto_any")                        \
    X(GB_PY_UP_FILL, "gridbuf.copies", "_fill_any")                            \
    X(GB_PY_UP_CONVERTED, "gridbuf.copies", "_converted")                      \
    X(GB_PY_UP_WHOLE, "gridbuf.named.arguments", "WHOLE")                      \
    X(GB_PY_UP_CHECK_REQUIRE, "gridbuf.requirements", "check_require")         \
    X(GB_PY_UP_SUGGESTION, "gridbuf.validation", "suggestion")                 \
    X(GB_PY_UP_TYPE_AT, "gridbuf.field", "type_at")                            \
    X(GB_PY_UP_COPY_OF_FIELD, "gridbuf.field", "copy")                         \
    X(GB_PY_UP_OWN_NAME, "gridbuf.names", "own_name")                          \
    X(GB_PY_UP_FIRST_ENTRIES, "gridbuf.names", "first_entries")                \
    X(GB_PY_UP_NAMED, "gridbuf.named.kinds", "named")                          \
    X(GB_PY_UP_KEY, "gridbuf.named.kinds", "key")                              \
    X(GB_PY_UP_FIELD_UFUNC, "gridbuf.named.ufuncs", "of_fields")               \
    X(GB_PY_UP_FIELD_FUNCTION, "gridbuf.named.functions", "of_fields")         \
    X(GB_PY_UP_FIELD_BINARY, "gridbuf.named.ufuncs", "operator_of_fields")     \
    X(GB_PY_UP_FIELD_IN_PLACE, "gridbuf.named.ufuncs", "operator_into_fields") \
    X(GB_PY_UP_STORAGE_META, "gridbuf.storage.meta", "meta_of_view")           \
    X(GB_PY_UP_STORAGE_GETITEM, "gridbuf.storage.indexing", "getitem")         \
    X(GB_PY_UP_STORAGE_SETITEM, "gridbuf.storage.indexing", "setitem")         \
    X(GB_PY_UP_STORAGE_PLAN, "gridbuf.storage.buffers", "host_plan")           \
    X(GB_PY_UP_FIELD_PREPARED, "gridbuf.named.ufuncs", "prepared_fields")      \
    X(GB_PY_UP_STORAGE_PREPARED, "gridbuf.storage.results", "prepared")        \
    X(GB_PY_UP_ACQUIRING_WAY, "gridbuf.interface.acquiring", "way")            \
    X(GB_PY_UP_CPU_STORAGE, "gridbuf.storage.classes", "CPUStorage")           \
    X(GB_PY_UP_STORAGE_BINARY, "gridbuf.storage.results", "binary")            \
    X(GB_PY_UP_STORAGE_IN_PLACE, "gridbuf.storage.results", "in_place")        \
    X(GB_PY_UP_STORAGE_REFUSE, "gridbuf.storage.results", "refuse")            \
    X(GB_PY_UP_STORAGE_FUNCTION, "gridbuf.storage.results", "array_function")  \
    X(GB_PY_UP_STORAGE_UFUNC, "gridbuf.storage.results", "array_ufunc")        \
    X(GB_PY_UP_SIGNATURE_ERROR, "gridbuf.gufunc.errors", "SignatureError")     \
    X(GB_PY_UP_ERROR_INFO, "gridbuf.gufunc.errors", "ErrorInfo")               \
    X(GB_PY_UP_GUFUNC_OPERAND, "gridbuf.gufunc.operands", "normal")            \
    X(GB_PY_UP_REDUCE_CHOOSE, "gridbuf.gufunc.choosing", "choose_reduction")   \
    X(GB_PY_UP_REDUCE_START, "gridbuf.gufunc.choosing", "initial_value")       \
    X(GB_PY_UP_GUFUNC_CONCLUDE, "gridbuf.gufunc.errors", "conclude")           \
    X(GB_PY_UP_FUSED_MODES, "gridbuf.fusing.traces", "set_modes")

/* Attributes and methods of the package's classes that C uses: X(name here, module, class, member).
 * Subclasses may override them. */
#define GB_PY_UPCALL_MEMBERS(X)                                                            \
    X(GB_PY_OF_GUFUNC_NAME, "gridbuf.gufunc.choosing", "Choosing", "name")                 \
    X(GB_PY_OF_GUFUNC_SIGNATURE, "gridbuf.gufunc.choosing", "Choosing", "signature")       \
    X(GB_PY_OF_GUFUNC_CHOOSE, "gridbuf.gufunc.choosing", "Choosing", "_choose")            \
    X(GB_PY_OF_GUFUNC_NUMBERS, "gridbuf.gufunc.choosing", "Choosing", "_numbers")          \
    X(GB_PY_OF_GUFUNC_SIZES, "gridbuf.gufunc.choosing", "Choosing", "_sizes")              \
    X(GB_PY_OF_GUFUNC_REFUSE, "gridbuf.gufunc.choosing", "Choosing", "_refuse")            \
    X(GB_PY_OF_GUFUNC_UNIFORM, "gridbuf.gufunc.choosing", "Choosing", "_uniform")          \
    X(GB_PY_OF_META_AXES, "gridbuf.storage.meta", "Meta", "axes")                          \
    X(GB_PY_OF_META_HALO, "gridbuf.storage.meta", "Meta", "halo")                          \
    X(GB_PY_OF_STORAGE_TO_HOST, "gridbuf.storage.buffers", "Buffers", "device_to_host")    \
    X(GB_PY_OF_STORAGE_WRITTEN, "gridbuf.storage.buffers", "Buffers", "set_host_modified") \
    X(GB_PY_OF_FUSED_CALL, "gridbuf.fusing.calls", "Fused", "_call")

#define GB_PY_UPCALL_NAME(name, ...) name,
typedef enum gb_py_upcall { GB_PY_UPCALLS(GB_PY_UPCALL_NAME) GB_PY_UPCALL_COUNT } gb_py_upcall;
typedef enum gb_py_upcall_member {
    GB_PY_UPCALL_MEMBERS(GB_PY_UPCALL_NAME) GB_PY_UPCALL_MEMBER_COUNT
} gb_py_upcall_member;

/* Import the function or class at its first use and keep it for good. Borrowed; NULL with an error.
 */
PyObject *gb_py_upcall_get(gb_py_upcall which);

/* Import anew at the next call: the package's modules were purged from sys.modules. */
void gb_py_upcall_forget(void);

/* Calls it; format is that of Py_BuildValue for the tuple of arguments, in parentheses. New
 * reference. */
PyObject *gb_py_upcall_to(gb_py_upcall which, const char *format, ...);

/* The attribute of an object; or the method of that name called, as by gb_py_upcall_to. New
 * reference. */
PyObject *gb_py_upcall_of(PyObject *self, gb_py_upcall_member which);
PyObject *gb_py_upcall_on(PyObject *self, gb_py_upcall_member which, const char *format, ...);
