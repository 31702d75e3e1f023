/* new.c: new Fields: over fresh memory of the heap or the driver, and over memory of other objects
 * (gridbuf.Field(data, ...), from_dlpack). */
#include "../core/args.h"
#include "../core/references.h"
#include "../core/upcall.h"
#include "../device/device.h"
#include "../exchange/exchange.h"

static gb_py_field *over_block(gb_py_plan_object *plan, PyObject *owner) {
    gb_cuda_block *block = ((gb_py_block_object *)owner)->block;
    gb_py_location location = gb_py_block_location(block, plan->plan->device == GB_GPU);
    PyTypeObject *type = gb_py_type_for(gb_py_FieldType, location);
    gb_py_field *f = type ? gb_py_field_alloc(type, -1) : NULL;
    if (!f) return NULL;
    f->geometry = plan->plan->geometry;
    f->plan = (gb_py_plan_object *)Py_NewRef((PyObject *)plan);
    f->dtype = (gb_py_dtype *)Py_NewRef((PyObject *)plan->dtype);
    f->data = (char *)(uintptr_t)block->data;
    f->owner = Py_NewRef(owner);
    f->location = location;
    return f;
}

static int zero_block(const gb_plan *plan, gb_cuda_block *block) {
    if (block->kind == GB_CUDA_PINNED)
        return gb_py_fill_zero((void *)(uintptr_t)block->data, plan->want.span);
    return gb_py_device_zero(block, plan->want.span);
}

gb_py_field *gb_py_device_field(gb_py_plan_object *plan, int zero) {
    GB_PY_OWNED PyObject *owner = gb_py_block_for(plan->plan);
    gb_py_field *f = NULL;
    if (owner && (!zero || zero_block(plan->plan, ((gb_py_block_object *)owner)->block) == 0))
        f = over_block(plan, owner);
    return f;
}

/* ---- over fresh memory ---- */

/* A Field over a new block for the plan. */
gb_py_field *gb_py_field_over_plan(gb_py_plan_object *plan, int zero) {
    void *data;
    if (!gb_py_plan_on_heap(plan->plan)) return gb_py_device_field(plan, zero);
    if (gb_py_plan_allocate(plan->plan, zero, &data) < 0) return NULL;
    gb_py_field *f = gb_py_field_alloc(gb_py_HostFieldType, -1);
    if (!f) {
        gb_heap_release(data);
        return NULL;
    }
    f->geometry = plan->plan->geometry;
    f->plan = (gb_py_plan_object *)Py_NewRef((PyObject *)plan);
    f->dtype = (gb_py_dtype *)Py_NewRef((PyObject *)plan->dtype);
    f->data = f->block = data;
    return f;
}

/* _empty_like(): None for a view, whose layout is no plan's; the caller makes a request then. No
 * Go, so that a forked child can copy Fields. */
PyObject *gb_py_field_empty_like(PyObject *self, PyObject *unused) {
    gb_py_field *f = (gb_py_field *)self;
    if (f->lists) Py_RETURN_NONE;
    gb_py_field *made = gb_py_field_over_plan(f->plan, 0);
    if (made) made->dims_given = f->dims_given;
    if (made && gb_py_field_copy_meta(made, f) < 0) Py_CLEAR(made);
    if (!made || Py_TYPE((PyObject *)made) == Py_TYPE(self)) return (PyObject *)made;
    GB_PY_OWNED gb_py_field *of_us = made;
    gb_py_field *same = (gb_py_field *)gb_py_field_as(Py_TYPE(self), made); /* a subclass */
    if (same && gb_py_field_inherit(same, f) < 0) Py_CLEAR(same);
    return (PyObject *)same;
}

/* Request for a Field like lead. A Field's own plan gives padding and alignment; elements of a
 * view's copy lie close. */
static void like_request(const gb_py_field *lead, const gb_py_dtype *dtype, gb_request *r) {
    const gb_geometry *g = &lead->geometry;
    const gb_plan *p = lead->lists ? NULL : lead->plan->plan;
    const int64_t *aligned = p ? p->aligned_index : lead->origin;
    int n = g->ndim;
    memset(r, 0, offsetof(gb_request, shape));
    r->ndim = n;
    r->itemsize = dtype->itemsize;
    r->device = GB_CPU;
    memcpy(r->shape, g->shape, (size_t)n * sizeof *r->shape);
    r->dims_len = n;
    memcpy(r->dims, g->dims, (size_t)n * sizeof *r->dims);
    r->aligned_len = aligned ? n : -1;
    if (aligned) memcpy(r->aligned_index, aligned, (size_t)n * sizeof *aligned);
    r->layout_len = n;
    if (p) memcpy(r->layout, p->layout, (size_t)n * sizeof *r->layout);
    else gb_plan_read_rows(g, r->layout, (int64_t[GB_MAXDIMS]){0});
    r->byte_alignment = p ? p->want.boundary & -p->want.boundary : 0;
    for (int i = 0; p && i < n; i++)
        if (p->layout[i] == n - 1 && p->padded_shape[i] > g->shape[i])
            r->padding = p->padded_shape[i];
}

gb_py_field *gb_py_field_like(const gb_py_field *lead, gb_py_dtype *dtype) {
    gb_py_plan_object *plan;
    if (!lead->lists && lead->dtype == dtype) {
        plan = (gb_py_plan_object *)Py_NewRef((PyObject *)lead->plan);
    } else {
        gb_request request;
        like_request(lead, dtype, &request);
        if (!(plan = gb_py_plan_for(&request, dtype))) return NULL;
    }
    gb_py_field *f = gb_py_field_over_plan(plan, 0);
    Py_DECREF((PyObject *)plan);
    if (f) f->dims_given = lead->dims_given;
    if (f && gb_py_field_copy_meta(f, lead) < 0) Py_CLEAR(f);
    return f;
}

/* Request for the result of a reduction: the order of strides stays, rows are padded where the
 * fastest index is kept, and the first point of the domain is aligned. */
static void kept_request(const gb_py_field *lead, const int *kept, int n, const gb_py_dtype *dtype,
                         gb_request *r) {
    const gb_geometry *g = &lead->geometry;
    const gb_plan *p = lead->lists ? NULL : lead->plan->plan;
    int32_t layout[GB_MAXDIMS];
    int64_t padded[GB_MAXDIMS];
    memset(r, 0, offsetof(gb_request, shape));
    r->ndim = r->dims_len = r->layout_len = n;
    r->itemsize = dtype->itemsize;
    r->device = GB_CPU;
    r->aligned_len = lead->halo || lead->origin ? n : -1;
    r->byte_alignment = p ? p->want.boundary & -p->want.boundary : 0;
    if (p) memcpy(layout, p->layout, (size_t)g->ndim * sizeof *layout);
    else gb_plan_read_rows(g, layout, padded);
    for (int i = 0; i < n; i++) {
        int k = kept[i];
        r->shape[i] = g->shape[k];
        r->dims[i] = g->dims[k];
        r->aligned_index[i] = 0;
        if (lead->halo) r->aligned_index[i] = lead->halo[2 * k];
        else if (lead->origin) r->aligned_index[i] = lead->origin[k];
        r->layout[i] = 0;
        for (int j = 0; j < n; j++) r->layout[i] += layout[kept[j]] < layout[k];
        if (p && layout[k] == g->ndim - 1 && p->padded_shape[k] > g->shape[k])
            r->padding = p->padded_shape[k];
    }
}

gb_py_field *gb_py_field_of_indices(const gb_py_field *lead, const int *kept, int n,
                                    gb_py_dtype *dtype) {
    gb_request request;
    kept_request(lead, kept, n, dtype, &request);
    GB_PY_OWNED gb_py_plan_object *plan = gb_py_plan_for(&request, dtype);
    gb_py_field *f = plan ? gb_py_field_over_plan(plan, 0) : NULL;
    if (!f) return NULL;
    f->dims_given = lead->dims_given;
    if (gb_py_field_room(f, lead->origin != NULL, lead->halo != NULL) < 0) Py_CLEAR(f);
    for (int i = 0; f && i < n; i++) {
        if (lead->origin) f->origin[i] = lead->origin[kept[i]];
        if (lead->halo) memcpy(&f->halo[2 * i], &lead->halo[2 * kept[i]], 2 * sizeof *f->halo);
    }
    return f;
}

PyObject *gb_py_field_holding(gb_py_field *made, PyArrayObject *found) {
    GB_PY_OWNED PyObject *field = (PyObject *)made;
    GB_PY_OWNED PyObject *array = field ? gb_py_field_numpy(field, NULL) : NULL;
    return array && PyArray_CopyInto((PyArrayObject *)array, found) == 0 ? Py_NewRef(field) : NULL;
}

static PyObject *of_plan(gb_py_plan_object *plan, const gb_py_meta *meta, int zero) {
    gb_py_field *f = gb_py_field_over_plan(plan, zero);
    if (f) f->dims_given = (uint8_t)meta->has_dims;
    if (f && gb_py_field_set_meta(f, meta) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

static PyObject *make(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames, int zero) {
    gb_py_meta meta;
    GB_PY_OWNED gb_py_plan_object *plan = gb_py_plan_for_call(sig, args, nargs, kwnames, &meta);
    return plan ? of_plan(plan, &meta, zero) : NULL;
}

static PyObject *make_filled(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames, PyObject *value) {
    gb_py_meta meta;
    GB_PY_OWNED gb_py_plan_object *plan = gb_py_plan_for_call(sig, args, nargs, kwnames, &meta);
    PyObject *f = plan ? of_plan(plan, &meta, 0) : NULL;
    if (f && gb_py_assign(f, value ? value : meta.fill_value) < 0) Py_CLEAR(f);
    return f;
}

GB_PY_DEFINE_CONSTRUCTORS(gb_py_field_, "Field.", GB_PY_ARG_SPEC | GB_PY_ARG_BIT(GB_PY_ARG_ORIGIN))

/* ---- over memory of other objects ---- */

static int set_dims(gb_py_field *f, PyObject *dims) {
    if (!dims || dims == Py_None) return 0;
    int32_t codes[GB_MAXDIMS];
    int n = gb_py_dims(dims, "dims", codes, GB_MAXDIMS);
    if (n < 0) return -1;
    if (n != f->geometry.ndim)
        return gb_py_fail(PyExc_ValueError, "dims: %R names %d indices, the data has %d", dims, n,
                          f->geometry.ndim);
    memcpy(f->geometry.dims, codes, n * sizeof *codes);
    f->dims_given = 1;
    return 0;
}

static int set_given(gb_py_field *f, PyObject *dims, PyObject *origin, PyObject *halo) {
    if (set_dims(f, dims) < 0) return -1;
    gb_py_meta meta;
    if (gb_py_read_meta(origin, halo, f->geometry.shape, f->geometry.ndim, &meta) < 0) return -1;
    return gb_py_field_set_meta(f, &meta);
}

/* The dims, origin and halo that the object itself carries. */
static int set_carried(gb_py_field *f, PyObject *data) {
    if (PyArray_CheckExact(data) || gb_py_is_field(data)) return 0;
    PyObject *inherited[3];
    int found = gb_py_inherited_metadata(data, (PyObject *)f, inherited);
    if (found <= 0) return found;
    found = set_given(f, inherited[0], inherited[1], inherited[2]);
    for (int i = 0; i < 3; i++) Py_DECREF(inherited[i]);
    return found;
}

static int check_require(gb_py_field *f, PyObject *require) {
    if (!require || require == Py_None) return 0;
    GB_PY_OWNED PyObject *met =
        gb_py_upcall_to(GB_PY_UP_CHECK_REQUIRE, "(OO)", (PyObject *)f, require);
    return met ? 0 : -1;
}

PyObject *gb_py_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", "dims", "origin", "halo", "require", "dimensions", NULL};
    PyObject *data, *dims = NULL, *origin = NULL, *halo = NULL, *require = NULL, *dimensions = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$OOOO:Field", names, &data, &dims, &origin,
                                     &halo, &require, &dimensions)) {
        gb_py_unknown_keyword("Field", kwargs, names);
        return NULL;
    }
    if (dimensions && dimensions != Py_None) {
        if (dims && dims != Py_None)
            return PyErr_Format(PyExc_TypeError,
                                "dims and dimensions mean the same; give one of them");
        dims = dimensions;
    }
    PyObject *given[] = {dims, origin, halo,
                         require}; /* hold the values: kwargs may be the caller's dict, which later
                                      Python code can empty */
    for (int i = 0; i < 4; i++) Py_XINCREF(given[i]);
    gb_py_field *f = (gb_py_field *)gb_py_wrap(type, data);
    if (f && (set_carried(f, data) < 0 || set_given(f, dims, origin, halo) < 0 ||
              check_require(f, require) < 0))
        Py_CLEAR(f);
    for (int i = 0; i < 4; i++) gb_py_decref_foreign(given[i]);
    return (PyObject *)f;
}

PyObject *gb_py_from_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames) {
    static const gb_py_signature sig = {"from_dlpack",
                                        {GB_PY_ARG_X, GB_PY_ARG_DIMS},
                                        2,
                                        1,
                                        GB_PY_ARG_BIT(GB_PY_ARG_X) | GB_PY_ARG_BIT(GB_PY_ARG_DIMS) |
                                            GB_PY_ARG_BIT(GB_PY_ARG_ORIGIN) |
                                            GB_PY_ARG_BIT(GB_PY_ARG_HALO) |
                                            GB_PY_ARG_BIT(GB_PY_ARG_COPY),
                                        0};
    PyObject *slots[GB_PY_ARG_COUNT];
    if (gb_py_args(&sig, args, nargs, kwnames, slots) < 0) return NULL;
    int copy = gb_py_read_copy(slots[GB_PY_ARG_COPY]);
    if (copy == -1) return NULL;
    int request = 0;
    if (copy == 1) request = GB_PY_OWN_COPY;
    if (copy == 0) request = GB_PY_SHARE_ONLY;
    gb_py_field *f = (gb_py_field *)gb_py_wrap_tensor(gb_py_FieldType, slots[GB_PY_ARG_X], request);
    if (!f) gb_py_prefix_error("x", 0);
    if (f &&
        set_given(f, slots[GB_PY_ARG_DIMS], slots[GB_PY_ARG_ORIGIN], slots[GB_PY_ARG_HALO]) < 0)
        Py_CLEAR(f);
    return (PyObject *)f;
}
