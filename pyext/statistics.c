/* statistics.c: gridbuf.memory: counters, limits, and live buffers. */
#include "device/device.h"
#include "core/memory.h"
#include "exchange/exchange.h"
#include "core/upcall.h"
#include "../alloc/system.h"
#include "../cuda/strided.h"
#include "../gufunc/kernels/internal/loops/table.h"
#include "../transfer/transfer.h"

/* The pools by (kind, device): the heap is GB_CUDA_HOST, and the driver has the others. */
static int read_pool(PyObject *args, int *kind, int *device) {
    gb_py_decref_waiting();
    return PyArg_ParseTuple(args, "ii", kind, device);
}

PyObject *gb_py_memory_stats(PyObject *self, PyObject *args) {
    int kind, device;
    gb_heap_stats s;
    if (!read_pool(args, &kind, &device)) return NULL;
    if (kind == GB_CUDA_HOST) gb_heap_get_stats(&s);
    else gb_cuda_get_stats(kind, device, &s);
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:N,s:L}", "live_bytes",
                         (long long)s.live_bytes, "cached_bytes", (long long)s.cached_bytes,
                         "peak_bytes", (long long)s.peak_bytes, "live_buffers",
                         (long long)s.live_buffers, "allocations", (long long)s.allocations, "hits",
                         (long long)s.hits, "misses", (long long)s.misses, "limit",
                         s.limit < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(s.limit),
                         "cache_bound", (long long)s.cache_bound);
}

PyObject *gb_py_numpy_allocations(PyObject *self, PyObject *none) {
    return PyLong_FromLongLong(__atomic_load_n(&gb_py_numpy_blocks, __ATOMIC_RELAXED));
}

PyObject *gb_py_memory_trim(PyObject *self, PyObject *args) {
    int kind, device;
    int64_t bytes;
    if (!read_pool(args, &kind, &device)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    bytes = kind == GB_CUDA_HOST ? gb_heap_trim(0) : gb_cuda_trim(kind, device, 0);
    Py_END_ALLOW_THREADS
    return PyLong_FromLongLong(bytes);
}

PyObject *gb_py_memory_set_limit(PyObject *self, PyObject *args) {
    int kind, device;
    long long bytes;
    if (!PyArg_ParseTuple(args, "iiL", &kind, &device, &bytes)) return NULL;
    if (kind == GB_CUDA_HOST) gb_heap_set_limit(bytes);
    else gb_cuda_set_limit(kind, device, bytes);
    Py_RETURN_NONE;
}

static int add(PyObject *list, uint64_t id, int64_t bytes, int64_t age, uint64_t data,
               const char *note, uint64_t number, int kind, int device) {
    gb_py_plan_object *plan = gb_py_plan_by_number(number);
    GB_PY_OWNED PyObject *entry = Py_BuildValue(
        "(KLLKzNii)", (unsigned long long)id, (long long)bytes, (long long)age,
        (unsigned long long)data, note, plan ? (PyObject *)plan : Py_NewRef(Py_None), kind, device);
    return entry ? PyList_Append(list, entry) : -1;
}

/* [(id, bytes, age in s, address, where or None, plan or None, kind, device)], the largest of the
 * heap, then of the driver. */
PyObject *gb_py_memory_live(PyObject *self, PyObject *number) {
    int64_t room, n;
    if (gb_py_int64(number, "n", "an int", &room) < 0) return NULL;
    if (room < 0 || room > 1 << 20)
        return PyErr_Format(PyExc_ValueError, "n: %R is not allowed; give 0 to 2**20", number);
    gb_py_decref_waiting();
    gb_heap_live *blocks = malloc((size_t)(room + 1) * sizeof *blocks);
    gb_cuda_live *others = malloc((size_t)(room + 1) * sizeof *others);
    PyObject *list = blocks && others ? PyList_New(0) : PyErr_NoMemory();
    n = list ? gb_heap_live_blocks(blocks, room) : 0;
    for (gb_heap_live *b = blocks; list && b < blocks + n; b++)
        if (add(list, b->id, b->bytes, b->age, (uintptr_t)b->data, b->note[0] ? b->note : NULL,
                b->plan, GB_CUDA_HOST, 0) < 0)
            Py_CLEAR(list);
    n = list && gb_cuda_started() ? gb_cuda_live_blocks(others, room) : 0;
    for (gb_cuda_live *b = others; list && b < others + n; b++)
        if (add(list, b->block.id, b->block.bytes, b->age, b->block.data, NULL, b->plan,
                b->block.kind, b->block.device) < 0)
            Py_CLEAR(list);
    free(blocks);
    free(others);
    return list;
}

/* The block an object's memory lies in: of a Field, an array of ours, or a view of one. */
static const void *block_of(PyObject *obj) {
    while (obj) {
        if (gb_py_is_field(obj)) {
            gb_py_field *f = (gb_py_field *)obj;
            if (f->block) return f->block;
            obj = f->owner;
        } else if (PyArray_Check(obj)) {
            PyArrayObject_fields *a = (PyArrayObject_fields *)obj;
            if (a->mem_handler == gb_py_handler && (a->flags & NPY_ARRAY_OWNDATA)) return a->data;
            obj = a->base;
        } else {
            return NULL;
        }
    }
    return NULL;
}

PyObject *gb_py_memory_id(PyObject *self, PyObject *obj) {
    gb_py_block_object *device = gb_py_block_behind(obj);
    if (device) return PyLong_FromUnsignedLongLong(device->block->id);
    int cuda = gb_py_is_field(obj) ? 0 : gb_py_has_cuda_interface(obj);
    GB_PY_OWNED PyObject *owner = cuda > 0 ? gb_py_upcall_to(GB_PY_UP_CUPY_BLOCK, "(O)", obj)
                                           : NULL; /* cupy's arrays are known to Python alone */
    if (cuda < 0 || (cuda && !owner)) return NULL;
    PyObject *found = owner && gb_py_is_block(owner)
                          ? PyLong_FromUnsignedLongLong(((gb_py_block_object *)owner)->block->id)
                          : NULL;
    if (found || PyErr_Occurred()) return found;
    const void *block = block_of(obj);
    if (!block) Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(gb_heap_block_id(block));
}

/* machine(): (page, huge page, least address distance of large mappings, kernels of copies, kernels
 * of gufuncs), as found when the library was loaded. */
PyObject *gb_py_machine(PyObject *self, PyObject *none) {
    return Py_BuildValue("(LLLss)", (long long)gb_heap_page_bytes, (long long)gb_heap_huge_bytes,
                         (long long)gb_heap_huge_boundary, gb_copy_kernels_name(),
                         gb_gu_builtin_set());
}
