/* copy.c: gridbuf.copyto and fill where a GPU takes part: by the driver, or by NumPy on the host.
 */
#include "../core/attribute.h"
#include "device.h"
#include "../core/memory.h"
#include "../exchange/exchange.h"
#include "../core/upcall.h"

/* ---- callbacks of cuda/, which runs without the GIL ---- */

typedef struct run {
    PyThreadState *without; /* thread state while the GIL is released */
    PyObject *progress;
} run;

#define WITH_GIL(call)                \
    run *r = self;                    \
    PyEval_RestoreThread(r->without); \
    int rc = call;                    \
    r->without = PyEval_SaveThread(); \
    return rc;
static int lay_out(void *self, const gb_copy_view *dst, const gb_copy_view *src) {
    gb_copy copy;
    WITH_GIL(gb_py_copy_finish(&copy, gb_copy_plan(&copy, dst, src), NULL))
}
static int yield(void *self) { WITH_GIL(PyErr_CheckSignals()) }
static int progress(void *self, double done) { WITH_GIL(gb_py_report_progress(r->progress, done)) }

/* ---- the three kinds of copies ---- */

static PyObject *of_module(gb_py_upcall function, PyObject *x, PyObject *y, NPY_CASTING casting,
                           PyObject *progress) {
    static const char *const names[] = {"no", "equiv", "safe", "same_kind", "unsafe"};
    return gb_py_upcall_to(function, "(OOsO)", x, y, names[casting], progress ? progress : Py_None);
}

/* Copy from a GPU with conversion or broadcast on the host: the values are copied there unchanged
 * first. */
static gb_py_async_copy *to_numpy(gb_py_field *dst, gb_py_field *src, NPY_CASTING casting,
                                  PyObject *progress) {
    gb_cuda_queue from = gb_py_queue_for(src->location.device);
    GB_PY_OWNED PyObject *here = gb_py_host_wait(dst) < 0 ? NULL : gb_py_on_host(src),
                         *done = here ? of_module(GB_PY_UP_COPYTO, (PyObject *)dst, here, casting,
                                                  progress)
                                      : NULL;
    gb_py_async_copy *copy = done ? gb_py_async_copy_new(from, from) : NULL;
    if (copy) copy->host_free = 1;
    return copy;
}

/* Convert by NumPy, on the host, what no kernel converts. */
static gb_py_field *by_numpy(gb_py_field *dst, PyObject *values, NPY_CASTING casting) {
    GB_PY_OWNED PyObject *array =
        of_module(GB_PY_UP_CONVERTED, values, (PyObject *)dst->dtype->descr, casting, NULL);
    return array ? (gb_py_field *)gb_py_wrap(gb_py_FieldType, array) : NULL;
}

static gb_cuda_side side_of(gb_py_field *f, const gb_copy_view *view, const int64_t *strides,
                            gb_cuda_queue on) {
    return (gb_cuda_side){.data = (uintptr_t)f->data,
                          .strides = strides,
                          .itemsize = view->itemsize,
                          .type = view->type,
                          .kind = f->location.kind - GB_PY_ON_DEVICE,
                          .block = gb_py_field_block(f),
                          .on = on};
}

static gb_py_async_copy *by_driver(gb_py_field *dst, gb_py_field *src, const gb_copy_view *to,
                                   const gb_copy_view *from, const int64_t *from_strides,
                                   PyObject *called) {
    gb_cuda_queue on = gb_py_queue_for((gb_py_on_gpu(dst) ? dst : src)->location.device);
    gb_cuda_queue read_on =
        gb_py_on_gpu(dst) && gb_py_on_gpu(src) ? gb_py_queue_for(src->location.device) : on;
    gb_py_async_copy *copy = gb_py_async_copy_new(on, read_on);
    if (!copy || dst->geometry.nbytes == 0) return copy;
    gb_py_async_copy_hold(copy, dst, on);
    gb_py_async_copy_hold(copy, src, read_on);
    gb_py_decref_waiting(); /* temporaries come from the pools after deferred releases */
    run r = {.progress = called};
    gb_cuda_caller caller = {lay_out, yield, called ? progress : NULL, &r};
    gb_cuda_job job = {.dst = side_of(dst, to, to->strides, on),
                       .src = side_of(src, from, from_strides, read_on),
                       .ndim = to->ndim,
                       .shape = to->shape,
                       .caller = &caller};
    gb_cuda_error e;
    r.without = PyEval_SaveThread();
    int bad = gb_cuda_copy_strided(&job, &e);
    PyEval_RestoreThread(r.without);
    if (bad && e.status != GB_CUDA_STOPPED) gb_py_cuda_raise(&e);
    gb_py_async_copy_hold_blocks(copy, &job);
    copy->host_free = job.host_free;
    if (bad) Py_CLEAR(copy);
    return copy;
}

/* ---- the choice ---- */

typedef enum path { DIRECT, SOURCE_TO_HOST, CONVERT_SOURCE, TO_NUMPY } path;

/* The kernels of transfer/ convert between host and GPU; within and between GPUs nothing converts,
 * and only a GPU repeats. */
static path path_of(int to_gpu, int from_gpu, int convertible, int same_type, int repeated) {
    if (!to_gpu) return convertible && !repeated ? DIRECT : TO_NUMPY;
    if (from_gpu) return convertible && same_type ? DIRECT : SOURCE_TO_HOST;
    return convertible ? DIRECT : CONVERT_SOURCE;
}

/* Start the copy. After an error the work that was queued has completed. */
static gb_py_async_copy *send(gb_py_field *dst, gb_py_field *src, NPY_CASTING casting,
                              PyObject *progress) {
    if (dst->readonly)
        return (gb_py_async_copy *)PyErr_Format(PyExc_ValueError, "dst: it is read-only");
    gb_py_async_copy *copy = NULL;
    for (Py_INCREF((PyObject *)src);
         src;) { /* a source that was converted or moved is looked at again */
        gb_py_memory to = gb_py_memory_of_field(dst), from = gb_py_memory_of_field(src);
        int64_t from_strides[GB_COPY_DIMS];
        int types[2], empty = dst->geometry.nbytes == 0,
                      repeated = src->geometry.size != dst->geometry.size;
        int convertible = gb_py_convertible(to.descr, from.descr, from.view.ndim, casting, types);
        to.view.type = types[0];
        from.view.type = types[1];
        if (gb_py_broadcast(&from.view, &to.view, from_strides) < 0) break;
        gb_py_field *nearer = NULL;
        switch (empty ? DIRECT
                      : path_of(gb_py_on_gpu(dst), gb_py_on_gpu(src), convertible,
                                types[0] == types[1], repeated)) {
        case DIRECT:
            copy = by_driver(dst, src, &to.view, &from.view, from_strides, progress);
            break;
        case TO_NUMPY: copy = to_numpy(dst, src, casting, progress); break;
        case SOURCE_TO_HOST: nearer = (gb_py_field *)gb_py_on_host(src); break;
        case CONVERT_SOURCE:
            nearer = by_numpy(dst, (PyObject *)src, casting);
            casting = NPY_UNSAFE_CASTING;
            break;
        }
        Py_DECREF((PyObject *)src);
        src = nearer;
    }
    Py_XDECREF((PyObject *)src);
    return copy;
}

int gb_py_is_values(PyObject *obj) {
    if (PyArray_Check(obj))
        return !gb_py_descr_trivially_copyable(PyArray_DESCR((PyArrayObject *)obj));
    if (gb_py_is_field(obj)) return 0;
    int has = gb_py_has_cuda_interface(obj);
    if (has) return has < 0 ? -1 : 0;
    has = gb_py_has_any((PyObject *)Py_TYPE(obj), &gb_py_attr.dlpack, 1);
    return has < 0 ? -1 : !has;
}

int gb_py_async_copy_begin(PyObject *dst_obj, PyObject *src_obj, NPY_CASTING casting,
                           PyObject *progress, gb_py_async_copy **copy) {
    int values = gb_py_is_values(src_obj);
    GB_PY_OWNED gb_py_field *dst = values < 0 ? NULL
                                              : (gb_py_field *)gb_py_wrap(gb_py_FieldType, dst_obj),
                            *src = dst && !values
                                       ? (gb_py_field *)gb_py_wrap(gb_py_FieldType, src_obj)
                                       : NULL;
    int rc = !dst || (!values && !src) ? -1 : gb_py_on_gpu(dst) || (src && gb_py_on_gpu(src));
    if (rc > 0) {
        if (values) src = by_numpy(dst, src_obj, casting);
        *copy = src ? send(dst, src, values ? NPY_UNSAFE_CASTING : casting, progress) : NULL;
        rc = *copy ? 1 : -1;
    }
    return rc;
}

int gb_py_device_copyto(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress) {
    gb_py_async_copy *copy = NULL;
    int rc = gb_py_async_copy_begin(dst, src, casting, progress, &copy);
    if (rc <= 0) return rc;
    rc = gb_py_async_copy_detach(copy); /* between GPUs: nothing that anybody has to wait for */
    if (rc == 0)
        rc = gb_py_async_copy_record(copy) == 0 && gb_py_async_copy_wait(copy, -1) > 0 ? 1 : -1;
    Py_DECREF((PyObject *)copy);
    if (rc > 0 && !PyErr_Occurred() && gb_py_report_progress(progress, 1.0) < 0) rc = -1;
    return rc;
}

/* ---- entry points ---- */

/* An empty host array with the Field's order of strides. */
static PyObject *array_like(gb_py_field *f) {
    const gb_geometry *g = &f->geometry;
    npy_intp back[GB_MAXDIMS], shape[GB_MAXDIMS];
    int64_t padded[GB_MAXDIMS];
    int32_t ranks[GB_MAXDIMS];
    gb_plan_read_rows(g, ranks, padded);
    for (int i = 0; i < g->ndim; i++) {
        back[i] = ranks[i];
        shape[ranks[i]] = g->shape[i];
    }
    PyArray_Dims axes = {back, g->ndim};
    Py_INCREF((PyObject *)f->dtype->descr);
    GB_PY_OWNED PyObject *packed = PyArray_Empty(g->ndim, shape, f->dtype->descr, 0);
    PyObject *array = NULL;
    if (packed) array = PyArray_Transpose((PyArrayObject *)packed, &axes);
    return array;
}

PyObject *gb_py_on_host(gb_py_field *f) {
    GB_PY_OWNED PyObject *array = array_like(f);
    PyObject *field = array ? gb_py_wrap(gb_py_FieldType, array) : NULL;
    if (field && gb_py_device_copyto(field, (PyObject *)f, NPY_NO_CASTING, NULL) <= 0)
        Py_CLEAR(field);
    return field;
}

/* value: one element in the Field's dtype. */
static int set(gb_py_field *f, const void *value) {
    gb_cuda_error e;
    gb_copy_view view = gb_py_memory_of_field(f).view;
    gb_cuda_side dst = side_of(f, &view, view.strides, gb_py_queue_for(f->location.device));
    return gb_cuda_fill_strided(&dst, view.ndim, view.shape, value, &e) < 0 ? gb_py_cuda_raise(&e)
                                                                            : 0;
}

static int fill(gb_py_field *f, PyObject *value) {
    if (f->readonly) return gb_py_fail(PyExc_ValueError, "dst: it is read-only");
    GB_PY_OWNED PyArrayObject *one = gb_py_element(f->dtype->descr, value);
    return one ? set(f, PyArray_DATA(one)) : -1;
}

int gb_py_device_assign(PyObject *dst, PyObject *value) {
    if (gb_py_is_one_value(value)) return fill((gb_py_field *)dst, value);
    return gb_py_device_copyto(dst, value, NPY_UNSAFE_CASTING, NULL) > 0 ? 0 : -1;
}

int gb_py_device_fill(PyObject *dst, PyObject *value) {
    GB_PY_OWNED gb_py_field *f = (gb_py_field *)gb_py_wrap(gb_py_FieldType, dst);
    if (!f) return -1;
    if (!gb_py_on_gpu(f)) return 0;
    return fill(f, value) == 0 ? 1 : -1;
}
