/* constructors.c: gridbuf.empty and its kin, gridbuf.plan, the methods of a Plan that allocate,
 * unmet(), by which gridbuf checks whether a Field's memory is as such a call would make it, and
 * empty_like and its kin. */
#include "core/args.h"
#include "core/upcall.h"
#include "device/device.h"
#include "field/field.h"

#include <docs.h>

/* ---- arrays over a new block ---- */

/* cupy reuses freed memory on its own current stream, so its arrays are made there, unless a stream
 * was given to gridbuf. */
static int cupy_stream(int device, gb_cuda_stream *stream) {
    if (!gb_py_upcall_get(GB_PY_UP_CUPY_STREAM)) return -1; /* cupy is missing */
    *stream = gb_py_queue_for(device).stream;
    if (*stream) return 0;
    GB_PY_OWNED PyObject *number = gb_py_upcall_to(GB_PY_UP_CUPY_STREAM, "(i)", device);
    if (!number) return -1;
    *stream = PyLong_AsUnsignedLongLong(number);
    return 0;
}

static PyObject *cupy_array(gb_py_plan_object *plan, int zero, PyObject *value) {
    gb_cuda_stream stream;
    if (cupy_stream(plan->plan->device_id, &stream) < 0) return NULL;
    gb_py_thread_stream before = gb_py_use_stream(stream);
    GB_PY_OWNED gb_py_field *f = gb_py_device_field(plan, zero);
    if (f && value && gb_py_assign((PyObject *)f, value) < 0) Py_CLEAR(f);
    PyObject *array = f ? gb_py_cupy_over(f) : NULL;
    gb_py_restore_stream(before);
    return array;
}

/* Arrays of pinned memory, and of managed memory unless device="gpu". */
static PyObject *driver_array(gb_py_plan_object *plan, int zero, PyObject *value) {
    GB_PY_OWNED gb_py_field *f = gb_py_device_field(plan, zero);
    if (!f) return NULL;
    if (value && gb_py_assign((PyObject *)f, value) < 0) return NULL;
    if (gb_py_require_host_access(f) < 0) return NULL;
    return gb_py_array_over(&f->geometry, f->dtype, f->data, 1, f->owner);
}

/* A new array for the plan; value: its elements, or NULL. */
static PyObject *array_for(gb_py_plan_object *plan, int zero, PyObject *value) {
    if (!gb_py_plan_on_heap(plan->plan)) {
        return plan->plan->device == GB_GPU ? cupy_array(plan, zero, value)
                                            : driver_array(plan, zero, value);
    }
    PyObject *array = gb_py_array_of(plan, zero);
    if (array && value && gb_py_assign(array, value) < 0) Py_CLEAR(array);
    return array;
}

/* ---- functions of the module ---- */

static PyObject *make(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames, int zero) {
    gb_py_meta meta;
    GB_PY_OWNED gb_py_plan_object *plan = gb_py_plan_for_call(sig, args, nargs, kwnames, &meta);
    return plan ? array_for(plan, zero, NULL) : NULL;
}

/* value NULL: the call's fill_value. */
static PyObject *make_filled(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames, PyObject *value) {
    gb_py_meta meta;
    GB_PY_OWNED gb_py_plan_object *plan = gb_py_plan_for_call(sig, args, nargs, kwnames, &meta);
    return plan ? array_for(plan, 0, value ? value : meta.fill_value) : NULL;
}

GB_PY_DEFINE_CONSTRUCTORS(gb_py_, "", GB_PY_ARG_SPEC)

/* Constructor of gridbuf.storage: `alignment` counts elements, and rows and start follow it. */
PyObject *gb_py_empty_elements(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames) {
    static const gb_py_signature sig = {
        "empty_elements",
        {GB_PY_ARG_SHAPE, GB_PY_ARG_DTYPE, GB_PY_ARG_LAYOUT, GB_PY_ARG_ALIGNED_INDEX},
        4,
        1,
        GB_PY_ARG_SPEC | GB_PY_ARG_BIT(GB_PY_ARG_ALIGNMENT),
        0};
    return make(&sig, args, nargs, kwnames, 0);
}

PyObject *gb_py_plan(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_py_signature sig = {"plan",
                                        {GB_PY_ARG_SHAPE, GB_PY_ARG_DTYPE},
                                        2,
                                        1,
                                        GB_PY_ARG_SPEC | GB_PY_ARG_BIT(GB_PY_ARG_ALIGNMENT),
                                        1};
    gb_py_meta meta;
    return (PyObject *)gb_py_plan_for_call(&sig, args, nargs, kwnames, &meta);
}

/* unmet(data, shape, dtype, **spec): None, or the first requirement that data misses: (word, plan
 * of a new array, boundary, bytes after one). The messages are in gridbuf/requirements.py. */
PyObject *gb_py_unmet(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_py_signature sig = {
        "unmet", {GB_PY_ARG_DATA, GB_PY_ARG_SHAPE, GB_PY_ARG_DTYPE}, 3,
        3,       GB_PY_ARG_SPEC | GB_PY_ARG_BIT(GB_PY_ARG_DATA),     0};
    static const char *const words[] = {NULL,   "device", "memory",  "order",
                                        "rows", "packed", "boundary"};
    PyObject *slots[GB_PY_ARG_COUNT];
    gb_request request;
    gb_py_meta meta;
    GB_PY_OWNED gb_py_dtype *dtype = NULL;
    gb_plan_missed missed;
    if (gb_py_args(&sig, args, nargs, kwnames, slots) < 0 ||
        gb_py_read_request(slots, &request, &dtype, &meta) < 0)
        return NULL;
    if (!gb_py_is_field(slots[GB_PY_ARG_DATA]) ||
        ((gb_py_field *)slots[GB_PY_ARG_DATA])->geometry.ndim != request.ndim)
        return PyErr_Format(PyExc_TypeError, "data: expected a Field of the shape");
    gb_py_field *f = (gb_py_field *)slots[GB_PY_ARG_DATA];
    GB_PY_OWNED gb_py_plan_object *wanted = gb_py_plan_for(&request, dtype);
    const gb_py_plan_object *have =
        wanted ? gb_py_field_plan(f)
               : NULL; /* Read the record, not the attribute: a subclass may override `plan`. */
    if (!have) return NULL;
    const gb_preset *preset = slots[GB_PY_ARG_BACKEND] ? gb_preset_at(request.backend) : NULL;
    gb_plan_compare(&request, preset, wanted->plan, have->plan, (uintptr_t)f->data, &missed);
    if (missed.what == GB_PLAN_MEETS_ALL) Py_RETURN_NONE;
    return Py_BuildValue("(sOLL)", words[missed.what], (PyObject *)wanted,
                         (long long)missed.boundary, (long long)missed.after);
}

/* ---- methods of a Plan ---- */

static gb_py_plan_object *of(PyObject *self) { return (gb_py_plan_object *)self; }

/* Elements of new memory lie behind its start, wherever it is; a plan that was read back from a
 * view that runs backwards has others. */
static int check_makes(const gb_plan *plan) {
    for (int i = 0; i < plan->geometry.ndim; i++)
        if (plan->geometry.strides[i] < 0)
            return gb_py_fail(PyExc_ValueError,
                              "plan: it describes a view with negative strides, which new memory "
                              "cannot have; gridbuf.plan() describes memory to be made");
    return 0;
}

static PyObject *made_by(PyObject *self, int zero, PyObject *value) {
    return check_makes(of(self)->plan) < 0 ? NULL : array_for(of(self), zero, value);
}

static PyObject *plan_empty(PyObject *self, PyObject *unused) { return made_by(self, 0, NULL); }

static PyObject *plan_zeros(PyObject *self, PyObject *unused) { return made_by(self, 1, NULL); }

static PyObject *plan_full(PyObject *self, PyObject *value) { return made_by(self, 0, value); }

/* halo and origin, as for Field.empty; the plan's dims are given. */
static PyObject *plan_field(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames) {
    static const gb_py_signature sig = {
        "field", {0}, 0, 0, GB_PY_ARG_BIT(GB_PY_ARG_HALO) | GB_PY_ARG_BIT(GB_PY_ARG_ORIGIN), 0};
    PyObject *slots[GB_PY_ARG_COUNT];
    gb_py_meta meta;
    const gb_geometry *g = &of(self)->plan->geometry;
    if (nargs == 0 && !kwnames) {
        gb_py_meta_clear(&meta);
    } else if (gb_py_args(&sig, args, nargs, kwnames, slots) < 0 ||
               gb_py_read_meta(slots[GB_PY_ARG_ORIGIN], slots[GB_PY_ARG_HALO], g->shape, g->ndim,
                               &meta) < 0) {
        return NULL;
    }
    if (check_makes(of(self)->plan) < 0) return NULL;
    gb_py_field *f = gb_py_field_over_plan(of(self), 0);
    if (f) f->dims_given = 1;
    if (f && gb_py_field_set_meta(f, &meta) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

static PyMethodDef plan_methods[] = {
    {"empty", plan_empty, METH_NOARGS, GB_PY_DOC_Plan_empty},
    {"zeros", plan_zeros, METH_NOARGS, GB_PY_DOC_Plan_zeros},
    {"full", plan_full, METH_O, GB_PY_DOC_Plan_full},
    {"field", (PyCFunction)(void *)plan_field, METH_FASTCALL | METH_KEYWORDS, GB_PY_DOC_Plan_field},
    {NULL},
};

/* The type is in core/, which knows neither Fields nor the driver. */
int gb_py_plan_methods_init(PyObject *module) {
    for (PyMethodDef *method = plan_methods; method->ml_name; method++) {
        GB_PY_OWNED PyObject *made = PyDescr_NewMethod(gb_py_PlanType, method);
        if (!made || PyObject_SetAttrString((PyObject *)gb_py_PlanType, method->ml_name, made) < 0)
            return -1;
    }
    return 0;
}

/* ---- empty_like and its kin, for plain arrays and for Fields that have a plan of their own;
 * gridbuf/arrays.py handles all others ---- */

/* The request whose answer has the array's order of strides and padding. */
static void request_like(PyArrayObject *array, gb_request *r) {
    int n = PyArray_NDIM(array);
    int64_t padded[GB_MAXDIMS];
    gb_geometry g = {.ndim = n,
                     .shape = (int64_t *)PyArray_DIMS(array),
                     .strides = (int64_t *)PyArray_STRIDES(array)};
    memset(r, 0, offsetof(gb_request, shape));
    r->ndim = r->layout_len = n;
    r->dims_len = r->aligned_len = -1;
    memcpy(r->shape, g.shape, (size_t)n * sizeof *r->shape);
    gb_plan_read_rows(&g, r->layout, padded);
    for (int i = 0; i < n; i++)
        if (r->layout[i] == n - 1) r->padding = padded[i] > g.shape[i] ? padded[i] : GB_PAD_NONE;
}

static PyObject *like_array(PyArrayObject *array, PyObject *wanted, int zero) {
    int64_t none[1];
    int brought = 0;
    gb_request r;
    PyArray_Descr *own = PyArray_DESCR(array);
    if (PyArray_BASE(array) && gb_py_block_behind((PyObject *)array))
        Py_RETURN_NONE; /* pinned or managed, and to stay so */
    if (PyArray_NDIM(array) > GB_MAXDIMS || PyDataType_FLAGCHK(own, NPY_ITEM_REFCOUNT))
        Py_RETURN_NONE;
    GB_PY_OWNED gb_py_dtype *dtype =
        gb_py_dtype_parse(wanted == Py_None ? (PyObject *)own : wanted, none, 0, &brought);
    if (!dtype) {
        if (brought == 0 && !PyErr_ExceptionMatches(PyExc_TypeError)) return NULL;
        PyErr_Clear(); /* a sub-shape adds indices; for no dtype the reader of requests has the
                          better error */
        Py_RETURN_NONE;
    }
    request_like(array, &r); /* only now: asking for the dtype may have run Python code */
    r.itemsize = dtype->itemsize;
    GB_PY_OWNED gb_py_plan_object *plan = gb_py_plan_for(&r, dtype);
    return plan ? gb_py_array_of(plan, zero) : NULL;
}

/* A Field like another one; its zeros are bytes, as zeros' are. */
static PyObject *like_field(PyObject *data, int zero) {
    if (zero && ((gb_py_field *)data)->location.kind != GB_PY_HEAP) Py_RETURN_NONE;
    PyObject *made = gb_py_field_empty_like(data, NULL);
    if (!zero || !made || made == Py_None) return made;
    int64_t span = ((gb_py_field *)data)->plan->plan->want.span;
    char *memory = ((gb_py_field *)made)->data;
    if (gb_heap_zero(memory, span) < 0 && gb_py_fill_zero(memory, span) < 0) Py_CLEAR(made);
    return made;
}

/* like(data, dtype or None, zero[, value]); None where strides alone do not decide. */
PyObject *gb_py_like(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs < 3 || nargs > 4)
        return PyErr_Format(PyExc_TypeError,
                            "like() takes data, dtype, zero and value, got %zd arguments", nargs);
    PyObject *made = NULL;
    int zero = args[2] == Py_True;
    if (PyArray_CheckExact(args[0])) made = like_array((PyArrayObject *)args[0], args[1], zero);
    else if (gb_py_is_field(args[0]) && args[1] == Py_None) made = like_field(args[0], zero);
    else Py_RETURN_NONE;
    if (nargs == 4 && made && made != Py_None && gb_py_assign(made, args[3]) < 0) Py_CLEAR(made);
    return made;
}
