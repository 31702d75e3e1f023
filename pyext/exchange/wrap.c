/* wrap.c: an object's memory by the first protocol that it offers, in a fixed order. */
#include "../core/attribute.h"
#include "exchange.h"
#include "../core/memory.h"
#include "../core/references.h"
#include "../core/upcall.h"

/* NotImplemented, as a new reference: this way is not there, the next one is tried. */
#define NEXT Py_NewRef(Py_NotImplemented)

/* Field behind an array's memory, or NULL. Borrowed. */
static gb_py_field *field_behind(PyArrayObject *array) {
    PyObject *base = (PyObject *)array;
    while (base && PyArray_Check(base) &&
           !PyArray_CHKFLAGS((PyArrayObject *)base, NPY_ARRAY_OWNDATA))
        base = PyArray_BASE((PyArrayObject *)base);
    return base && gb_py_is_field(base) ? (gb_py_field *)base : NULL;
}

/* Owner of an array's memory: for a Field's memory the Field's own owner, so that Fields over
 * arrays over Fields do not become a chain. Owned, except the block. */
static void find_owner(PyArrayObject *array, PyObject *otherwise, gb_py_imported *m) {
    gb_py_block_object *device = PyArray_BASE(array) ? gb_py_block_behind((PyObject *)array) : NULL;
    gb_py_field *field = device ? NULL : field_behind(array);
    if (device) m->location = gb_py_block_location(device->block, 0);
    m->owner = otherwise;
    if (device) m->owner = (PyObject *)device;
    if (field) {
        m->owner = field->owner;
        m->block = field->block;
        if (!m->owner && !m->block) m->owner = otherwise;
    }
    Py_XINCREF(m->owner);
}

static PyObject *of_array(PyTypeObject *type, PyArrayObject *array, PyObject *owner) {
    if (!type && PyArray_CheckExact(array)) return Py_NewRef((PyObject *)array);
    if (!type) return PyArray_View(array, NULL, &PyArray_Type);
    int64_t shape[GB_MAXDIMS], strides[GB_MAXDIMS];
    int n = PyArray_NDIM(array), kept = n < GB_MAXDIMS ? n : GB_MAXDIMS; /* more are refused */
    for (int i = 0; i < kept;
         i++) { /* a loop: NumPy has NULL for 0 dimensions, which memcpy must not get */
        shape[i] = PyArray_DIM(array, i);
        strides[i] = PyArray_STRIDE(array, i);
    }
    gb_py_imported m = {.descr = (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(array)),
                        .ndim = n,
                        .shape = shape,
                        .strides = strides,
                        .data = PyArray_DATA(array),
                        .readonly = !PyArray_ISWRITEABLE(array)};
    find_owner(array, owner, &m);
    if (m.block) gb_heap_share(m.block);
    PyObject *object = gb_py_from_memory(type, &m);
    if (m.block) gb_heap_release(m.block);
    gb_py_decref_foreign(m.owner);
    Py_DECREF((PyObject *)m.descr);
    return object;
}

PyObject *gb_py_unmasked(PyObject *obj) {
    int found = PyArray_CheckExact(obj) ? 0 : gb_py_has_any(obj, &gb_py_attr.mask, 1);
    GB_PY_OWNED PyObject *checked =
        found > 0 ? gb_py_upcall_to(GB_PY_UP_CHECK_MASK, "(O)", obj) : NULL;
    return found && !checked ? NULL : Py_NewRef(obj);
}

/* Unnamed padding ("8x", which V8 becomes) comes back as a structure without fields; make it plain
 * bytes again. Takes the reference. */
static PyObject *meaningful(PyObject *array) {
    PyArray_Descr *descr = PyArray_DESCR((PyArrayObject *)array);
    Py_ssize_t size = PyDataType_ELSIZE(descr);
    if (descr->type_num != NPY_VOID || size == 0) return array;
    GB_PY_OWNED PyObject *names = PyObject_GetAttrString((PyObject *)descr, "names"),
                         *given = array;
    if (!names) return NULL;
    int named = !PyTuple_Check(names) || PyTuple_Size(names);
    return named ? Py_NewRef(array)
                 : PyObject_CallMethod(array, "view", "N", PyUnicode_FromFormat("V%zd", size));
}

/* Use the array that NumPy made only if it shows the object's memory, and is no copy. Takes the
 * reference. */
static PyObject *of_numpys(PyTypeObject *type, PyObject *array, const void *data, int ndim) {
    if (!array || array == Py_NotImplemented) return array;
    if (PyArray_Check(array) && !(array = meaningful(array))) return NULL;
    PyArrayObject *a = (PyArrayObject *)array;
    int shared = PyArray_Check(array) && !PyDataType_REFCHK(PyArray_DESCR(a)) &&
                 PyArray_NDIM(a) == ndim && PyArray_DATA(a) == data;
    PyObject *object = shared ? of_array(type, a, array) : NEXT;
    Py_DECREF(array);
    return object;
}

/* PEP 3118. NumPy reads the format; when it cannot, it would copy item by item. */
static PyObject *of_buffer(PyTypeObject *type, PyObject *obj, int request) {
    Py_buffer b;
    if (!PyObject_CheckBuffer(obj)) return NEXT;
    GB_PY_HELD PyObject *view = PyMemoryView_FromObject(obj);
    if (!view || PyObject_GetBuffer(view, &b, PyBUF_FULL_RO) < 0)
        return gb_py_clear_description_error() ? NEXT : NULL;
    int indirect = 0;
    for (int i = 0; b.suboffsets && i < b.ndim; i++) indirect |= b.suboffsets[i] >= 0;
    PyObject *array = indirect ? NEXT : PyArray_FromAny(view, NULL, 0, 0, 0, NULL);
    if (!array && gb_py_clear_numpy_error())
        array = NEXT; /* a format that NumPy cannot read; no_memory reports it if no other protocol
                         works */
    const void *data = b.buf;
    int ndim = b.ndim;
    PyBuffer_Release(&b);
    return of_numpys(type, array, data, ndim);
}

/* Wrap through an attribute of the object. */
static inline PyObject *through(PyObject *name,
                                PyObject *(*wrap)(PyTypeObject *, PyObject *, PyObject *, int),
                                PyTypeObject *type, PyObject *obj, int request) {
    GB_PY_HELD PyObject *value = NULL;
    int found = gb_py_optional(obj, name, &value);
    if (found < 0) return NULL;
    return found ? wrap(type, obj, value, request) : NEXT;
}

static PyObject *of_struct(PyTypeObject *type, PyObject *obj, int request) {
    return through(gb_py_attr.array_struct, gb_py_wrap_struct, type, obj, request);
}

static PyObject *of_interface(PyTypeObject *type, PyObject *obj, int request) {
    return through(gb_py_attr.array_interface, gb_py_wrap_interface, type, obj, request);
}

static PyObject *of_producer(PyTypeObject *type, PyObject *obj, int request) {
    return through(gb_py_attr.dlpack, gb_py_from_producer, type, obj, request);
}

static PyObject *of_exchange(PyTypeObject *type, PyObject *obj, int request) {
    const DLPackExchangeAPI *api;
    int found = gb_py_exchange_find(obj, &api);
    if (found <= 0) return found < 0 ? NULL : NEXT;
    return gb_py_from_exchange(type, obj, api, request);
}

/* xarray and others: __array__ may copy; gridbuf.wrapping checks. */
static PyObject *of_method(PyTypeObject *type, PyObject *obj, int request) {
    int found = gb_py_has_any(obj, &gb_py_attr.array, 1);
    if (found <= 0) return found < 0 ? NULL : NEXT;
    GB_PY_OWNED PyObject *array = gb_py_upcall_to(GB_PY_UP_FROM_ARRAY_METHOD, "(O)", obj);
    return array ? of_array(type, (PyArrayObject *)array, array) : NULL;
}

/* Objects that only describe memory for stencils (__gt_interface__, __gt_data_interface__):
 * gridbuf.interface reads them. */
static PyObject *of_described(PyTypeObject *type, PyObject *obj, int request) {
    int found = gb_py_has_any(
        obj, (PyObject *[]){gb_py_attr.gt_interface, gb_py_attr.gt_data_interface}, 2);
    if (found <= 0) return found < 0 ? NULL : NEXT;
    GB_PY_OWNED PyObject *inside =
        gb_py_upcall_to(GB_PY_UP_DESCRIBED, "(OO)", obj, type ? Py_True : Py_False);
    return inside ? gb_py_wrap(type, inside) : NULL;
}

int gb_py_is_value(PyObject *obj) {
    return PyUnicode_Check(obj) || PyBytes_Check(obj) || PyList_Check(obj) || PyTuple_Check(obj) ||
           PyLong_Check(obj) || PyFloat_Check(obj) || PyComplex_Check(obj) ||
           PyArray_IsScalar(obj, Generic) || PyType_Check(obj);
}

static PyObject *no_memory(PyObject *obj) {
    GB_PY_OWNED PyObject *view =
        PyObject_CheckBuffer(obj) && !gb_py_is_value(obj) ? PyMemoryView_FromObject(obj) : NULL;
    GB_PY_OWNED PyObject *format = view ? PyObject_GetAttrString(view, "format") : NULL;
    if (format)
        PyErr_Format(
            PyExc_TypeError,
            "data: the buffer of %R has the format %R, which NumPy cannot read as plain memory",
            Py_TYPE(obj), format);
    if (format || (PyErr_Occurred() && !gb_py_clear_description_error())) return NULL;
    return PyErr_Format(PyExc_TypeError,
                        "data: %R has no memory to share (no buffer, array interface or DLPack); "
                        "gridbuf.from_array or Field.from_array makes a copy",
                        Py_TYPE(obj));
}

/* A capsule itself, as nanobind returns arrays. */
static PyObject *of_capsule(PyTypeObject *type, PyObject *capsule, int request) {
    PyObject *object = gb_py_from_capsule(type, capsule, request, 0);
    if (!object) gb_py_decref_later(capsule);
    return object;
}

static PyObject *of_cuda(PyTypeObject *type, PyObject *obj, int request) {
    int cuda = type && type != gb_py_HostFieldType ? gb_py_has_cuda_interface(obj) : 0;
    if (cuda < 0) return NULL;
    return cuda ? gb_py_wrap_cuda(type, obj) : NEXT;
}

static PyObject *of_no_device(PyTypeObject *type, PyObject *obj, int request) {
    int found = gb_py_has_any(obj, &gb_py_attr.cuda_array_interface, 1);
    if (found <= 0) return found < 0 ? NULL : NEXT;
    return PyErr_Format(PyExc_TypeError,
                        "data: %R is device memory, and a host array is needed; "
                        "gridbuf.Field(data).to(device='cpu') copies it",
                        Py_TYPE(obj));
}

typedef PyObject *(*way)(PyTypeObject *type, PyObject *obj, int request);

/* The first protocol that the object has decides, also when it fails. */
static PyObject *first_of(const way *ways, PyTypeObject *type, PyObject *obj, int request) {
    PyObject *object = NEXT;
    for (; *ways && object == Py_NotImplemented; ways++) {
        Py_DECREF(object);
        object = (*ways)(type, obj, request);
    }
    return object;
}

PyObject *gb_py_wrap_for(PyTypeObject *type, PyObject *obj, int request) {
    static const way ways[] = {of_exchange, of_buffer,    of_struct, of_interface, of_cuda,
                               of_producer, of_no_device, of_method, of_described, NULL};
    if (PyArray_CheckExact(obj)) return of_array(type, (PyArrayObject *)obj, obj);
    if (PyArray_Check(obj)) {
        GB_PY_OWNED PyObject *array = gb_py_unmasked(obj);
        return array ? of_array(type, (PyArrayObject *)array, array) : NULL;
    }
    if (gb_py_is_field(obj))
        return type ? gb_py_from_field(type, (gb_py_field *)obj) : gb_py_field_numpy(obj, NULL);
    if (gb_py_is_value(obj)) return no_memory(obj);
    if (PyCapsule_CheckExact(obj)) return of_capsule(type, obj, request);
    PyObject *object = first_of(ways, type, obj, request);
    if (object != Py_NotImplemented) return object;
    Py_DECREF(object);
    return no_memory(obj);
}

PyObject *gb_py_wrap(PyTypeObject *type, PyObject *obj) {
    return gb_py_wrap_for(type, obj, GB_PY_SHARE_ONLY);
}

PyObject *gb_py_host_array(PyObject *self, PyObject *obj) { return gb_py_wrap(NULL, obj); }

/* Memory by protocols that NumPy does not read. A producer that refuses may still make values for
 * NumPy
 * (__array__). */
PyObject *gb_py_unknown_to_numpy(PyObject *obj) {
    static const way ways[] = {of_exchange, of_producer, NULL};
    int numpys = gb_py_has_any(obj, &gb_py_attr.array, 1);
    if (numpys < 0) return NULL;
    PyObject *object = first_of(ways, NULL, obj, 0);
    if (!object && numpys && gb_py_clear_description_error()) return NEXT;
    if (object != Py_NotImplemented || numpys) return object;
    Py_DECREF(object);
    return of_described(NULL, obj, 0);
}

PyObject *gb_py_wrap_tensor(PyTypeObject *type, PyObject *obj, int request) {
    if (PyCapsule_CheckExact(obj)) return of_capsule(type, obj, request);
    PyObject *object = request & GB_PY_OWN_COPY ? NEXT : of_exchange(type, obj, request);
    if (object != Py_NotImplemented) return object;
    Py_DECREF(object);
    object = of_producer(type, obj, request);
    if (object == Py_NotImplemented &&
        request & GB_PY_OWN_COPY) { /* the producer has only the exchange API */
        Py_DECREF(object);
        object = of_exchange(type, obj, request);
        if (object && object != Py_NotImplemented) object = gb_py_copied(object);
    }
    if (object != Py_NotImplemented) return object;
    Py_DECREF(object);
    return PyErr_Format(PyExc_TypeError,
                        "data: %R has no __dlpack__; gridbuf.Field takes other kinds of memory",
                        Py_TYPE(obj));
}

/* Skip the call of Python for objects without metadata, which are most. */
int gb_py_inherited_metadata(PyObject *obj, PyObject *wrapped, PyObject *inherited[3]) {
    PyObject *const names[] = {gb_py_attr.gt_dims, gb_py_attr.gt_origin, gb_py_attr.dims,
                               gb_py_attr.gt_interface, gb_py_attr.gt_data_interface};
    int found = gb_setting_is("GRIDBUF_DEBUG", "1") ? 1 : gb_py_has_any(obj, names, 5);
    if (found <= 0) return found;
    GB_PY_OWNED PyObject *all = gb_py_upcall_to(GB_PY_UP_CARRIED, "(OO)", obj, wrapped);
    found =
        all && PyArg_ParseTuple(all, "OOO", &inherited[0], &inherited[1], &inherited[2]) ? 1 : -1;
    for (int i = 0; i < 3 && found == 1; i++) Py_INCREF(inherited[i]);
    return found;
}
