/* memory.c: blocks of the heap for Python: their traces, NumPy's memory handler (NEP 49), and
 * arrays over them. */
#include "memory.h"
#include "plan.h"
#include "references.h"
#include "work.h"

#include <errno.h>

int gb_py_tracing;
void (*gb_py_on_block)(void *data, int64_t bytes);

static int raise_again(void *exception) {
    PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)exception), exception);
    Py_DECREF((PyObject *)exception);
    return -1;
}

/* Raise an exception of a signal handler, which ran while a plan was printed, again when Python
 * next looks for signals. */
static void hand_on(void) {
    PyObject *type, *value, *traceback;
    if (!PyErr_Occurred()) return;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    int ours = PyErr_GivenExceptionMatches(value, PyExc_MemoryError) ||
               PyErr_GivenExceptionMatches(value, PyExc_RecursionError);
    if (ours || Py_AddPendingCall(raise_again, value) < 0) Py_XDECREF(value);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
}

/* Note the line of Python on the block, and with GRIDBUF_DEBUG=1 the plan on a second line. */
static void trace_block(void *data, int64_t bytes, uint64_t plan_number) {
    if (gb_py_tracing & GB_PY_TRACE_BLOCKS) gb_py_on_block(data, bytes);
    if (!(gb_py_tracing & GB_PY_TRACE_LINES)) return;
    GB_PY_SAVED_ERROR; /* a failed trace neither fails the allocation nor drops a pending error */
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    GB_PY_OWNED PyObject *code = frame ? (PyObject *)PyFrame_GetCode(frame) : NULL;
    GB_PY_OWNED PyObject *name = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
    GB_PY_HELD PyObject *plan = NULL;
    if (gb_debugging && plan_number) plan = (PyObject *)gb_py_plan_by_number(plan_number);
    GB_PY_OWNED PyObject *what = plan ? PyObject_Repr(plan) : NULL;
    GB_PY_OWNED PyObject *text = name ? PyUnicode_FromFormat(what ? "%U:%d\n%U" : "%U:%d", name,
                                                             PyFrame_GetLineNumber(frame), what)
                                      : NULL;
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (utf8) gb_heap_set_note(data, strdup(utf8));
    hand_on();
}

int gb_py_trace_init(PyObject *module) {
    if (gb_debugging || gb_setting_is("GRIDBUF_TRACE", "1")) gb_py_tracing = GB_PY_TRACE_LINES;
    return 0;
}

/* ---- blocks ---- */

static int over_limit(int64_t bytes) {
    gb_heap_stats s;
    gb_heap_trim(0); /* a program at its limit wants its memory back where it can be had */
    gb_heap_get_stats(&s);
    return gb_py_fail(PyExc_MemoryError,
                      "cannot allocate %lld bytes: %lld bytes are live in %lld buffers and the "
                      "limit is %lld "
                      "(gridbuf.memory.set_limit)",
                      (long long)bytes, (long long)s.live_bytes, (long long)s.live_buffers,
                      (long long)s.limit);
}

/* Slow path: the heap has no block of this size. */
static int refill(int64_t reserve) {
    if (gb_heap_refill(reserve) == 0) return 0;
    const char *why = strerror(errno);
    gb_heap_stats s;
    gb_heap_get_stats(&s);
    return gb_py_fail(PyExc_MemoryError,
                      "cannot allocate %lld bytes: the system has none left (%s); %lld bytes are "
                      "live in %lld buffers, %lld are cached",
                      (long long)reserve, why, (long long)s.live_bytes, (long long)s.live_buffers,
                      (long long)s.cached_bytes);
}

int gb_py_allocate(const gb_heap_layout *want, void **data, int *fresh) {
    gb_py_decref_waiting();
    for (;;) {
        switch (gb_heap_take(want, data, fresh)) {
        case GB_HEAP_TAKEN:
            if (__builtin_expect(gb_py_tracing, 0)) trace_block(*data, want->span, want->plan);
            return 0;
        case GB_HEAP_OVER_LIMIT: return over_limit(want->reserve);
        }
        if (refill(want->reserve) < 0) return -1;
    }
}

/* ---- NumPy's memory handler (NEP 49) ----
 *
 * An array from gridbuf owns its data, as one from np.empty does: its memory handler is gridbuf's,
 * whose free finds the block below the data. So no base object is needed, and no consumer takes the
 * array for a view. Installed in NumPy's context (gridbuf.interop.numpy), the handler serves every
 * np.empty; each array keeps the handler that it was made with, so it may outlive the context.
 *
 * NumPy calls it while it makes an array: no Go, no Python code, no exception; NumPy raises
 * MemoryError for a NULL. */

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
    if (__builtin_expect(gb_py_tracing, 0)) trace_block(data, (int64_t)bytes, 0);
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

/* run_with_handler(thread, run, handler[, the thread's own attribute run, which is restored]): call
 * run with NumPy's handler, which is kept in a context that a new thread does not have. No frame of
 * gridbuf is in its tracebacks, and its references go when it ends. */
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

/* ---- arrays ---- */

/* A plan that was read back reserves what its elements take, and no room for a block's header. */
static int allocate_read_back(const gb_plan *plan, void **data, int *fresh) {
    gb_heap_layout want = plan->want;
    want.reserve = gb_heap_reserve(want.span, want.boundary);
    return gb_py_allocate(&want, data, fresh);
}

int gb_py_plan_allocate(const gb_plan *plan, int zero, void **data) {
    int fresh;
    int read_back = plan->want.reserve <= plan->want.span;
    if (__builtin_expect(read_back, 0) ? allocate_read_back(plan, data, &fresh) < 0
                                       : gb_py_allocate(&plan->want, data, &fresh) < 0)
        return -1;
    int64_t span = plan->want.span;
    if (!zero || fresh || gb_heap_zero(*data, span) == 0 || gb_py_fill_zero(*data, span) == 0)
        return 0;
    gb_heap_release(*data); /* Ctrl-C */
    return -1;
}

PyObject *gb_py_array_view(PyArray_Descr *descr, int ndim, const npy_intp *shape,
                           const npy_intp *strides, void *data, int flags, PyObject *base) {
    Py_INCREF((PyObject *)descr);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, ndim, (npy_intp *)shape,
                                           (npy_intp *)strides, data, flags, NULL);
    if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0)
        Py_CLEAR(array);
    return array;
}

PyObject *gb_py_array_over(const gb_geometry *g, gb_py_dtype *dtype, void *data, int writable,
                           PyObject *base) {
    Py_INCREF((PyObject *)dtype->descr);
    int flags = writable ? NPY_ARRAY_WRITEABLE : 0;
    npy_intp *strides = (npy_intp *)g->strides;
    if (g->flags & (GB_GEOMETRY_C_PACKED | GB_GEOMETRY_F_PACKED) &&
        ((uintptr_t)data & (dtype->alignment - 1)) == 0) {
        /* NumPy fills in these strides by itself, and then need not look for contiguity. */
        strides = NULL;
        flags |= NPY_ARRAY_ALIGNED | (g->flags & GB_GEOMETRY_C_PACKED ? NPY_ARRAY_C_CONTIGUOUS
                                                                      : NPY_ARRAY_F_CONTIGUOUS);
    }
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype->descr, g->ndim,
                                           (npy_intp *)g->shape, strides, data, flags, NULL);
    if (base) {
        if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0)
            Py_CLEAR(array);
    } else if (array) {
        ((PyArrayObject_fields *)array)->mem_handler = Py_NewRef(gb_py_handler);
        PyArray_ENABLEFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA);
    } else {
        gb_heap_release(data);
    }
    return array;
}
