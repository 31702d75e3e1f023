/* index.c: views of a Field: slices, integers, the domain; and assignment to them.
 * Views share memory and keep what the indices mean; they need no Go. */
#include "../device/device.h"
#include "../named/keys.h"
#include "../core/references.h"
#include "../exchange/exchange.h"

/* How many of the selected elements lie in [from, to). */
static int64_t selected_in(const gb_py_cut *c, int64_t from, int64_t to) {
    if (c->length == 0 || from >= to) return 0;
    int64_t first = c->start, step = c->step;
    if (step == 1) { /* nearly always, and divisions cost as much as all the rest */
        int64_t low = first > from ? first : from,
                high = first + c->length < to ? first + c->length : to;
        return high > low ? high - low : 0;
    }
    if (step < 0) { /* read the slice the other way round */
        first = c->start + (c->length - 1) * step;
        step = -step;
    }
    int64_t below_from = first >= from ? 0 : (from - first + step - 1) / step;
    int64_t below_to = first >= to ? 0 : (to - first + step - 1) / step;
    if (below_from > c->length) below_from = c->length;
    if (below_to > c->length) below_to = c->length;
    return below_to - below_from;
}

/* The lower halo of the view is what was selected of the old lower halo, the upper
 * likewise; a reversed slice swaps them. The origin moves as the lower halo does. */
static void cut_meta(gb_py_field *view, int to, const gb_py_field *from, int at,
                     const gb_py_cut *c) {
    if (!view->halo && !view->origin) return;
    int64_t n = from->geometry.shape[at];
    int64_t low = from->halo ? from->halo[2 * at] : 0,
            high = from->halo ? from->halo[2 * at + 1] : 0;
    if (c->step == 1 && c->length == n) { /* all of it */
        if (view->halo) view->halo[2 * to] = low, view->halo[2 * to + 1] = high;
        if (view->origin) view->origin[to] = from->origin[at];
        return;
    }
    int64_t in_low = selected_in(c, 0, low), in_high = selected_in(c, n - high, n);
    if (view->halo) {
        view->halo[2 * to] = c->step < 0 ? in_high : in_low;
        view->halo[2 * to + 1] = c->step < 0 ? in_low : in_high;
    }
    if (view->origin)
        view->origin[to] = c->step < 0 ? in_high : selected_in(c, 0, from->origin[at]);
}

static PyObject *make_view(gb_py_field *f, const gb_py_cut *cuts) {
    int kept = 0, n = f->geometry.ndim;
    for (int i = 0; i < n; i++) kept += cuts[i].keep;
    gb_py_field *view = gb_py_field_alloc(Py_TYPE((PyObject *)f), kept);
    if (!view) return NULL;
    gb_py_field_share(view, f);
    if (gb_py_field_room(view, f->origin != NULL, f->halo != NULL) < 0)
        return Py_DECREF((PyObject *)view), NULL;
    view->data = f->data;
    for (int i = 0, to = 0; i < n; i++) {
        if (cuts[i].length > 0) view->data += cuts[i].start * f->geometry.strides[i];
        if (!cuts[i].keep) continue;
        view->geometry.shape[to] = cuts[i].length;
        view->geometry.strides[to] = f->geometry.strides[i] * cuts[i].step;
        view->geometry.dims[to] = f->geometry.dims[i];
        cut_meta(view, to, f, i, &cuts[i]);
        to++;
    }
    gb_geometry_finish(&view->geometry);
    if (gb_py_field_inherit(view, f) < 0) Py_CLEAR(view);
    return (PyObject *)view;
}

/* 1: a view or an element (cuts filled in), 0: NumPy's business (lists, masks, arrays), -1:
 * refused. */
static int read_key(PyObject *self, PyObject *key, gb_py_cut *cuts) {
    const gb_geometry *g = &((gb_py_field *)self)->geometry;
    return gb_py_cuts(key, g->ndim, g->shape, cuts, 1);
}

/* An element is copied to the host; other keys are cupy's, whose selection is NumPy's. */
static PyObject *device_item(gb_py_field *f, const gb_py_cut *cuts, PyObject *key) {
    GB_PY_OWNED PyObject *part = cuts ? make_view(f, cuts) : NULL,
                         *host = part ? gb_py_on_host((gb_py_field *)part) : NULL;
    GB_PY_OWNED PyObject *array = !cuts  ? gb_py_cupy_over(f)
                                  : host ? gb_py_field_numpy(host, NULL)
                                         : NULL;
    GB_PY_OWNED PyObject *empty = cuts ? PyTuple_New(0) : NULL;
    if (cuts) key = empty;
    return array && key ? PyObject_GetItem(array, key) : NULL;
}

/* A key that NumPy understands; what describes memory in it is checked before. */
static PyObject *key_of_arrays(PyObject *self, PyObject *key) {
    GB_PY_OWNED PyObject *plain = gb_py_key_by_name(self, key);
    PyObject *checked = plain ? gb_py_values_of(plain) : NULL;
    if (!checked) gb_py_prefix_error("key", 0);
    return checked;
}

/* An element, which `cuts` selects, or what NumPy's keys do (NULL). */
static PyObject *values_of(PyObject *self, PyObject *key, const gb_py_cut *cuts) {
    gb_py_field *f = (gb_py_field *)self;
    if (f->location.kind == GB_PY_ON_DEVICE) return device_item(f, cuts, key);
    GB_PY_OWNED PyObject *array = gb_py_field_numpy(self, NULL),
                         *plain = cuts ? Py_NewRef(key) : key_of_arrays(self, key);
    return array && plain ? PyObject_GetItem(array, plain) : NULL;
}

PyObject *gb_py_field_subscript(PyObject *self, PyObject *key) {
    gb_py_cut cuts[GB_MAXDIMS];
    int kind = read_key(self, key, cuts);
    if (kind == GB_PY_KEY_ERROR) return NULL;
    if (kind == GB_PY_KEY_VIEW) return make_view((gb_py_field *)self, cuts);
    return values_of(self, key, kind ? cuts : NULL);
}

/* Values from anywhere into a part of a Field that a GPU reaches. */
static int device_assign(PyObject *self, PyObject *key, PyObject *value) {
    gb_py_cut cuts[GB_MAXDIMS];
    int view = read_key(self, key, cuts), rc = -1;
    if (view < 0) return -1;
    GB_PY_OWNED PyObject *part =
        view ? make_view((gb_py_field *)self, cuts) : gb_py_cupy_over((gb_py_field *)self);
    GB_PY_OWNED PyObject *plain = part && !view ? gb_py_key_by_name(self, key) : NULL;
    if (part && (view || plain))
        rc = view ? gb_py_device_assign(part, value) : PyObject_SetItem(part, plain, value);
    return rc;
}

/* Values of an array or a Field into a part of this one, on all cores. 1: done; 0: NumPy has to;
 * -1: an error. */
static int copy_into(PyObject *self, PyObject *key, PyObject *value) {
    gb_py_memory src;
    gb_py_cut cuts[GB_MAXDIMS];
    if (!gb_py_memory_of(value, &src) || src.view.ndim == 0) return 0;
    int view = read_key(self, key, cuts); /* an __index__ may change value's shape */
    if (view <= 0) return view;
    GB_PY_OWNED PyObject *part = make_view((gb_py_field *)self, cuts);
    return part ? gb_py_copy_objects(part, value, NPY_UNSAFE_CASTING, NULL) : -1;
}

/* Write a Python number to one element. NumPy raises the error for a refused key. */
static int fill_part(PyObject *self, PyObject *key, PyObject *value) {
    gb_py_field *f = (gb_py_field *)self;
    gb_py_cut cuts[GB_MAXDIMS];
    int64_t shape[GB_MAXDIMS], strides[GB_MAXDIMS];
    if (f->readonly || !(PyFloat_CheckExact(value) || PyLong_CheckExact(value))) return 0;
    int view = read_key(self, key, cuts);
    if (view < 0 && PyErr_ExceptionMatches(PyExc_Exception))
        return PyErr_Clear(), 0; /* an __index__'s own too */
    if (view <= 0) return view;
    gb_copy_view part = {.data = f->data,
                         .itemsize = f->dtype->itemsize,
                         .type = GB_RAW,
                         .shape = shape,
                         .strides = strides};
    for (int i = 0; i < f->geometry.ndim; i++) {
        if (cuts[i].length > 0) part.data += cuts[i].start * f->geometry.strides[i];
        if (!cuts[i].keep) continue;
        shape[part.ndim] = cuts[i].length;
        strides[part.ndim++] = f->geometry.strides[i] * cuts[i].step;
    }
    return gb_py_fill_number(&part, f->dtype->descr, value, NULL);
}

static int positional_assign(PyObject *self, PyObject *key, PyObject *value) {
    if (gb_py_needs_driver(&((gb_py_field *)self)->location))
        return device_assign(self, key, value);
    int copied = fill_part(self, key, value);
    if (!copied) copied = copy_into(self, key, value);
    if (copied) return copied < 0 ? -1 : 0;
    GB_PY_OWNED PyObject *array = gb_py_field_numpy(self, NULL),
                         *plain = array ? key_of_arrays(self, key) : NULL;
    GB_PY_OWNED PyObject *checked = plain ? gb_py_values_of(value) : NULL,
                         *apart = checked ? gb_py_without_overlap((PyArrayObject *)array, checked)
                                          : NULL;
    if (plain && !checked) gb_py_prefix_error("value", 0);
    return apart ? PyObject_SetItem(array, plain, apart) : -1;
}

/* Values with names into a Field with names. */
static int named_assign(PyObject *self, PyObject *key, PyObject *value) {
    gb_py_cut cuts[GB_MAXDIMS];
    int view = read_key(self, key, cuts), rc = -1;
    if (view < 0) return -1;
    GB_PY_OWNED PyObject *part = view ? make_view((gb_py_field *)self, cuts) : Py_NewRef(self),
                         *fitted = part ? gb_py_fitted(part, value, "value") : NULL;
    if (fitted && view == 0 && gb_py_is_field(fitted) && ((gb_py_field *)fitted)->dims_given)
        PyErr_Format(PyExc_ValueError, "value: it has names, and what this key selects has none; "
                                       "value.numpy() goes by position");
    else if (fitted)
        rc = view ? positional_assign(part, Py_Ellipsis, fitted)
                  : positional_assign(self, key, value);
    return rc;
}

int gb_py_field_assign(PyObject *self, PyObject *key, PyObject *value) {
    if (!value)
        return PyErr_SetString(PyExc_TypeError, "elements of a Field cannot be deleted"), -1;
    int named = gb_py_both_named(self, value);
    if (named) return named < 0 ? -1 : named_assign(self, key, value);
    return positional_assign(self, key, value);
}

PyObject *gb_py_field_domain(PyObject *self, void *unused) {
    gb_py_field *f = (gb_py_field *)self;
    gb_py_cut cuts[GB_MAXDIMS];
    for (int i = 0; i < f->geometry.ndim; i++) {
        int64_t low = f->halo ? f->halo[2 * i] : 0, high = f->halo ? f->halo[2 * i + 1] : 0;
        cuts[i] = (gb_py_cut){low, 1, f->geometry.shape[i] - low - high, f->geometry.shape[i], 1};
    }
    gb_py_field *view = (gb_py_field *)make_view(f, cuts);
    if (view && gb_py_field_room(view, 1, 0) < 0) Py_CLEAR(view);
    if (view) memset(view->origin, 0, view->geometry.ndim * sizeof *view->origin);
    return (PyObject *)view;
}

PyObject *gb_py_field_iter(PyObject *self) {
    if (((gb_py_field *)self)->geometry.ndim > 0) return PySeqIter_New(self);
    return PyErr_SetString(PyExc_TypeError, "iteration over a Field without indices"), NULL;
}
