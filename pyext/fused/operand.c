/* operand.c: see fused.h. */
#include "fused.h"

typedef struct look {
    int type, ndim;
    const int64_t *shape, *strides;
    char *data;
    PyObject *meta;
    const gb_py_field *field;
} look;

static int look_at_array(look *l, PyArrayObject *array) {
    l->type = PyArray_ISALIGNED(array) ? gb_py_code_of(PyArray_DESCR(array)) : -1;
    l->ndim = PyArray_NDIM(array);
    l->shape = (const int64_t *)PyArray_DIMS(array);
    l->strides = (const int64_t *)PyArray_STRIDES(array);
    l->data = PyArray_BYTES(array);
    return l->type >= 0 && l->ndim <= GB_MAXDIMS;
}

static int look_at_field(look *l, const gb_py_field *f) {
    const gb_geometry *g = &f->geometry;
    uintptr_t bits = (uintptr_t)f->data;
    for (int d = 0; d < g->ndim; d++)
        if (g->shape[d] > 1) bits |= (uintptr_t)g->strides[d];
    *l = (look){.type = bits & (f->dtype->alignment - 1) ? -1 : gb_py_code_of(f->dtype->descr),
                .ndim = g->ndim,
                .shape = g->shape,
                .strides = g->strides,
                .data = f->data,
                .field = f};
    return l->type >= 0 && l->ndim <= GB_MAXDIMS;
}

/* 0: no memory of plain numbers that the host may read. */
static int look_at(look *l, PyObject *obj) {
    *l = (look){0};
    if (PyArray_CheckExact(obj)) return look_at_array(l, (PyArrayObject *)obj);
    if (gb_py_is_plain_field(obj)) return look_at_field(l, (gb_py_field *)obj);
    PyArrayObject *host = gb_py_plain_storage(obj);
    if (!host) return PyErr_Clear(), 0;
    l->meta = ((gb_py_storage *)obj)->meta;
    return look_at_array(l, host);
}

static PyObject *own_plan(const gb_py_field *f) {
    return f && !f->lists ? (PyObject *)f->plan : NULL;
}

int gb_py_given_set(gb_py_given *g, PyObject *obj, int role) {
    look l;
    g->role = role;
    g->class = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(obj));
    if (role != GB_PY_GIVEN_MEMORY) return g->object = Py_NewRef(obj), 0;
    if (!look_at(&l, obj)) return PyErr_Format(PyExc_TypeError, "%R is no memory to fuse", obj), -1;
    size_t n = (size_t)l.ndim;
    if (!(g->words = calloc(6 * n + 1, sizeof *g->words))) return PyErr_NoMemory(), -1;
    g->type = l.type;
    g->ndim = l.ndim;
    g->object = Py_XNewRef(l.meta);
    g->plan = Py_XNewRef(own_plan(l.field));
    for (size_t d = 0; d < n; d++) { /* NULL of an array without indices */
        g->words[d] = l.shape[d];
        g->words[n + d] = l.strides[d];
    }
    if (!l.field) return 0;
    g->dims_given = l.field->dims_given;
    g->has_origin = l.field->origin != NULL;
    g->has_halo = l.field->halo != NULL;
    for (size_t d = 0; d < n; d++) g->words[2 * n + d] = l.field->geometry.dims[d];
    if (g->has_origin) memcpy(g->words + 3 * n, l.field->origin, n * sizeof *g->words);
    if (g->has_halo) memcpy(g->words + 4 * n, l.field->halo, 2 * n * sizeof *g->words);
    return 0;
}

void gb_py_given_clear(gb_py_given *g) {
    Py_CLEAR(g->class);
    Py_CLEAR(g->object);
    Py_CLEAR(g->plan);
    free(g->words);
    g->words = NULL;
}

static int same_words(const int64_t *a, const int64_t *b, size_t n) {
    return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

static int same_field(const gb_py_given *g, const gb_py_field *f) {
    size_t n = (size_t)g->ndim;
    if (g->dims_given != f->dims_given || g->has_origin != (f->origin != NULL) ||
        g->has_halo != (f->halo != NULL) || g->plan != own_plan(f))
        return 0;
    for (size_t d = 0; d < n; d++)
        if (g->words[2 * n + d] != f->geometry.dims[d]) return 0;
    return (!f->origin || same_words(g->words + 3 * n, f->origin, n)) &&
           (!f->halo || same_words(g->words + 4 * n, f->halo, 2 * n));
}

int gb_py_given_is(const gb_py_given *g, PyObject *obj, char **data) {
    look l;
    if (g->role == GB_PY_GIVEN_SAME) return obj == g->object;
    if (Py_TYPE(obj) != g->class) return 0;
    if (g->role == GB_PY_GIVEN_NUMBER) return 1;
    if (!look_at(&l, obj) || l.type != g->type || l.ndim != g->ndim || l.meta != g->object)
        return 0;
    size_t n = (size_t)l.ndim;
    *data = l.data;
    return same_words(g->words, l.shape, n) && same_words(g->words + n, l.strides, n) &&
           (!l.field || same_field(g, l.field));
}

int gb_py_given_writable(PyObject *obj) {
    if (gb_py_is_field(obj)) return !((gb_py_field *)obj)->readonly;
    PyArrayObject *host = PyArray_CheckExact(obj) ? (PyArrayObject *)obj : gb_py_plain_storage(obj);
    return host && PyArray_ISWRITEABLE(host);
}

/* NumPy also warns of a number that is too small for float32. */
static int put_real(char *to, int type, PyObject *number) {
    if (type == GB_F32 && PyFloat_CheckExact(number)) {
        double v = PyFloat_AsDouble(number);
        if (v != 0.0 && v < 0x1p-126 && v > -0x1p-126) return 0;
    }
    return gb_py_put_number(to, (uint8_t)type, number);
}

int gb_py_given_number(char *to, int type, PyObject *number) {
    if (PyArray_IsScalar(number, Generic)) {
        GB_PY_OWNED PyArray_Descr *descr = PyArray_DescrFromScalar(number);
        int same = descr && gb_py_type_of_descr(descr) == type;
        if (same) PyArray_ScalarAsCtype(number, to);
        return PyErr_Clear(), same;
    }
    if (PyBool_Check(number)) return *to = number == Py_True, type == GB_BOOL;
    if (!gb_type_is_complex(type)) return put_real(to, type, number);
    int real = gb_type_real(type);
    int64_t half = gb_type_size(real);
    memset(to, 0, 2 * (size_t)half);
    if (!PyComplex_CheckExact(number)) return put_real(to, real, number);
    GB_PY_OWNED PyObject *a = PyFloat_FromDouble(PyComplex_RealAsDouble(number)),
                         *b = PyFloat_FromDouble(PyComplex_ImagAsDouble(number));
    return a && b && put_real(to, real, a) && put_real(to + half, real, b);
}
