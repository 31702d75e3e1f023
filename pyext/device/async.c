/* async.c: gridbuf.copy_async, the part that hands copies to the driver; gridbuf/moving.py makes
 * handles of them. */
#include "async_copy.h"
#include "../exchange/wrap.h"

/* Whether the caller only has to hand the copy to the driver: nothing is converted, and the host's
 * side, if there is one, is pinned. */
static int is_at_once(gb_py_field *dst, gb_py_field *src) {
    gb_py_memory to = gb_py_memory_of_field(dst), from = gb_py_memory_of_field(src);
    const gb_py_field *host = gb_py_on_gpu(dst) ? src : dst;
    if (gb_py_on_gpu(dst) && gb_py_on_gpu(src)) host = NULL;
    if (host && host->location.kind != GB_PY_ON_PINNED) return 0;
    if (!PyArray_EquivTypes(to.descr, from.descr) || !gb_py_descr_trivially_copyable(to.descr))
        return 0;
    return gb_py_on_gpu(dst) || src->geometry.size == dst->geometry.size;
}

/* copy_sides(dst, src, stream, asked) -> (dst, src, at_once): Fields over both, which src is not
 * when it is values without memory. Wrapping makes the stream wait for what a producer says is
 * under way. asked: the stream was an argument; the thread's own may be of a GPU that has no part
 * in the copy, which then goes to the default stream. */
static PyObject *sides_of(PyObject *dst_obj, PyObject *src_obj, gb_cuda_stream stream, int asked) {
    int values = gb_py_is_values(src_obj), owner = -1;
    gb_cuda_error e;
    GB_PY_OWNED gb_py_field *dst =
        values < 0 ? NULL : (gb_py_field *)gb_py_wrap(gb_py_FieldType, dst_obj);
    GB_PY_OWNED PyObject *src = !dst     ? NULL
                                : values ? Py_NewRef(src_obj)
                                         : gb_py_wrap(gb_py_FieldType, src_obj);
    if (!dst || !src) return NULL;
    gb_py_field *from = values ? NULL : (gb_py_field *)src;
    if (!gb_py_on_gpu(dst) && !(from && gb_py_on_gpu(from)))
        return PyErr_SetString(PyExc_TypeError, "copy_async: neither dst nor src is memory of a "
                                                "GPU; gridbuf.copyto copies on the host"),
               NULL;
    if (asked && stream > 2 && gb_cuda_owner(stream, &owner, &e) < 0)
        return gb_py_cuda_raise(&e), NULL;
    int mine = owner < 0 || (gb_py_on_gpu(dst) && dst->location.device == owner) ||
               (from && gb_py_on_gpu(from) && from->location.device == owner);
    if (!mine)
        return PyErr_Format(PyExc_ValueError,
                            "stream: it is one of GPU %d, and the copy is the work of GPU %d",
                            owner, (int)(gb_py_on_gpu(dst) ? dst : from)->location.device);
    return Py_BuildValue("(OON)", (PyObject *)dst, src,
                         PyBool_FromLong(from && is_at_once(dst, from)));
}

PyObject *gb_py_cuda_copy_sides(PyObject *self, PyObject *args) {
    PyObject *dst, *given;
    unsigned long long stream;
    int asked;
    if (!PyArg_ParseTuple(args, "OOKp", &dst, &given, &stream, &asked)) return NULL;
    GB_PY_OWNED PyObject *src = gb_py_fitted(dst, given, "src"); /* by name */
    if (!src) return NULL;
    gb_py_thread_stream before = gb_py_use_stream(stream);
    PyObject *sides = sides_of(dst, src, stream, asked);
    gb_py_use_again(before);
    return sides;
}

/* copy_begin(dst, src, casting, stream) -> the copy */
PyObject *gb_py_cuda_copy_begin(PyObject *self, PyObject *args) {
    PyObject *dst, *src, *casting;
    unsigned long long stream;
    NPY_CASTING rule = NPY_SAME_KIND_CASTING;
    gb_py_async_copy *copy = NULL;
    if (!PyArg_ParseTuple(args, "OOOK", &dst, &src, &casting, &stream) ||
        !PyArray_CastingConverter(casting, &rule))
        return NULL;
    gb_py_thread_stream before =
        gb_py_use_stream(stream); /* also for what goes through the host, and other GPUs */
    int rc = gb_py_async_copy_begin(dst, src, rule, NULL, &copy);
    gb_py_use_again(before);
    if (rc > 0 && gb_py_async_copy_record_use(copy) == 0 && gb_py_async_copy_record(copy) == 0)
        return (PyObject *)copy;
    Py_XDECREF((PyObject *)copy);
    return NULL;
}
