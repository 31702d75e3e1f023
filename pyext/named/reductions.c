/* reductions.c: reductions of host Fields and host storages over indices given by name or number,
 * by what NumPy reduces arrays with. Wrong names, operands elsewhere and of users' classes, `where`
 * and the like, and `out` of functions are left to gridbuf/named/reductions.py. */
#include "named.h"

/* The indices of an operand; dims: NULL where they have no names. */
typedef struct {
    int n;
    const int32_t *dims;
    char over[GB_MAXDIMS]; /* marked: reduced */
} indices;

static int mark_name(indices *x, char letter) {
    int k = 0;
    if (letter < 'I' || letter > 'K') return 0;
    while (k < x->n && x->dims[k] != GB_DIM_OF(letter)) k++;
    if (k == x->n || x->over[k]) return 0;
    return x->over[k] = 1;
}

/* Marks the indices that `part` means: a number, or names of I, J and K. 0: for Python to judge. */
static int mark(indices *x, PyObject *part) {
    if (PyLong_CheckExact(part)) {
        int overflow;
        long long k = PyLong_AsLongLongAndOverflow(part, &overflow);
        if (overflow || k < -x->n || k >= x->n) return 0;
        k += k < 0 ? x->n : 0;
        return x->over[k] ? 0 : (x->over[k] = 1);
    }
    if (!PyUnicode_CheckExact(part) || !x->dims) return 0;
    Py_ssize_t length;
    const char *letters = PyUnicode_AsUTF8AndSize(part, &length);
    if (!letters) PyErr_Clear();
    if (!letters || length == 0) return 0;
    for (; *letters; letters++)
        if (!mark_name(x, *letters)) return 0;
    return 1;
}

static int marked(indices *x, PyObject *axis) {
    if (!PyTuple_CheckExact(axis)) return mark(x, axis);
    Py_ssize_t count = PyTuple_Size(axis);
    int good = count > 0;
    for (Py_ssize_t i = 0; good && i < count; i++) good = mark(x, PyTuple_GetItem(axis, i));
    return good;
}

/* The marked indices as NumPy takes them. */
static PyObject *numbers_of(const indices *x) {
    int64_t all[GB_MAXDIMS];
    int count = 0;
    for (int i = 0; i < x->n; i++)
        if (x->over[i]) all[count++] = i;
    return count == 1 ? PyLong_FromLongLong(all[0]) : gb_py_ints_tuple(all, count);
}

/* Whether the indices that are not marked are those of an output, in the same order. */
static int left_are(const indices *x, const indices *out) {
    int k = 0;
    if (!x->dims != !out->dims) return 0;
    for (int i = 0; i < x->n; i++) {
        if (x->over[i]) continue;
        if (k == out->n || (x->dims && x->dims[i] != out->dims[k])) return 0;
        k++;
    }
    return k > 0 && k == out->n;
}

/* NumPy's reduction of an array over the marked indices: an array of those that stay, 0-d where
 * none does. NULL without an error: something else was found. */
static PyArrayObject *reduced_array(PyObject *of_numpy, PyObject *array, const indices *x) {
    int n = 0;
    for (int i = 0; i < x->n; i++) n += !x->over[i];
    GB_PY_OWNED PyObject *numbers = numbers_of(x);
    GB_PY_OWNED PyObject *found =
        numbers ? PyObject_CallFunctionObjArgs(of_numpy, array, numbers, NULL) : NULL;
    if (!found) return NULL;
    if (n ? !PyArray_CheckExact(found) : !PyArray_IsScalar(found, Generic)) return NULL;
    PyArrayObject *values = (PyArrayObject *)PyArray_FROM_O(found);
    if (values && PyArray_NDIM(values) != n) Py_CLEAR(values);
    return values;
}

/* A ufunc's reduction into the array of `out`, whose indices are those that stay. */
static PyObject *reduced_into(PyObject *reduce, PyObject *array, const indices *x, PyObject *target,
                              PyObject *out) {
    if (!PyArray_ISWRITEABLE((PyArrayObject *)target)) Py_RETURN_NOTIMPLEMENTED;
    GB_PY_OWNED PyObject *numbers = numbers_of(x);
    GB_PY_OWNED PyObject *found =
        numbers ? PyObject_CallFunctionObjArgs(reduce, array, numbers, Py_None, target, NULL)
                : NULL;
    return found ? Py_NewRef(out) : NULL;
}

static indices of_dims(const gb_py_field *f) {
    return (indices){f->geometry.ndim, f->dims_given ? f->geometry.dims : NULL, {0}};
}

static PyObject *field_into(PyObject *reduce, gb_py_field *f, PyObject *axis, gb_py_field *out) {
    indices x = of_dims(f), y = of_dims(out);
    if (!marked(&x, axis) || !left_are(&x, &y)) Py_RETURN_NOTIMPLEMENTED;
    GB_PY_OWNED PyObject *array = gb_py_field_numpy((PyObject *)f, NULL);
    GB_PY_OWNED PyObject *target = array ? gb_py_field_numpy((PyObject *)out, NULL) : NULL;
    return target ? reduced_into(reduce, array, &x, target, (PyObject *)out) : NULL;
}

static PyObject *of_field(PyObject *of_numpy, gb_py_field *f, PyObject *axis) {
    indices x = of_dims(f);
    int kept[GB_MAXDIMS], n = 0;
    if (x.n == 0 || (axis != Py_None && !marked(&x, axis))) Py_RETURN_NOTIMPLEMENTED;
    GB_PY_OWNED PyObject *array = gb_py_field_numpy((PyObject *)f, NULL);
    if (!array) return NULL;
    if (axis == Py_None) return PyObject_CallFunctionObjArgs(of_numpy, array, Py_None, NULL);
    GB_PY_OWNED PyArrayObject *found = reduced_array(of_numpy, array, &x);
    if (!found) return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    for (int i = 0; i < x.n; i++)
        if (!x.over[i]) kept[n++] = i;
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of(PyArray_DESCR(found));
    return dtype ? gb_py_field_holding(gb_py_field_of_indices(f, kept, n, dtype), found) : NULL;
}

/* The names of a storage's indices: 1, 0 where there is not one for each, or -1. */
static int names_of(PyObject *meta, int n, int32_t dims[GB_PY_STORAGE_AXES]) {
    char letters[GB_PY_STORAGE_AXES + 1];
    if (gb_py_meta_axes(meta, letters) < 0) return -1;
    if (n == 0 || (int)strlen(letters) != n) return 0;
    for (int i = 0; i < n; i++) dims[i] = GB_DIM_OF(letters[i]);
    return 1;
}

static PyObject *storage_into(PyObject *reduce, PyObject *storage, PyArrayObject *host,
                              PyObject *axis, PyObject *out, PyArrayObject *target) {
    GB_PY_OWNED PyObject *array = Py_NewRef((PyObject *)host),
                         *held = Py_NewRef((PyObject *)target),
                         *meta = Py_NewRef(((gb_py_storage *)storage)->meta),
                         *meta_of_out = Py_NewRef(((gb_py_storage *)out)->meta);
    int32_t dims[GB_PY_STORAGE_AXES], dims_of_out[GB_PY_STORAGE_AXES];
    indices x = {PyArray_NDIM(host), dims, {0}}, y = {PyArray_NDIM(target), dims_of_out, {0}};
    int named = names_of(meta, x.n, dims);
    if (named > 0) named = names_of(meta_of_out, y.n, dims_of_out);
    if (named < 0) return NULL;
    if (!named || !marked(&x, axis) || !left_are(&x, &y)) Py_RETURN_NOTIMPLEMENTED;
    return reduced_into(reduce, array, &x, held, out);
}

static PyObject *of_storage(PyObject *of_numpy, PyObject *storage, PyArrayObject *host,
                            PyObject *axis) {
    GB_PY_OWNED PyObject *array = Py_NewRef((PyObject *)host),
                         *meta = Py_NewRef(((gb_py_storage *)storage)->meta);
    int32_t dims[GB_PY_STORAGE_AXES];
    gb_py_cut cuts[GB_PY_STORAGE_AXES];
    indices x = {PyArray_NDIM(host), dims, {0}};
    if (axis == Py_None) return PyObject_CallFunctionObjArgs(of_numpy, array, Py_None, NULL);
    int named = names_of(meta, x.n, dims);
    if (named < 0) return NULL;
    if (!named || !marked(&x, axis)) Py_RETURN_NOTIMPLEMENTED;
    /* The result's Meta is that of a view without the reduced axes. */
    for (int i = 0; i < x.n; i++) {
        int64_t size = PyArray_DIM(host, i);
        cuts[i] = (gb_py_cut){0, 1, x.over[i] ? 1 : size, size, !x.over[i]};
    }
    GB_PY_OWNED PyArrayObject *found = reduced_array(of_numpy, array, &x);
    if (!found) return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    GB_PY_OWNED PyObject *left = gb_py_cut_meta(meta, x.n, cuts);
    return left ? gb_py_storage_holding(Py_TYPE(storage), left, found) : NULL;
}

/* A reduction by of_numpy(array, axis). */
static PyObject *reduced_by(PyObject *of_numpy, PyObject *obj, PyObject *axis) {
    if (gb_py_is_plain_field(obj)) return of_field(of_numpy, (gb_py_field *)obj, axis);
    PyArrayObject *host = gb_py_plain_storage(obj);
    if (host) return of_storage(of_numpy, obj, host, axis);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
}

/* NumPy's function as it reduces an array, or NULL: gridbuf.named.arguments.WHOLE. */
static PyObject *of_numpy(PyObject *function) {
    PyObject *whole = gb_py_upcall_get(GB_PY_UP_WHOLE);
    return whole && PyDict_Check(whole) ? PyDict_GetItemWithError(whole, function) : NULL;
}

/* reduced(function, obj, axis): NumPy's function with an axis at most; NotImplemented for anything
 * else. */
PyObject *gb_py_reduced(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError,
                            "reduced() takes function, obj and axis, got %zd arguments", nargs);
    PyObject *function = of_numpy(args[0]);
    if (function) return reduced_by(function, args[1], args[2]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
}

PyObject *gb_py_function_reduced(PyObject *self, PyObject *function, PyObject *args,
                                 PyObject *kwargs) {
    Py_ssize_t n = PyTuple_Check(args) ? PyTuple_Size(args) : 0,
               named = PyDict_Check(kwargs) ? PyDict_Size(kwargs) : 2;
    if (n < 1 || n + named > 2 || PyTuple_GetItem(args, 0) != self) Py_RETURN_NOTIMPLEMENTED;
    PyObject *axis = n == 2 ? PyTuple_GetItem(args, 1) : Py_None;
    if (named) axis = PyDict_GetItemWithError(kwargs, gb_py_word_axis);
    PyObject *found = axis ? of_numpy(function) : NULL;
    if (!found) return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    return reduced_by(found, self, axis);
}

/* A ufunc's reduction of an operand into an output of its class. */
static PyObject *into_alike(PyObject *reduce, PyObject *obj, PyObject *axis, PyObject *out) {
    if (gb_py_is_plain_field(obj) && gb_py_is_plain_field(out))
        return field_into(reduce, (gb_py_field *)obj, axis, (gb_py_field *)out);
    PyArrayObject *host = gb_py_plain_storage(obj),
                  *target = host ? gb_py_plain_storage(out) : NULL;
    if (target) return storage_into(reduce, obj, host, axis, out, target);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
}

PyObject *gb_py_ufunc_reduced(PyObject *args, PyObject *kwargs) {
    Py_ssize_t named = kwargs ? PyDict_Size(kwargs) : 0;
    PyObject *method = PyTuple_Size(args) == 3 && named < 3 ? PyTuple_GetItem(args, 1) : NULL;
    if (!method || !PyUnicode_Check(method) ||
        PyUnicode_CompareWithASCIIString(method, "reduce") != 0)
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *obj = PyTuple_GetItem(args, 2),
             *axis = named ? PyDict_GetItemWithError(kwargs, gb_py_word_axis) : NULL,
             *outs = axis && named == 2 ? PyDict_GetItemWithError(kwargs, gb_py_word_out) : NULL;
    if ((named && !axis) || (named == 2 && !outs)) Py_RETURN_NOTIMPLEMENTED;
    if (outs && (!PyTuple_Check(outs) || PyTuple_Size(outs) != 1)) Py_RETURN_NOTIMPLEMENTED;
    if (axis == Py_None && !gb_py_is_field(obj)) Py_RETURN_NOTIMPLEMENTED; /* a 0-d storage */
    GB_PY_OWNED PyObject *first = axis ? Py_NewRef(axis) : PyLong_FromLong(0);
    GB_PY_OWNED PyObject *reduce =
        first ? PyObject_GetAttr(PyTuple_GetItem(args, 0), method) : NULL;
    if (!reduce) return NULL;
    return outs ? into_alike(reduce, obj, first, PyTuple_GetItem(outs, 0))
                : reduced_by(reduce, obj, first);
}
