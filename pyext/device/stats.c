/* stats.c: counters and limits of the driver's pools. */
#include "device.h"
#include "../core/memory.h"

#include <stdlib.h>

static PyObject *stats(PyObject *self, PyObject *args) {
    int kind, device;
    gb_cuda_stats s;
    if (!PyArg_ParseTuple(args, "ii", &kind, &device)) return NULL;
    gb_py_decref_deferred();
    gb_cuda_get_stats(kind, device, &s);
    PyObject *limit = s.limit < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(s.limit);
    return Py_BuildValue("{s:L,s:L,s:L,s:L,s:L,s:L,s:L,s:N,s:L}", "live_bytes", (long long)s.live_bytes, "cached_bytes",
                         (long long)s.cached_bytes, "peak_bytes", (long long)s.peak_bytes, "live_buffers", (long long)s.live_buffers,
                         "allocations", (long long)s.allocations, "hits", (long long)s.hits, "misses", (long long)s.misses, "limit", limit,
                         "cache_bound", (long long)s.cache_bound);
}

static PyObject *set_limit(PyObject *self, PyObject *args) {
    int kind, device;
    long long bytes;
    if (!PyArg_ParseTuple(args, "iiL", &kind, &device, &bytes)) return NULL;
    gb_cuda_set_limit(kind, device, bytes);
    Py_RETURN_NONE;
}

static PyObject *set_cache_bound(PyObject *self, PyObject *args) {
    int kind, device;
    long long bytes;
    if (!PyArg_ParseTuple(args, "iiL", &kind, &device, &bytes)) return NULL;
    gb_cuda_set_cache_bound(kind, device, bytes);
    Py_RETURN_NONE;
}

static PyObject *trim(PyObject *self, PyObject *args) {
    int kind, device;
    int64_t bytes;
    if (!PyArg_ParseTuple(args, "ii", &kind, &device)) return NULL;
    gb_py_decref_deferred();
    Py_BEGIN_ALLOW_THREADS
    bytes = gb_cuda_trim(kind, device, 0);
    Py_END_ALLOW_THREADS
    return PyLong_FromLongLong(bytes);
}

/* [(id, bytes, age in s, address, None, plan or None, kind, device)], largest first. */
static PyObject *live(PyObject *self, PyObject *number) {
    int64_t room;
    if (gb_py_int64(number, "n", "an int", &room) < 0) return NULL;
    if (room < 0 || room > 1 << 20) return PyErr_Format(PyExc_ValueError, "n: %R is not allowed; give 0 to 2**20", number);
    gb_py_decref_deferred();
    gb_cuda_live *blocks = malloc((size_t)(room + 1) * sizeof *blocks);
    if (!blocks) return PyErr_NoMemory();
    int64_t n = gb_cuda_live_blocks(blocks, room);
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < n; i++) {
        gb_cuda_live *b = &blocks[i];
        gb_py_plan_object *plan = gb_py_plan_by_number(b->plan);
        PyObject *entry = Py_BuildValue("(KLLKzNii)", (unsigned long long)b->block.id, (long long)b->block.bytes, (long long)b->age,
                                        (unsigned long long)b->block.data, NULL, Py_NewRef(plan ? (PyObject *)plan : Py_None),
                                        (int)b->block.kind, (int)b->block.device);
        if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    free(blocks);
    return list;
}

static PyMethodDef functions[] = {
    {"cuda_stats", stats, METH_VARARGS, NULL},
    {"cuda_set_limit", set_limit, METH_VARARGS, NULL},
    {"cuda_set_cache_bound", set_cache_bound, METH_VARARGS, NULL},
    {"cuda_trim", trim, METH_VARARGS, NULL},
    {"cuda_live", live, METH_O, NULL},
    {NULL},
};

int gb_py_device_stats_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
