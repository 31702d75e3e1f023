/* statistics.c: gridbuf.memory: counters, limits, and who holds what. */
#include "device/device.h"
#include "core/memory.h"
#include "core/upcall.h"
#include "../alloc/pages.h"
#include "../gufunc/kernels/loops/table.h"
#include "../transfer/transfer.h"

#include <stdlib.h>

/* [(id, bytes, age in s, address, where or None, plan or None)], largest first. */
PyObject *gb_py_memory_live(PyObject *self, PyObject *number) {
    int64_t room;
    if (gb_py_int64(number, "n", "an int", &room) < 0) return NULL;
    if (room < 0 || room > 1 << 20) return PyErr_Format(PyExc_ValueError, "n: %R is not allowed; give 0 to 2**20", number);
    gb_py_decref_deferred();
    gb_heap_live *blocks = malloc((size_t)(room + 1) * sizeof *blocks);
    if (!blocks) return PyErr_NoMemory();
    int64_t n = gb_heap_live_blocks(blocks, room);
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < n; i++) {
        gb_heap_live *b = &blocks[i];
        gb_py_plan_object *plan = gb_py_plan_by_number(b->plan);
        PyObject *entry = Py_BuildValue("(KLLNzN)", (unsigned long long)b->id, (long long)b->bytes, (long long)b->age,
                                        PyLong_FromVoidPtr((void *)b->data), b->note[0] ? b->note : NULL,
                                        Py_NewRef(plan ? (PyObject *)plan : Py_None));
        if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    free(blocks);
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

/* Of cupy's arrays only Python knows what they lie in. */
static PyObject *block_of_foreign(PyObject *obj) {
    return gb_py_upcall_to(GB_PY_UP_CUPY_BLOCK, "(O)", obj);
}

PyObject *gb_py_memory_id(PyObject *self, PyObject *obj) {
    gb_py_block_object *device = gb_py_block_behind(obj);
    if (device) return PyLong_FromUnsignedLongLong(device->block->id);
    int cuda = gb_py_is_field(obj) ? 0 : gb_py_has_cuda_interface(obj);
    PyObject *owner = cuda > 0 ? block_of_foreign(obj) : NULL;
    if (cuda < 0 || (cuda && !owner)) return NULL;
    PyObject *found = owner && gb_py_is_block(owner) ? PyLong_FromUnsignedLongLong(((gb_py_block_object *)owner)->block->id) : NULL;
    Py_XDECREF(owner);
    if (found || PyErr_Occurred()) return found;
    const void *block = block_of(obj);
    if (!block) Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(gb_heap_block_id(block));
}

/* One kind of memory. What the totals hold is their sum over the kinds. */
static PyObject *kind_stats(const gb_heap_stats *s) {
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "live_bytes", (long long)s->live_bytes, "cached_bytes",
                         (long long)s->cached_bytes, "peak_bytes", (long long)s->peak_bytes, "live_buffers",
                         (long long)s->live_buffers, "allocations", (long long)s->allocations, "hits", (long long)s->hits,
                         "misses", (long long)s->misses);
}

static int put(PyObject *dict, const char *key, PyObject *value) {   /* steals value */
    int failed = !value || PyDict_SetItemString(dict, key, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

PyObject *gb_py_memory_stats(PyObject *self, PyObject *none) {
    gb_py_decref_deferred();
    gb_heap_stats s;
    gb_heap_get_stats(&s);
    int64_t by_numpy = __atomic_load_n(&gb_py_numpy_allocations, __ATOMIC_RELAXED);
    PyObject *all = kind_stats(&s);
    if (!all) return NULL;
    if (put(all, "limit", s.limit < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(s.limit)) < 0 ||
        put(all, "cache_bound", PyLong_FromLongLong(s.cache_bound)) < 0 ||
        put(all, "numpy_allocations", PyLong_FromLongLong(by_numpy)) < 0 ||
        put(all, "kinds", Py_BuildValue("{s:N}", "host", kind_stats(&s))) < 0)
        Py_CLEAR(all);
    return all;
}

PyObject *gb_py_memory_trim(PyObject *self, PyObject *none) {
    gb_py_decref_deferred();
    int64_t bytes;
    Py_BEGIN_ALLOW_THREADS
    bytes = gb_heap_trim(0);
    Py_END_ALLOW_THREADS
    return PyLong_FromLongLong(bytes);
}

PyObject *gb_py_memory_set_limit(PyObject *self, PyObject *limit) {
    if (limit == Py_None) {
        gb_heap_set_limit(-1);
        Py_RETURN_NONE;
    }
    PyObject *number = PyNumber_Index(limit);
    if (!number) {
        PyErr_Format(PyExc_TypeError, "limit: expected an int (bytes) or None, got %R", limit);
        return NULL;
    }
    int overflow;
    long long bytes = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (overflow > 0) bytes = INT64_MAX;
    if (overflow < 0 || bytes < 0) {
        PyErr_Format(PyExc_ValueError, "limit: %R bytes is not allowed; give 0 or more, or None for no limit", limit);
        return NULL;
    }
    gb_heap_set_limit(bytes);
    Py_RETURN_NONE;
}

/* What was found as the library was loaded: (page, huge page, where large mappings start, kernels of copies, kernels of gufuncs). */
PyObject *gb_py_machine(PyObject *self, PyObject *none) {
    return Py_BuildValue("(LLLss)", (long long)gb_heap_page_bytes, (long long)gb_heap_huge_bytes, (long long)gb_heap_huge_boundary,
                         gb_copy_kernels_name(), gb_gu_builtin_set());
}
