/* handler.c: NumPy's memory handler (NEP 49) over the heap.
 *
 * An array from gridbuf owns its data, as one from np.empty does: its memory
 * handler is ours, and its free finds the block below the data. So there is no base
 * object to make, and no consumer takes the array for a view. Installed in NumPy's
 * context (gridbuf.interop.numpy), the same handler serves every np.empty: each
 * array keeps the handler it was made with, so that it may outlive the context.
 *
 * NumPy calls it in the middle of making an array: nothing here enters Go, runs
 * Python code or sets an exception; NumPy raises MemoryError for a NULL.
 */
#include "memory.h"
#include "trace.h"

#define CAPSULE "mem_handler"

PyObject *gb_py_handler;
int64_t gb_py_numpy_blocks;

static void *take_bytes(size_t bytes, int *fresh) {
    if (bytes > GB_LARGEST) return NULL;
    gb_heap_layout want = {.span = (int64_t)bytes, .boundary = GB_HEAP_BLOCK_ALIGN};
    want.reserve = gb_heap_reserve(want.span, want.boundary);
    void *data;
    int taken;
    while ((taken = gb_heap_take(&want, &data, fresh)) == GB_HEAP_NEED_SLAB)
        if (gb_heap_refill(want.reserve) < 0) return NULL;
    if (taken != GB_HEAP_TAKEN) return NULL;
    __atomic_add_fetch(&gb_py_numpy_blocks, 1, __ATOMIC_RELAXED);
    if (__builtin_expect(gb_py_tracing, 0)) gb_py_trace(data, (int64_t)bytes, 0);
    return data;
}

static void *handler_malloc(void *ctx, size_t bytes) {
    int fresh;
    return take_bytes(bytes, &fresh);
}

static void *handler_calloc(void *ctx, size_t n, size_t size) {
    size_t bytes;
    int fresh;
    if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
    void *data = take_bytes(bytes, &fresh);
    if (data && !fresh && gb_heap_zero(data, (int64_t)bytes) < 0) memset(data, 0, bytes);
    return data;
}

static void handler_free(void *ctx, void *data, size_t bytes) {
    if (data) gb_heap_release(data);
}

static void *handler_realloc(void *ctx, void *data, size_t bytes) {
    if (!data) return handler_malloc(ctx, bytes);
    if (bytes <= GB_LARGEST && gb_heap_usable(data, (int64_t)bytes)) return data;
    void *moved = handler_malloc(ctx, bytes);
    if (!moved) return NULL;
    size_t had = (size_t)gb_heap_block_bytes(data);
    memcpy(moved, data, had < bytes ? had : bytes);
    gb_heap_release(data);
    return moved;
}

static PyDataMem_Handler handler = {
    "gridbuf", 1, {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free}};

int gb_py_handler_init(PyObject *module) {
    gb_py_handler =
        PyCapsule_New(&handler, PyCapsule_GetName(PyDataMem_DefaultHandler),
                      NULL); /* NumPy's own text: compared for each block, soonest with itself */
    return gb_py_handler ? 0 : -1;
}

/* (the handler of this context, whether it is ours) */
PyObject *gb_py_numpy_handler(PyObject *self, PyObject *none) {
    PyObject *current = PyDataMem_GetHandler();
    return current ? Py_BuildValue("(NO)", current, current == gb_py_handler ? Py_True : Py_False)
                   : NULL;
}

/* Install a handler in this context, None for ours; returns the one that was there. */
PyObject *gb_py_set_numpy_handler(PyObject *self, PyObject *wanted) {
    if (wanted == Py_None) wanted = gb_py_handler;
    if (!PyCapsule_IsValid(wanted, CAPSULE))
        return PyErr_Format(PyExc_TypeError,
                            "handler: expected a NumPy memory handler or None, got %R", wanted);
    return PyDataMem_SetHandler(wanted);
}

/* (thread, run, handler[, the thread's own attribute run, which is put back]): run with NumPy's
 * handler, which is in a context that a thread does not have; no frame of ours stands in its
 * tracebacks, and what it held goes when it ends. */
PyObject *gb_py_run_with_handler(PyObject *self, PyObject *args) {
    PyObject *thread, *run, *wanted, *own = NULL;
    if (!PyArg_ParseTuple(args, "OOO|O:run_with_handler", &thread, &run, &wanted, &own))
        return NULL;
    if (PyObject_SetAttrString(thread, "run", own) < 0) PyErr_Clear(); /* NULL deletes */
    GB_PY_OWNED PyObject *current = PyDataMem_GetHandler();
    GB_PY_OWNED PyObject *before =
        current && current != gb_py_handler ? PyDataMem_SetHandler(wanted) : Py_NewRef(Py_None);
    return current && before ? PyObject_CallNoArgs(run) : NULL;
}
