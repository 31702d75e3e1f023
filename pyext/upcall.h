/* upcall.h: everything that C asks of the Python package, by name. The only way up. */
#ifndef GRIDBUF_UPCALL_H
#define GRIDBUF_UPCALL_H

#include "common.h"

#define GB_UPCALLS(X)                                                 \
    X(UP_CHECK_MASK, "gridbuf._wrap", "check_mask")                   \
    X(UP_FROM_ARRAY_METHOD, "gridbuf._wrap", "from_array_method")     \
    X(UP_DESCRIBED, "gridbuf._wrap", "described")                     \
    X(UP_CARRIED, "gridbuf._wrap", "carried")                         \
    X(UP_EXTENDED_DTYPE, "gridbuf._wrap", "extended_dtype")           \
    X(UP_DESCRIBE_CUDA, "gridbuf._cuda_array", "describe")            \
    X(UP_BLOCK_OF_CUDA, "gridbuf._cuda_array", "block_of")            \
    X(UP_CUPY_STREAM, "gridbuf._cupy", "stream_of")                   \
    X(UP_CUPY_ARRAY, "gridbuf._cupy", "array_over")                   \
    X(UP_COPYTO, "gridbuf.transfer", "_copyto_any")                   \
    X(UP_FILL, "gridbuf.transfer", "_fill_any")                       \
    X(UP_CONVERTED, "gridbuf.transfer", "_converted")                 \
    X(UP_CHECK_REQUIRE, "gridbuf.requirements", "check")              \
    X(UP_PLACED_TYPE, "gridbuf.field", "placed")                      \
    X(UP_COPY_OF_FIELD, "gridbuf.field", "copy")                      \
    X(UP_NAMED, "gridbuf._fields.operands", "named")                  \
    X(UP_KEY, "gridbuf._fields.operands", "key")                      \
    X(UP_FIELD_UFUNC, "gridbuf._fields.ufuncs", "call")               \
    X(UP_FIELD_FUNCTION, "gridbuf._fields.functions", "call")         \
    X(UP_FIELD_BINARY, "gridbuf._fields.operators", "binary")         \
    X(UP_FIELD_IN_PLACE, "gridbuf._fields.operators", "in_place")     \
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
