/* request.c: a request for memory read from the keywords of gridbuf.empty: the backend, then the
 * rest. */
#include "args.h"

/* ---- the backend ---- */

static PyObject *functions; /* preset number -> function(dims) -> layout */

static void unknown_backend(PyObject *name, const char *text, Py_ssize_t length) {
    char quoted[300], *known = gb_preset_names(", ", 500);
    if (!known) {
        PyErr_NoMemory();
        return;
    }
    PyObject *message;
    if (strlen(text) == (size_t)length)
        message = PyUnicode_FromFormat("backend: %s is not known; known are %s",
                                       gb_quoted(quoted, sizeof quoted, text), known);
    else /* a name with a null character */
        message = PyUnicode_FromFormat("backend: %R is not known; known are %s", name, known);
    free(known);
    gb_py_error_with_suggestion(gb_py_BackendError, name, gb_py_backends(NULL, NULL), message);
}

static const gb_preset *preset_named(PyObject *name) {
    Py_ssize_t length;
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "backend: expected a name (str), got %R", name);
        return NULL;
    }
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text) return NULL;
    const gb_preset *preset = strlen(text) == (size_t)length ? gb_preset_named(text) : NULL;
    if (!preset) unknown_backend(name, text, length);
    return preset;
}

/* Call the function of the preset for the layout of these dims. */
static int call_function(gb_request *r) {
    int32_t dims[GB_MAXDIMS];
    int n = r->ndim - r->sub_ndim;
    for (int i = 0; i < n; i++) dims[i] = gb_request_dim(r, i);
    GB_PY_OWNED PyObject *number = PyLong_FromLong(r->backend), *names = gb_py_dims_tuple(dims, n),
                         *layout = NULL;
    GB_PY_OWNED PyObject *function =
        number && functions ? Py_XNewRef(PyDict_GetItemWithError(functions, number)) : NULL;
    if (function && names) layout = PyObject_CallFunctionObjArgs(function, names, NULL);
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError,
                        "backend: its layout is a function, and registering it failed");
    int64_t ranks[GB_MAXDIMS];
    r->layout_len = layout ? gb_py_ints(layout, "layout", ranks, GB_MAXDIMS) : -1;
    for (int i = 0; i < r->layout_len; i++)
        r->layout[i] = ranks[i] < 0 || ranks[i] >= GB_MAXDIMS ? -1 : (int32_t)ranks[i];
    return r->layout_len < 0 ? -1 : 0;
}

int gb_py_read_backend(PyObject *obj, gb_request *r) {
    r->backend = 0; /* "C", the first preset */
    if (!obj) return 0;
    const gb_preset *preset = preset_named(obj);
    if (!preset) return -1;
    r->backend = preset->number;
    return preset->order == GB_BY_CALLER && r->layout_len < 0 ? call_function(r) : 0;
}

gb_py_default_backend gb_py_default;
int gb_py_registered_so_far;

/* set_default_backend(name or None, function or None); gridbuf.defaults has checked both. */
PyObject *gb_py_set_default_backend(PyObject *self, PyObject *args) {
    PyObject *name, *ask;
    if (!PyArg_ParseTuple(args, "OO", &name, &ask)) return NULL;
    GB_PY_OWNED PyObject *name_before = gb_py_default.name, *ask_before = gb_py_default.ask;
    gb_py_default.name = name == Py_None ? NULL : Py_NewRef(name);
    gb_py_default.ask = ask == Py_None ? NULL : Py_NewRef(ask);
    Py_RETURN_NONE;
}

/* layout: the function of a preset of order GB_BY_CALLER. */
int gb_py_add_backend(PyObject *name, PyObject *layout, gb_preset *preset) {
    gb_error e;
    Py_ssize_t bytes;
    if (!PyUnicode_Check(name))
        return gb_py_fail(PyExc_TypeError, "name: expected a str, got %R", name);
    const char *text = PyUnicode_AsUTF8AndSize(name, &bytes);
    if (!text) return -1;
    if ((size_t)bytes != strlen(text))
        return gb_py_fail(PyExc_ValueError, "name: %R has a null character", name);
    if (!functions && !(functions = PyDict_New())) return -1;
    if (gb_preset_register(text, preset, &e) < 0) return gb_py_raise(&e);
    GB_PY_OWNED PyObject *number =
        preset->order == GB_BY_CALLER ? PyLong_FromLong(preset->number) : NULL;
    int rc = 0;
    if (preset->order == GB_BY_CALLER) rc = number ? PyDict_SetItem(functions, number, layout) : -1;
    gb_py_registered_so_far++;
    return rc;
}

PyObject *gb_py_registrations(PyObject *self, PyObject *none) {
    return PyLong_FromLong(gb_py_registered_so_far);
}

PyObject *gb_py_backends(PyObject *self, PyObject *none) {
    char *names = gb_preset_names("\n", 0);
    if (!names) return PyErr_NoMemory();
    GB_PY_OWNED PyObject *text = PyUnicode_FromString(names), *newline = PyUnicode_FromString("\n");
    GB_PY_OWNED PyObject *list = text && newline ? PyUnicode_Split(text, newline, -1) : NULL;
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    free(names);
    return tuple;
}

/* ---- the other keywords ---- */

static int read_shape(PyObject *obj, gb_request *r, int sub_ndim) {
    if (PyIndex_Check(obj) && !PySequence_Check(obj)) { /* an int, as NumPy accepts it */
        return gb_py_int64(obj, "shape", "an int or a sequence of ints", &r->shape[0]) < 0 ? -1 : 1;
    }
    return gb_py_ints(obj, "shape", r->shape, GB_MAXDIMS - sub_ndim);
}

static int read_padding(PyObject *obj, gb_request *r) {
    if (!obj || obj == Py_None) r->padding = GB_PAD_AS_PRESET;
    else if (PyBool_Check(obj) || PyArray_IsScalar(obj, Bool))
        r->padding = PyObject_IsTrue(obj) ? GB_PAD_TO_BOUNDARY : GB_PAD_NONE;
    else {
        if (gb_py_int64(obj, "padding", "None, a bool or an int (items)", &r->padding) < 0)
            return -1;
        if (r->padding < 0 || r->padding > 1 << 30)
            return gb_py_fail(PyExc_ValueError,
                              "padding: %R items is not allowed; give 0 to 2**30, a bool or None",
                              obj);
        if (r->padding == 0) r->padding = GB_PAD_NONE;
    }
    return 0;
}

static int is_text(PyObject *obj, const char *text) {
    return PyUnicode_Check(obj) && PyUnicode_CompareWithASCIIString(obj, text) == 0;
}

static int read_device(PyObject *obj, gb_request *r) {
    if (!obj || obj == Py_None) return 0;
    if (is_text(obj, "cpu")) {
        r->device = GB_CPU;
        return 0;
    }
    if (is_text(obj, "gpu")) {
        r->device = GB_GPU;
        return 0;
    }
    if (PyTuple_Check(obj) && PyTuple_Size(obj) == 2 && is_text(PyTuple_GetItem(obj, 0), "gpu")) {
        int64_t id;
        r->device = GB_GPU;
        if (gb_py_int64(PyTuple_GetItem(obj, 1), "device", "('gpu', n)", &id) < 0) return -1;
        if (id >= 0 && id < 1 << 16) {
            r->device_id = (int32_t)id;
            return 0;
        }
    }
    return gb_py_fail(PyExc_ValueError,
                      "device: %R is not known; allowed are None, 'cpu', 'gpu' and ('gpu', n)",
                      obj);
}

static int read_memory(PyObject *obj, gb_request *r) {
    if (!obj || obj == Py_None) return 0;
    if (is_text(obj, "pinned")) {
        r->memory = GB_PINNED;
        return 0;
    }
    if (is_text(obj, "managed")) {
        r->memory = GB_MANAGED;
        return 0;
    }
    return gb_py_fail(PyExc_ValueError,
                      "memory: %R is not known; allowed are None, 'pinned' and 'managed'", obj);
}

static int read_byte_alignment(PyObject *obj, gb_request *r) {
    if (!obj || obj == Py_None) return 0;
    if (gb_py_int64(obj, "byte_alignment", "an int (bytes)", &r->byte_alignment) < 0) return -1;
    if (r->byte_alignment > 0 && (r->byte_alignment & (r->byte_alignment - 1)) == 0) return 0;
    return gb_py_fail(PyExc_ValueError,
                      "byte_alignment: %R is not allowed; give a power of two (bytes)", obj);
}

static int length_error(const char *arg, int got, int want) {
    return gb_py_fail(PyExc_ValueError, "%s: %d entries for %d indices; give one for each", arg,
                      got, want);
}

static int read_dims(PyObject **slots, gb_request *r, gb_py_meta *meta) {
    PyObject *obj = slots[GB_PY_ARG_DIMENSIONS];
    const char *arg = "dimensions";
    if (slots[GB_PY_ARG_DIMS] && slots[GB_PY_ARG_DIMS] != Py_None) {
        if (obj && obj != Py_None)
            return gb_py_fail(PyExc_TypeError,
                              "dims and dimensions mean the same; give one of them");
        obj = slots[GB_PY_ARG_DIMS];
        arg = "dims";
    }
    if (!obj || obj == Py_None) return 0;
    r->dims_len = gb_py_dims(obj, arg, r->dims, GB_MAXDIMS);
    meta->has_dims = 1;
    if (r->dims_len >= 0 && r->dims_len != meta->base)
        return length_error(arg, r->dims_len, meta->base);
    return r->dims_len < 0 ? -1 : 0;
}

/* "J (index 1)"; dims: codes of the names, or NULL. */
static const char *index_name(char *text, size_t room, const int32_t *dims, int i) {
    int32_t code = dims ? dims[i] : GB_DIM_I + i;
    if (code < 0) snprintf(text, room, "%c (index %d)", GB_DIM_LETTER(code), i);
    else if (code >= GB_DIM_NAMED)
        snprintf(text, room, "%.12s (index %d)", gb_py_own_name(code), i);
    else snprintf(text, room, "index %d", i);
    return text;
}

static int read_halo(PyObject *obj, const int64_t *shape, const int32_t *dims, gb_py_meta *meta) {
    if (!obj || obj == Py_None) return 0;
    int n = gb_py_halo(obj, meta->base, meta->halo, GB_MAXDIMS);
    if (n < 0) return -1;
    if (n != meta->base) return length_error("halo", n, meta->base);
    meta->has_halo = 1;
    for (int i = 0; i < n; i++) {
        int64_t low = meta->halo[2 * i], high = meta->halo[2 * i + 1];
        if (shape[i] >= 0 && (low > shape[i] || high > shape[i] - low)) {
            char name[32];
            return gb_py_fail(PyExc_ValueError,
                              "halo: (%lld, %lld) is more than the %lld elements of %s",
                              (long long)low, (long long)high, (long long)shape[i],
                              index_name(name, sizeof name, dims, i));
        }
    }
    return 0;
}

static int read_origin(PyObject *obj, const int64_t *shape, gb_py_meta *meta) {
    if (obj && obj != Py_None) {
        int n = gb_py_ints(obj, "origin", meta->origin, GB_MAXDIMS);
        if (n < 0) return -1;
        if (n != meta->base) return length_error("origin", n, meta->base);
        for (int i = 0; i < n; i++)
            if (meta->origin[i] < 0 || (shape[i] >= 0 && meta->origin[i] > shape[i]))
                return gb_py_fail(
                    PyExc_ValueError,
                    "origin: %R does not lie in the shape; entries count elements from 0", obj);
        meta->has_origin = 1;
    } else if (meta->has_halo) {
        for (int i = 0; i < meta->base; i++) meta->origin[i] = meta->halo[2 * i];
        meta->has_origin = 1;
    }
    return 0;
}

int gb_py_read_meta(PyObject *origin, PyObject *halo, const int64_t *shape, int ndim,
                    gb_py_meta *meta) {
    gb_py_meta_clear(meta);
    meta->base = ndim;
    return read_halo(halo, shape, NULL, meta) < 0 || read_origin(origin, shape, meta) < 0 ? -1 : 0;
}

/* The element on the boundary: as given, else the lower halo, else the origin. */
static int read_aligned(PyObject *obj, gb_request *r, const gb_py_meta *meta) {
    if (obj && obj != Py_None) {
        r->aligned_len = gb_py_ints(obj, "aligned_index", r->aligned_index, GB_MAXDIMS);
        return r->aligned_len < 0 ? -1 : 0;
    }
    if (!meta->has_halo && !meta->has_origin) return 0;
    for (int i = 0; i < meta->base; i++)
        r->aligned_index[i] = meta->has_halo ? meta->halo[2 * i] : meta->origin[i];
    r->aligned_len = meta->base;
    return 0;
}

/* Letters from the largest stride to the smallest; letters of missing indices are ignored. */
static int read_order(PyObject *obj, gb_request *r, int base) {
    int32_t letters[GB_MAXDIMS];
    char name[32];
    int n = gb_py_dims(obj, "layout", letters, GB_MAXDIMS), rank = 0;
    if (n < 0) return -1;
    for (int i = 0; i < base; i++) r->layout[i] = -1;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < base; i++)
            if (letters[k] == gb_request_dim(r, i)) r->layout[i] = rank++;
    for (int i = 0; i < base; i++)
        if (r->layout[i] < 0)
            return gb_py_fail(
                PyExc_ValueError,
                "layout: %R does not name %s; give a letter for each, that of the largest "
                "stride first",
                obj, index_name(name, sizeof name, r->dims_len >= 0 ? r->dims : NULL, i));
    r->layout_len = base;
    return 0;
}

static int read_layout(PyObject *obj, gb_request *r, int base) {
    if (!obj || obj == Py_None) return 0;
    if (!gb_py_in_ranks(obj)) return read_order(obj, r, base);
    int64_t ranks[GB_MAXDIMS];
    int n = gb_py_ints(obj, "layout", ranks, GB_MAXDIMS);
    if (n < 0) return -1;
    for (int i = 0; i < n; i++)
        r->layout[i] = ranks[i] < 0 || ranks[i] >= GB_MAXDIMS ? -1 : (int32_t)ranks[i];
    r->layout_len = n;
    return 0;
}

/* The error about a dtype that is the name of a backend says so. */
static void backend_for_dtype(PyObject *obj) {
    const char *text = PyUnicode_Check(obj) && PyErr_ExceptionMatches(PyExc_TypeError)
                           ? PyUnicode_AsUTF8AndSize(obj, NULL)
                           : NULL;
    if (text && gb_preset_named(text))
        PyErr_Format(PyExc_TypeError, "dtype: %R is a backend, which goes by name: backend=%R", obj,
                     obj);
}

int gb_py_read_request(PyObject **slots, gb_request *r, gb_py_dtype **dtype, gb_py_meta *meta) {
    int64_t sub_shape[GB_MAXDIMS];
    memset(r, 0, offsetof(gb_request, shape));
    r->dims_len = r->aligned_len = r->layout_len = -1;
    gb_py_meta_clear(meta);
    meta->fill_value = slots[GB_PY_ARG_FILL_VALUE];

    PyObject *dtype_obj = slots[GB_PY_ARG_DTYPE];
    if (!dtype_obj || dtype_obj == Py_None) dtype_obj = (PyObject *)&PyFloat_Type;
    *dtype = gb_py_dtype_parse(dtype_obj, sub_shape, GB_MAXDIMS, &r->sub_ndim);
    if (!*dtype) {
        backend_for_dtype(dtype_obj);
        return -1;
    }
    r->itemsize = (*dtype)->itemsize;
    meta->base = read_shape(slots[GB_PY_ARG_SHAPE], r, r->sub_ndim);
    if (meta->base < 0) goto fail;
    for (int i = 0; i < r->sub_ndim; i++) r->shape[meta->base + i] = sub_shape[i];
    r->ndim = meta->base + r->sub_ndim;

    if (read_dims(slots, r, meta) < 0 ||
        read_halo(slots[GB_PY_ARG_HALO], r->shape, r->dims_len >= 0 ? r->dims : NULL, meta) < 0 ||
        read_origin(slots[GB_PY_ARG_ORIGIN], r->shape, meta) < 0 ||
        read_aligned(slots[GB_PY_ARG_ALIGNED_INDEX], r, meta) < 0 ||
        read_layout(slots[GB_PY_ARG_LAYOUT], r, meta->base) < 0 ||
        read_byte_alignment(slots[GB_PY_ARG_BYTE_ALIGNMENT], r) < 0 ||
        read_padding(slots[GB_PY_ARG_PADDING], r) < 0 ||
        read_device(slots[GB_PY_ARG_DEVICE], r) < 0 ||
        read_memory(slots[GB_PY_ARG_MEMORY], r) < 0 ||
        gb_py_read_backend(slots[GB_PY_ARG_BACKEND], r) < 0)
        goto fail;
    if (slots[GB_PY_ARG_ALIGNMENT] && slots[GB_PY_ARG_ALIGNMENT] != Py_None &&
        gb_py_int64(slots[GB_PY_ARG_ALIGNMENT], "alignment", "an int (items)", &r->alignment) < 0)
        goto fail;
    return 0;
fail:
    Py_CLEAR(*dtype);
    return -1;
}
