/* dtype.c: dtype records. NumPy is asked how it would export the dtype, so that an exporter of ours
 * can never disagree with NumPy's. */
#include "dtype.h"
#include "references.h"
#include "upcall.h"
#include "../../dlpack/datatypes.h"

#include <math.h>

static PyTypeObject *record_type;

/* Recently used records, by the address of their descr and by that of the object given for it
 * (np.float64). Entries hold references, so that no other object can get the address of one. */
#define MEMO 64
static struct {
    PyObject *key;
    gb_py_dtype *record;
} memo[2 * MEMO];

static int slot(const void *key) {
    return (int)(((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 58);
}

static void remember(int table, PyObject *key, gb_py_dtype *record) {
    int i = table * MEMO + slot(key);
    GB_PY_OWNED PyObject *old_key = memo[i].key;
    GB_PY_OWNED gb_py_dtype *old = memo[i].record;
    memo[i].key = Py_NewRef(key);
    memo[i].record = (gb_py_dtype *)Py_NewRef((PyObject *)record);
}

int gb_py_dtype_constant(PyObject *obj) {
    if (PyArray_DescrCheck(obj)) return !PyDataType_HASFIELDS((PyArray_Descr *)obj);
    return (PyType_GetFlags((PyTypeObject *)obj) & Py_TPFLAGS_IMMUTABLETYPE) != 0;
}

static void dealloc(PyObject *self) {
    gb_py_dtype *d = (gb_py_dtype *)self;
    Py_XDECREF(d->names);
    Py_XDECREF((PyObject *)d->descr);
    Py_XDECREF(d->typestr);
    Py_XDECREF(d->fields);
    free(d->format);
    GB_PY_FREE_OBJECT(self);
}

static int ask_exports(gb_py_dtype *d, int *flat) {
    const char *format;
    PyObject *typestr, *fields;
    GB_PY_OWNED PyObject *exports = gb_py_upcall_to(GB_PY_UP_EXPORTS, "(O)", (PyObject *)d->descr);
    if (!exports || !PyArg_ParseTuple(exports, "zOOp:exports", &format, &typestr, &fields, flat))
        return -1;
    if (format) d->format = strdup(format);
    if (typestr != Py_None) d->typestr = Py_NewRef(typestr);
    if (fields != Py_None) d->fields = Py_NewRef(fields);
    return 0;
}

_Static_assert(sizeof(long) == 8, "NPY_LONGLONG has the size of NPY_LONG, which is NPY_INT64");
#define TYPE_OF(with, T, numpy, ...) [NPY_##numpy] = GB_##T,
#define NPY_OF(with, T, numpy, ...) [GB_##T] = NPY_##numpy,

uint8_t gb_py_type_of_descr(const PyArray_Descr *descr) {
    static const uint8_t types[] = {
        GB_EACH_TYPE(TYPE_OF, )[NPY_LONGLONG] = GB_I64, [NPY_ULONGLONG] = GB_U64};
    int n = descr->type_num;
    return n >= 0 && (size_t)n < sizeof types ? types[n] : GB_RAW;
}

int gb_py_npy_type(int type) {
    static const uint8_t numbers[GB_TYPES] = {[GB_RAW] = NPY_VOID, GB_EACH_TYPE(NPY_OF, )};
    return numbers[type];
}

static int ask_dlpack(gb_py_dtype *d) {
    if (!PyArray_ISNBO(d->descr->byteorder)) return 0;
    DLDataType known = gb_dlpack_type_of(gb_py_type_of_descr(d->descr));
    if (d->descr->type_num >= NPY_USERDEF) {
        GB_PY_OWNED PyObject *name = PyObject_GetAttrString((PyObject *)d->descr, "name");
        const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        for (int i = 0; text && i < GB_DLPACK_EXTENDED_TYPES; i++) {
            const gb_dlpack_extended *e = &gb_dlpack_extended_types[i];
            if (strcmp(text, e->name) == 0 && d->itemsize * 8 == e->dtype.bits) known = e->dtype;
        }
        if (!text) return -1;
    }
    d->dl_code = known.code;
    d->dl_bits = known.bits;
    d->dl_ok = known.bits != 0;
    return 0;
}

gb_py_dtype *gb_py_dtype_of(PyArray_Descr *descr) {
    int i = slot(descr);
    if (__builtin_expect(memo[i].key == (PyObject *)descr &&
                             memo[i].record->names == PyDataType_NAMES(descr),
                         1))
        return (gb_py_dtype *)Py_NewRef((PyObject *)memo[i].record);
    gb_py_dtype *d = (gb_py_dtype *)PyType_GenericAlloc(record_type, 0);
    if (!d) return NULL;
    d->descr = (PyArray_Descr *)Py_NewRef((PyObject *)descr);
    d->itemsize = PyDataType_ELSIZE(descr);
    d->alignment = (uintptr_t)PyDataType_ALIGNMENT(descr);
    d->names = Py_XNewRef(PyDataType_NAMES(descr));
    /* fields that are structured themselves could be renamed without a trace in their owner */
    int flat;
    if (ask_exports(d, &flat) < 0 || ask_dlpack(d) < 0) {
        Py_DECREF((PyObject *)d);
        return NULL;
    }
    if (!d->names || flat) remember(0, (PyObject *)descr, d);
    return d;
}

gb_py_dtype *gb_py_dtype_of_type(int type) {
    GB_PY_OWNED PyArray_Descr *descr = PyArray_DescrFromType(gb_py_npy_type(type));
    return descr ? gb_py_dtype_of(descr) : NULL;
}

/* 'U' and 'S' without a length mean one character in an array, as in np.empty. */
static PyArray_Descr *as_in_array(PyArray_Descr *descr) {
    if (PyDataType_ELSIZE(descr) != 0) return descr;
    npy_intp one = 1;
    GB_PY_OWNED PyObject *sample = PyArray_Zeros(1, &one, descr, 0);
    if (!sample) return NULL;
    return (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)sample));
}

static int read_sub_shape(PyArray_Descr *descr, int64_t *sub_shape, int room, int *n) {
    GB_PY_OWNED PyObject *shape = PyObject_GetAttrString((PyObject *)descr, "shape");
    if (!shape) return -1;
    *n = (int)PyTuple_Size(shape);
    int ok = *n <= room;
    for (int i = 0; ok && i < *n; i++) sub_shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    if (ok) return 0;
    return gb_py_fail(PyExc_ValueError,
                      "dtype: %R brings %d indices; at most %d are allowed in all", descr, *n,
                      GB_MAXDIMS);
}

gb_py_dtype *gb_py_dtype_parse(PyObject *obj, int64_t *sub_shape, int room, int *n) {
    int i = MEMO + slot(obj);
    *n = 0;
    if (__builtin_expect(memo[i].key == obj, 1))
        return (gb_py_dtype *)Py_NewRef((PyObject *)memo[i].record);
    PyArray_Descr *descr;
    if (!PyArray_DescrConverter(obj, &descr)) {
        gb_py_prefix_error("dtype", 1);
        return NULL;
    }
    gb_py_dtype *record = NULL;
    if (PyDataType_FLAGCHK(descr, NPY_ITEM_REFCOUNT) ||
        PyDataType_FLAGCHK(descr, NPY_ITEM_HASOBJECT)) {
        PyErr_Format(PyExc_TypeError,
                     "dtype: %R holds Python objects; gridbuf allocates plain memory only", descr);
    } else if (PyDataType_HASSUBARRAY(descr)) {
        if (read_sub_shape(descr, sub_shape, room, n) == 0)
            record = gb_py_dtype_of(PyDataType_SUBARRAY(descr)->base);
    } else {
        descr = as_in_array(descr);
        record = descr ? gb_py_dtype_of(descr) : NULL;
        if (record && (PyType_Check(obj) || PyArray_DescrCheck(obj)) && gb_py_dtype_constant(obj))
            remember(1, obj, record);
    }
    Py_XDECREF((PyObject *)descr);
    return record;
}

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {0, NULL},
};

int gb_py_dtype_init(PyObject *module) {
    return gb_py_add_type(
        NULL, &record_type,
        (PyType_Spec){"gridbuf._core._DtypeRecord", sizeof(gb_py_dtype), 0, GB_PY_FINAL, slots},
        NULL);
}

/* ---- Python's numbers as elements ---- */

int gb_py_put_int(char *to, uint8_t type, long long v) {
#define FITS(ctype, low, high)                                       \
    do {                                                             \
        if (v < (long long)(low) || v > (long long)(high)) return 0; \
        ctype w = (ctype)v;                                          \
        memcpy(to, &w, sizeof w);                                    \
        return 1;                                                    \
    } while (0)
    switch (type) {
    case GB_I8: FITS(int8_t, INT8_MIN, INT8_MAX);
    case GB_U8: FITS(uint8_t, 0, UINT8_MAX);
    case GB_I16: FITS(int16_t, INT16_MIN, INT16_MAX);
    case GB_U16: FITS(uint16_t, 0, UINT16_MAX);
    case GB_I32: FITS(int32_t, INT32_MIN, INT32_MAX);
    case GB_U32: FITS(uint32_t, 0, UINT32_MAX);
    case GB_I64: FITS(int64_t, INT64_MIN, INT64_MAX);
    case GB_U64: FITS(uint64_t, 0, INT64_MAX);
    case GB_F32: FITS(float, -(1 << 24), 1 << 24);
    case GB_F64: FITS(double, -(1LL << 53), 1LL << 53);
    }
    return 0;
#undef FITS
}

int gb_py_put_float(char *to, uint8_t type, double v) {
    float narrow = (float)v;
    if (type == GB_F64) memcpy(to, &v, sizeof v);
    else if (type == GB_F32 && (isfinite(narrow) || !isfinite(v)))
        memcpy(to, &narrow, sizeof narrow);
    else return 0;
    return 1;
}

int gb_py_put_number(char *to, uint8_t type, PyObject *value) {
    int overflow;
    if (PyFloat_CheckExact(value)) return gb_py_put_float(to, type, PyFloat_AsDouble(value));
    if (!PyLong_CheckExact(value)) return 0;
    long long v = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && gb_py_put_int(to, type, v);
}
