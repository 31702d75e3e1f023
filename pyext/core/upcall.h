/* upcall.h: everything that C asks of the Python package, by name. The only way up. */
#ifndef GRIDBUF_UPCALL_H
#define GRIDBUF_UPCALL_H

#include "common.h"

#define GB_UPCALLS(X)                                                 \
    X(UP_CHECK_MASK, "gridbuf.wrapping", "check_mask")                \
    X(UP_FROM_ARRAY_METHOD, "gridbuf.wrapping", "from_array_method")  \
    X(UP_DESCRIBED, "gridbuf.wrapping", "described")                  \
    X(UP_CARRIED, "gridbuf.wrapping", "carried")                      \
    X(UP_EXTENDED_DTYPE, "gridbuf.wrapping", "extended_dtype")        \
    X(UP_CUPY_MEMORY, "gridbuf.wrapping", "cupy_memory")              \
    X(UP_CUPY_BLOCK, "gridbuf.wrapping", "cupy_block")                \
    X(UP_CUPY_STREAM, "gridbuf.cupy_arrays", "stream_of")             \
    X(UP_CUPY_ARRAY, "gridbuf.cupy_arrays", "array_over")             \
    X(UP_COPYTO, "gridbuf.numpy_copies", "_copyto_any")               \
    X(UP_FILL, "gridbuf.numpy_copies", "_fill_any")                   \
    X(UP_CONVERTED, "gridbuf.numpy_copies", "_converted")             \
    X(UP_CHECK_REQUIRE, "gridbuf.requirements", "check")              \
    X(UP_FIELD, "gridbuf.field", "Field")                             \
    X(UP_SUGGESTION, "gridbuf.suggesting", "suggestion")              \
    X(UP_PLACED_TYPE, "gridbuf.field", "placed")                      \
    X(UP_COPY_OF_FIELD, "gridbuf.field", "copy")                      \
    X(UP_NAMED, "gridbuf.fields.operands", "named")                   \
    X(UP_KEY, "gridbuf.fields.operands", "key")                       \
    X(UP_FIELD_UFUNC, "gridbuf.fields.ufuncs", "call")                \
    X(UP_FIELD_FUNCTION, "gridbuf.fields.functions", "call")          \
    X(UP_FIELD_BINARY, "gridbuf.fields.operators", "binary")          \
    X(UP_FIELD_IN_PLACE, "gridbuf.fields.operators", "in_place")      \
    X(UP_STORAGE_META, "gridbuf.storage.indexing", "meta_of_view")    \
    X(UP_STORAGE_GETITEM, "gridbuf.storage.indexing", "getitem")      \
    X(UP_STORAGE_SETITEM, "gridbuf.storage.indexing", "setitem")      \
    X(UP_SIGNATURE_ERROR, "gridbuf.gufunc.errors", "SignatureError")  \
    X(UP_ERROR_INFO, "gridbuf.gufunc.errors", "ErrorInfo")            \
    X(UP_GUFUNC_OPERAND, "gridbuf.gufunc.operands", "normal")         \
    X(UP_REDUCE_OPERAND, "gridbuf.gufunc.reduction", "operand")       \
    X(UP_REDUCE_CHOOSE, "gridbuf.gufunc.reduction", "choose")         \
    X(UP_REDUCE_START, "gridbuf.gufunc.reduction", "start")           \
    X(UP_REDUCE_CONCLUDE, "gridbuf.gufunc.reduction", "conclude")

#define GB_UPCALL_NAME(name, module, function) name,
typedef enum gb_upcall { GB_UPCALLS(GB_UPCALL_NAME) GB_UPCALL_COUNT } gb_upcall;

/* The function or class, imported when it is first asked for and kept for good, so that it need not be counted; NULL with an
 * error. */
PyObject *gb_upcall_get(gb_upcall which);

/* Calls it; format is that of Py_BuildValue for the tuple of arguments, in parentheses. New reference. */
PyObject *gb_upcall_to(gb_upcall which, const char *format, ...);

#endif
