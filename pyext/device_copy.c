/* device_copy.c: gridbuf.copyto where a GPU takes part: which way the values go. */
#include "attribute.h"
#include "device_transit.h"
#include "memory.h"
#include "wrap.h"

#include <stdlib.h>

typedef struct sides {
    gb_field *dst, *src;
    gb_memory to, from;
    int64_t from_strides[GB_COPY_DIMS];   /* src's, with dst's shape */
    PyObject *progress;
} sides;

/* What comes on the queue waits for our own work on the side that is under way elsewhere. */
static int settle(gb_field *f, gb_cuda_queue on) {
    gb_cuda_error e;
    gb_cuda_block *block = gb_field_block(f);
    return block && gb_cuda_settle(block, on, &e) < 0 ? gb_cuda_raise(&e) : 0;
}

/* ---- within and between GPUs ---- */

static int overlapping(const sides *s, const gb_pair *p, int64_t item) {
    int64_t low = (int64_t)(uintptr_t)s->dst->data + p->a_at, high = low + item, low2 = (int64_t)(uintptr_t)s->src->data + p->b_at, high2 = low2 + item;
    for (int i = 0; i < p->ndim; i++) {
        high += (p->axis[i].n - 1) * p->axis[i].a;
        *(p->axis[i].b < 0 ? &low2 : &high2) += (p->axis[i].n - 1) * p->axis[i].b;
    }
    return low < high2 && low2 < high;
}

/* A dense temporary in p's order, at *data. The transit holds it. */
static int temporary(gb_transit *t, const gb_pair *p, int64_t item, gb_cuda_queue on, uint64_t *data) {
    if (gb_transit_hold(t, gb_block_new(GB_CUDA_DEVICE, p->size * item, on), on) < 0) return -1;
    *data = ((gb_block_object *)t->held[t->n_held - 1].object)->block->data;
    return 0;
}

/* p with a dense other side. */
static gb_pair with_dense(const gb_pair *p, int64_t item, int keep_a) {
    gb_pair q = *p;
    int64_t dense[GB_MAXDIMS + 1];
    gb_pair_pack(p, item, dense);
    q.a_at = keep_a ? p->a_at : 0;
    q.b_at = keep_a ? 0 : p->b_at;
    for (int i = 0; i < p->ndim; i++) *(keep_a ? &q.axis[i].b : &q.axis[i].a) = dense[i];
    return q;
}

/* Of a pair with one dense side: whether the other one is as dense. */
static int is_dense(const gb_pair *q) {
    for (int i = 0; i < q->ndim; i++)
        if (q->axis[i].a != q->axis[i].b) return 0;
    return 1;
}

static int repeats(const gb_pair *p) {
    for (int i = 0; i < p->ndim; i++)
        if (p->axis[i].b == 0) return 1;
    return 0;
}

static int within(gb_transit *t, const sides *s) {
    gb_pair p;
    int64_t item = s->to.view.itemsize;
    uint64_t dst = (uintptr_t)s->dst->data, src = (uintptr_t)s->src->data, middle;
    gb_pair_make(&p, s->to.view.ndim, s->to.view.shape, s->to.view.strides, s->from_strides);
    if (p.size == 0) return 0;
    if (!overlapping(s, &p, item)) {
        if (!repeats(&p) && gb_pair_calls(&p, item) <= 2) return gb_pair_move(&p, GB_CUDA_WITHIN, dst, src, item, t->on);
        return gb_pair_relayout(&p, dst, src, item, t->on);
    }
    gb_pair into = with_dense(&p, item, 0), out = with_dense(&p, item, 1);
    if (temporary(t, &p, item, t->on, &middle) < 0 || gb_pair_relayout(&into, middle, src, item, t->on) < 0) return -1;
    return gb_pair_relayout(&out, dst, middle, item, t->on);
}

/* From one GPU to another: packed on the first, moved and laid out on the second. The second waits for the packing, and
 * in the end the first for the second: whatever comes on either stream later, also another use of the temporaries, comes
 * after the copy. */
static int across(gb_transit *t, const sides *s) {
    gb_pair p;
    gb_cuda_error e;
    int64_t item = s->to.view.itemsize;
    uint64_t dst = (uintptr_t)s->dst->data, src = (uintptr_t)s->src->data, packed, arrived;
    gb_pair_make(&p, s->to.view.ndim, s->to.view.shape, s->to.view.strides, s->from_strides);
    if (p.size == 0) return 0;
    gb_pair into = with_dense(&p, item, 0), out = with_dense(&p, item, 1);
    int as_is = s->src->place.kind == GB_ON_DEVICE && is_dense(&into), in_place = s->dst->place.kind == GB_ON_DEVICE && is_dense(&out);
    packed = src + (uint64_t)p.b_at;
    arrived = dst + (uint64_t)p.a_at;
    if (!as_is && (temporary(t, &p, item, t->from, &packed) < 0 || gb_pair_relayout(&into, packed, src, item, t->from) < 0)) return -1;
    if ((!in_place && temporary(t, &p, item, t->on, &arrived) < 0) || gb_order_after(t->on, t->from) < 0) return -1;
    if (GB_CUDA_UNLOCKED(&e, gb_cuda_copy_peer(arrived, packed, t->from.device, p.size * item, t->on, &e)) < 0) return -1;
    if (!in_place && gb_pair_relayout(&out, dst, arrived, item, t->on) < 0) return -1;
    return gb_order_after(t->from, t->on);
}

/* ---- between host and GPU ---- */

/* Where many moves would be needed, the bytes travel in the host's own order, and the kernel does the rest. */
static int by_kernel(gb_transit *t, gb_leg *l, const sides *s, const int64_t *near_strides, const int64_t *far_strides) {
    gb_pair h, bus, kernel;
    int64_t shape[GB_MAXDIMS + 1], near[GB_MAXDIMS + 1], far[GB_MAXDIMS + 1], dense[GB_MAXDIMS + 1], item = l->device_item;
    uint64_t gpu = l->device_data, middle;
    gb_pair_make(&h, s->to.view.ndim, s->to.view.shape, near_strides, far_strides);
    gb_pair_pack(&h, item, dense);
    for (int i = 0; i < h.ndim; i++) {
        shape[i] = h.axis[i].n;
        near[i] = h.axis[i].a;
        far[i] = h.axis[i].b;
    }
    if (temporary(t, &h, item, t->on, &middle) < 0) return -1;
    gb_pair_make(&bus, h.ndim, shape, dense, near);
    bus.b_at += h.a_at;
    l->pair = &bus;
    l->device_data = middle;
    if (l->direction == GB_CUDA_DOWNLOAD) {
        gb_pair_make(&kernel, h.ndim, shape, dense, far);
        kernel.b_at += h.b_at;
        return gb_pair_relayout(&kernel, middle, gpu, item, t->on) < 0 ? -1 : gb_leg_run(t, l);
    }
    gb_pair_make(&kernel, h.ndim, shape, far, dense);
    kernel.a_at += h.b_at;
    return gb_leg_run(t, l) < 0 ? -1 : gb_pair_relayout(&kernel, gpu, middle, item, t->on);
}

static int between(gb_transit *t, const sides *s) {
    int up = gb_on_gpu(s->dst);
    const gb_view *far = up ? &s->to.view : &s->from.view, *near = up ? &s->from.view : &s->to.view;
    const int64_t *far_strides = up ? s->to.view.strides : s->from_strides, *near_strides = up ? s->from_strides : s->to.view.strides;
    gb_field *gpu = up ? s->dst : s->src, *host = up ? s->src : s->dst;
    gb_pair p;
    gb_leg l = {.direction = up ? GB_CUDA_UPLOAD : GB_CUDA_DOWNLOAD, .pair = &p, .device_data = (uintptr_t)gpu->data, .host_data = near->data,
                .device_item = far->itemsize, .host_item = near->itemsize, .device_type = far->type, .host_type = near->type,
                .pinned = host->place.kind == GB_ON_PINNED, .progress = s->progress};
    gb_pair_make(&p, s->to.view.ndim, s->to.view.shape, far_strides, near_strides);
    int converts = far->type != near->type || far->itemsize != near->itemsize, staged = converts || !l.pinned;
    if (staged && gb_host_settle(host) < 0) return -1;
    if (p.size == 0 || converts || gb_pair_calls(&p, l.device_item) <= GB_DIRECT_CALLS) return gb_leg_run(t, &l);
    gb_cuda_error e;
    if (gb_cuda_kernels(t->on.device, &e) < 0 && e.status == GB_CUDA_NO_KERNELS) return gb_leg_run(t, &l);
    if (by_kernel(t, &l, s, near_strides, far_strides) == 0) return 0;
    if (!PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
    PyErr_Clear();   /* no room on the GPU for a temporary: the host lays out */
    l.pair = &p;
    l.device_data = (uintptr_t)gpu->data;
    return gb_host_settle(host) < 0 ? -1 : gb_leg_run(t, &l);
}

/* ---- one copy ---- */

static PyObject *of_module(const char *function, PyObject *x, PyObject *y, NPY_CASTING casting, PyObject *progress) {
    static const char *const names[] = {"no", "equiv", "safe", "same_kind", "unsafe"};
    PyObject *module = PyImport_ImportModule("gridbuf.numpy_copies");
    PyObject *result = module ? PyObject_CallMethod(module, function, "OOsO", x, y, names[casting], progress ? progress : Py_None) : NULL;
    Py_XDECREF(module);
    return result;
}

/* A GPU's values for a host that wants them converted, or repeated: they come as they are first. */
static gb_transit *through_host(gb_field *dst, gb_field *src, NPY_CASTING casting, PyObject *progress) {
    gb_cuda_queue from = gb_queue_for(src->place.device);
    PyObject *here = gb_host_settle(dst) < 0 ? NULL : gb_on_host(src), *done = here ? of_module("_copyto_any", (PyObject *)dst, here, casting, progress) : NULL;
    gb_transit *t = done ? gb_transit_new(from, from) : NULL;
    if (t) t->host_free = 1;
    Py_XDECREF(here);
    Py_XDECREF(done);
    return t;
}

static gb_transit *send(gb_field *dst, gb_field *src, NPY_CASTING casting, PyObject *progress);

/* What the kernels do not convert NumPy does, on the host. */
static gb_transit *from_numpy(gb_field *dst, PyObject *values, NPY_CASTING casting, PyObject *progress) {
    PyObject *array = of_module("_converted", values, (PyObject *)dst->dtype->descr, casting, NULL);
    gb_field *src = array ? (gb_field *)gb_wrap(gb_FieldType, array) : NULL;
    gb_transit *t = src ? send(dst, src, NPY_UNSAFE_CASTING, progress) : NULL;
    Py_XDECREF(array);
    Py_XDECREF((PyObject *)src);
    return t;
}

/* Sends the values on their way. When it fails, what has been sent has arrived before it returns. */
static gb_transit *send(gb_field *dst, gb_field *src, NPY_CASTING casting, PyObject *progress) {
    sides s = {.dst = dst, .src = src, .to = gb_memory_of_field(dst), .from = gb_memory_of_field(src), .progress = progress};
    if (dst->readonly) return PyErr_SetString(PyExc_ValueError, "dst: it is read-only"), NULL;
    int both = gb_on_gpu(dst) && gb_on_gpu(src), empty = dst->geometry.nbytes == 0, repeated = src->geometry.size != dst->geometry.size;
    int types[2], kernels = gb_convertible(s.to.descr, s.from.descr, s.from.view.ndim, casting, types);
    s.to.view.type = types[0];
    s.from.view.type = types[1];
    if (gb_broadcast(&s.from.view, &s.to.view, s.from_strides) < 0) return NULL;
    if (!gb_on_gpu(dst) && !empty && (!kernels || repeated)) return through_host(dst, src, casting, progress);
    if (both && !empty && (!kernels || s.to.view.type != s.from.view.type)) {
        PyObject *here = gb_on_host(src);
        gb_transit *t = here ? send(dst, (gb_field *)here, casting, progress) : NULL;
        Py_XDECREF(here);
        return t;
    }
    if (!kernels && !empty) return from_numpy(dst, (PyObject *)src, casting, progress);
    gb_cuda_queue on = gb_queue_for((gb_on_gpu(dst) ? dst : src)->place.device), from = both ? gb_queue_for(src->place.device) : on;
    gb_transit *t = gb_transit_new(on, from);
    if (!t || empty) return t;
    gb_transit_hold(t, Py_NewRef((PyObject *)dst), on);
    gb_transit_hold(t, Py_NewRef((PyObject *)src), from);
    if (settle(dst, on) < 0 || settle(src, from) < 0 || (!both ? between : on.device == from.device ? within : across)(t, &s) < 0) Py_CLEAR(t);
    return t;
}

int gb_is_values(PyObject *obj) {
    PyObject *found;
    if (PyArray_Check(obj)) return !gb_descr_movable(PyArray_DESCR((PyArrayObject *)obj));
    if (gb_is_field(obj)) return 0;
    int has = gb_may_be_cuda(obj);
    if (has) return has < 0 ? -1 : 0;
    has = gb_optional((PyObject *)Py_TYPE(obj), gb_attr.dlpack, &found);
    if (has > 0) Py_DECREF(found);
    return has < 0 ? -1 : !has;
}

int gb_transit_begin(PyObject *dst_obj, PyObject *src_obj, NPY_CASTING casting, PyObject *progress, gb_transit **t) {
    int values = gb_is_values(src_obj);
    gb_field *dst = values < 0 ? NULL : (gb_field *)gb_wrap(gb_FieldType, dst_obj), *src = dst && !values ? (gb_field *)gb_wrap(gb_FieldType, src_obj) : NULL;
    int rc = !dst || (!values && !src) ? -1 : gb_on_gpu(dst) || (src && gb_on_gpu(src));
    if (rc > 0) {
        *t = values ? from_numpy(dst, src_obj, casting, progress) : send(dst, src, casting, progress);
        rc = *t ? 1 : -1;
    }
    Py_XDECREF((PyObject *)dst);
    Py_XDECREF((PyObject *)src);
    return rc;
}

int gb_device_copyto(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress) {
    gb_transit *t = NULL;
    int rc = gb_transit_begin(dst, src, casting, progress, &t);
    if (rc <= 0) return rc;
    rc = gb_transit_leave(t);                /* between GPUs: nothing that anybody has to wait for */
    if (rc == 0) rc = gb_transit_end(t) == 0 && gb_transit_wait(t, -1) > 0 ? 1 : -1;
    Py_DECREF((PyObject *)t);
    if (rc > 0 && progress && !PyErr_Occurred()) {
        PyObject *told = PyObject_CallFunction(progress, "d", 1.0);
        if (!told) rc = -1;
        Py_XDECREF(told);
    }
    return rc;
}

/* ---- what the rest of the extension asks for ---- */

/* An empty host array with the Field's order of strides. */
static PyObject *array_like(gb_field *f) {
    const gb_geometry *g = &f->geometry;
    npy_intp order[GB_MAXDIMS], back[GB_MAXDIMS], shape[GB_MAXDIMS];
    for (int i = 0; i < g->ndim; i++) {
        int at = i;   /* by falling strides */
        for (; at > 0 && llabs(g->strides[order[at - 1]]) < llabs(g->strides[i]); at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < g->ndim; i++) {
        shape[i] = g->shape[order[i]];
        back[order[i]] = i;
    }
    PyArray_Dims axes = {back, g->ndim};
    Py_INCREF((PyObject *)f->dtype->descr);
    PyObject *packed = PyArray_Empty(g->ndim, shape, f->dtype->descr, 0), *array = NULL;
    if (packed) array = PyArray_Transpose((PyArrayObject *)packed, &axes);
    Py_XDECREF(packed);
    return array;
}

PyObject *gb_on_host(gb_field *f) {
    PyObject *array = array_like(f), *field = array ? gb_wrap(gb_FieldType, array) : NULL;
    if (field && gb_device_copyto(field, (PyObject *)f, NPY_NO_CASTING, NULL) <= 0) Py_CLEAR(field);
    Py_XDECREF(array);
    return field;
}

static int is_one_value(PyObject *value) {
    return PyFloat_Check(value) || PyLong_Check(value) || PyComplex_Check(value) || PyArray_IsScalar(value, Generic);
}

static int fill(gb_field *f, PyObject *value) {
    if (f->readonly) return PyErr_SetString(PyExc_ValueError, "dst: it is read-only"), -1;
    Py_INCREF((PyObject *)f->dtype->descr);
    PyObject *one = PyArray_NewFromDescr(&PyArray_Type, f->dtype->descr, 0, NULL, NULL, NULL, 0, NULL);
    int rc = one && PyArray_CopyObject((PyArrayObject *)one, value) == 0 ? gb_device_set(f, PyArray_DATA((PyArrayObject *)one)) : -1;
    Py_XDECREF(one);
    return rc;
}

int gb_device_assign(PyObject *dst, PyObject *value) {
    if (is_one_value(value)) return fill((gb_field *)dst, value);
    return gb_device_copyto(dst, value, NPY_UNSAFE_CASTING, NULL) > 0 ? 0 : -1;
}

int gb_device_fill(PyObject *dst, PyObject *value) {
    gb_field *f = (gb_field *)gb_wrap(gb_FieldType, dst);
    int rc = !f ? -1 : !gb_on_gpu(f) ? 0 : fill(f, value) == 0 ? 1 : -1;
    Py_XDECREF((PyObject *)f);
    return rc;
}
