/* describe.c: the host entry of __gt_interface__. Plain arrays, host Fields and host storages need
 * no Python for it. */
#include "storage.h"
#include "../core/attribute.h"
#include "../field/field.h"

enum { SHAPE, TYPESTR, DATA, STRIDES, DIMS, ACQUIRE, TOUCH, RELEASE, KEYS };
static PyObject *words[KEYS];

int gb_py_describe_init(PyObject *module) {
    static const char *const texts[KEYS] = {"shape", "typestr", "data",  "strides",
                                            "dims",  "acquire", "touch", "release"};
    return gb_py_intern_names(texts, words, KEYS);
}

typedef struct {
    gb_py_dtype *dtype;
    int n;
    const int64_t *shape, *strides;
    void *data;
    int readonly;
} memory;

static PyObject *entry(const memory *m, PyObject *dims, PyObject *acquire, PyObject *touch) {
    GB_PY_OWNED PyObject *shape = gb_py_ints_tuple(m->shape, m->n),
                         *strides = gb_py_ints_tuple(m->strides, m->n),
                         *address = PyLong_FromVoidPtr(m->data);
    GB_PY_OWNED PyObject *data =
        address ? PyTuple_Pack(2, address, m->readonly ? Py_True : Py_False) : NULL;
    PyObject *made = shape && strides && data && dims && acquire && touch ? PyDict_New() : NULL;
    PyObject *const values[KEYS] = {shape, m->dtype->typestr, data,  strides,
                                    dims,  acquire,           touch, Py_None};
    for (int i = 0; made && i < KEYS; i++)
        if (PyDict_SetItem(made, words[i], values[i]) < 0) Py_CLEAR(made);
    return made;
}

static memory of_array(PyArrayObject *a, gb_py_dtype *dtype) {
    return (memory){dtype,
                    PyArray_NDIM(a),
                    (const int64_t *)PyArray_DIMS(a),
                    (const int64_t *)PyArray_STRIDES(a),
                    PyArray_DATA(a),
                    !PyArray_ISWRITEABLE(a)};
}

/* A Storage's _host_entry(): its host entry of __gt_interface__; None: for Python to ask. */
PyObject *gb_py_storage_host_entry(PyObject *self, PyObject *unused) {
    PyArrayObject *host = gb_py_storage_host(self);
    char letters[GB_PY_STORAGE_AXES + 1];
    if (!host) Py_RETURN_NONE;
    GB_PY_OWNED PyObject *held = Py_NewRef((PyObject *)host); /* later calls may run Python code */
    if (gb_py_meta_axes(((gb_py_storage *)self)->meta, letters) < 0) return NULL;
    int32_t codes[GB_PY_STORAGE_AXES];
    int n = 0;
    for (; letters[n]; n++) codes[n] = GB_DIM_OF(letters[n]);
    GB_PY_OWNED PyObject *dims = gb_py_dims_tuple(codes, n),
                         *acquire = gb_py_upcall_of(self, GB_PY_OF_STORAGE_TO_HOST),
                         *touch = gb_py_upcall_of(self, GB_PY_OF_STORAGE_WRITTEN);
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of(PyArray_DESCR(host));
    if (!dtype) return NULL;
    if (!dtype->typestr) Py_RETURN_NONE;
    memory m = of_array(host, dtype);
    return entry(&m, dims, acquire, touch);
}

/* A typestr describes numbers completely. */
static int is_number_type(const gb_py_dtype *dtype) {
    int type = dtype->descr->type_num;
    return dtype->typestr && (PyTypeNum_ISNUMBER(type) || PyTypeNum_ISFLOAT(type));
}

static PyObject *of_field(gb_py_field *f) {
    if (f->location.kind != GB_PY_HEAP || !is_number_type(f->dtype)) Py_RETURN_NONE;
    GB_PY_OWNED PyObject *dims = gb_py_dims_given(f);
    memory m = {f->dtype, f->geometry.ndim, f->geometry.shape, f->geometry.strides,
                f->data,  f->readonly};
    return entry(&m, dims, Py_None, Py_None);
}

static PyObject *of_ndarray(PyArrayObject *array) {
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of(PyArray_DESCR(array));
    if (!dtype) PyErr_Clear(); /* Python objects: gridbuf.interface raises the error */
    if (!dtype || !is_number_type(dtype)) Py_RETURN_NONE;
    memory m = of_array(array, dtype);
    return entry(&m, Py_None, Py_None, Py_None);
}

/* host_description(obj): the host memory as gridbuf.interface.read describes it; None: for Python
 * to find. */
PyObject *gb_py_host_description(PyObject *self, PyObject *obj) {
    if (PyArray_CheckExact(obj)) return of_ndarray((PyArrayObject *)obj);
    if (Py_TYPE(obj) == gb_py_HostFieldType) return of_field((gb_py_field *)obj);
    if (gb_py_plain_storage(obj)) return gb_py_storage_host_entry(obj, NULL);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}
