/* type.c: the Field types, their attributes and methods. */
#include "../core/attribute.h"
#include "../core/memory.h"
#include "../device/device.h"
#include "../named/named.h"
#include "../storage/storage.h"

#include <docs.h>
#include <structmember.h>

static gb_py_field *of(PyObject *self) { return (gb_py_field *)self; }

static int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(of(self)->owner);
    Py_VISIT(of(self)->cupy);
    return 0;
}

/* Drop the owner, and with it the elements. A block of the driver is in no cycle, and stays. */
static int clear(PyObject *self) {
    gb_py_field *f = of(self);
    if (f->owner && f->lists && !gb_py_is_block(f->owner)) {
        f->data = NULL;
        f->geometry.size = f->geometry.nbytes = 0;
        for (int i = 0; i < f->geometry.ndim; i++) f->geometry.shape[i] = 0;
        Py_CLEAR(f->owner);
    }
    Py_CLEAR(f->cupy);
    return 0;
}

/* ---- attributes ---- */

static PyObject *get_shape(PyObject *self, void *_) {
    return gb_py_ints_tuple(of(self)->geometry.shape, of(self)->geometry.ndim);
}
static PyObject *get_strides(PyObject *self, void *_) {
    return gb_py_ints_tuple(of(self)->geometry.strides, of(self)->geometry.ndim);
}
static PyObject *get_dims(PyObject *self, void *_) {
    return gb_py_dims_tuple(of(self)->geometry.dims, of(self)->geometry.ndim);
}
static PyObject *get_dtype(PyObject *self, void *_) {
    return Py_NewRef((PyObject *)of(self)->dtype->descr);
}
static PyObject *get_ndim(PyObject *self, void *_) {
    return PyLong_FromLong(of(self)->geometry.ndim);
}
static PyObject *get_size(PyObject *self, void *_) {
    return PyLong_FromLongLong(of(self)->geometry.size);
}
static PyObject *get_nbytes(PyObject *self, void *_) {
    return PyLong_FromLongLong(of(self)->geometry.nbytes);
}
static PyObject *get_device(PyObject *self, void *_) {
    return gb_py_device_name(of(self)->location.gpu, of(self)->location.device);
}
static PyObject *get_readonly(PyObject *self, void *_) {
    return PyBool_FromLong(of(self)->readonly);
}

static PyObject *get_origin(PyObject *self, void *_) {
    gb_py_field *f = of(self);
    return f->origin ? gb_py_ints_tuple(f->origin, f->geometry.ndim) : Py_NewRef(Py_None);
}

static PyObject *get_halo(PyObject *self, void *_) {
    gb_py_field *f = of(self);
    return f->halo ? gb_py_pairs_tuple(f->halo, f->geometry.ndim) : Py_NewRef(Py_None);
}

static PyObject *get_plan(PyObject *self, void *_) {
    return Py_XNewRef((PyObject *)gb_py_field_plan(of(self)));
}

/* _plan_at(index): plan of wrapped memory whose owner says which element was aligned. */
static PyObject *plan_at(PyObject *self, PyObject *index) {
    gb_py_field *f = of(self);
    int n = f->geometry.ndim;
    int64_t at[GB_MAXDIMS];
    uint64_t distance = 0;
    if (!PyTuple_Check(index) || PyTuple_Size(index) != n) return get_plan(self, NULL);
    for (int i = 0; i < n; i++) {
        if (gb_py_int64(PyTuple_GetItem(index, i), "aligned_index", "ints", &at[i]) < 0)
            return NULL;
        distance += (uint64_t)at[i] * (uint64_t)f->geometry.strides[i];
    }
    gb_py_plan_object *made = gb_py_plan_describe(
        &f->geometry, (uintptr_t)(f->data) + (uintptr_t)distance, f->dtype, f->location);
    if (!made) return NULL;
    memcpy(made->plan->aligned_index, at, (size_t)n * sizeof *at);
    made->plan->want.offset = (int64_t)((0 - distance) & (uint64_t)(made->plan->want.boundary - 1));
    return (PyObject *)made;
}

/* The plan this Field was allocated by; None for a view and for wrapped memory. */
static PyObject *get_own_plan(PyObject *self, void *_) {
    return Py_NewRef(of(self)->lists ? Py_None : (PyObject *)of(self)->plan);
}

/* gt4py asks each argument of each call for both attributes, so their texts are made once. */
static PyObject *no_dims, *no_origin, *own_names;

static PyObject *no_attribute(PyObject *text) {
    PyErr_SetObject(PyExc_AttributeError, text);
    return NULL;
}

static PyObject *get_gt_dims(PyObject *self, void *_) {
    if (!of(self)->dims_given) return no_attribute(no_dims);
    return gb_py_has_own_names(of(self)) ? no_attribute(own_names) : get_dims(self, NULL);
}

/* In the order I, J, K, then ascending data dimensions: gt4py transposes an array by __gt_dims__
 * but takes
 * __gt_origin__ as it is. */
static PyObject *get_gt_origin(PyObject *self, void *_) {
    gb_py_field *f = of(self);
    if (!f->origin) return no_attribute(no_origin);
    if (gb_py_has_own_names(f)) return no_attribute(own_names);
    int n = f->geometry.ndim;
    int64_t sorted[GB_MAXDIMS];
    for (int i = 0; i < n; i++) {
        int rank = 0;
        for (int j = 0; j < n; j++) rank += f->geometry.dims[j] < f->geometry.dims[i];
        sorted[rank] = f->origin[i];
    }
    return gb_py_ints_tuple(sorted, n);
}

/* Whether dims were given; default names stay with their indices. */
static PyObject *get_dims_given(PyObject *self, void *_) {
    return PyBool_FromLong(of(self)->dims_given);
}

static int set_dims_given(PyObject *self, PyObject *value, void *_) {
    int given = value ? gb_py_bool(value, "_dims_given", "a bool") : -1;
    if (given < 0) return -1;
    of(self)->dims_given = (uint8_t)given;
    return 0;
}

/* Attributes cannot be set: other Fields share the memory, and stencils may rely on them. */
static int not_settable(PyObject *self, PyObject *value, void *name) {
    return gb_py_fail(PyExc_AttributeError,
                      "%s: it cannot be set; gridbuf.Field(f, %s=...) is a Field over the same "
                      "memory with another",
                      (const char *)name, (const char *)name);
}

static int domain_not_settable(PyObject *self, PyObject *value, void *_) {
    PyErr_SetString(PyExc_AttributeError,
                    "domain: it cannot be set; field.domain[...] = value writes its elements");
    return -1;
}

static PyGetSetDef getset[] = {
    {"__class__", gb_py_field_get_class, gb_py_field_set_class,
     "The type, which says where the memory lies.", NULL},
    {"shape", get_shape, NULL, "Elements along each index (tuple of int).", NULL},
    {"dtype", get_dtype, NULL, "The element type (np.dtype).", NULL},
    {"strides", get_strides, NULL,
     "Bytes from one element to the next along each index (tuple of int).", NULL},
    {"ndim", get_ndim, NULL, "How many indices (int).", NULL},
    {"size", get_size, NULL, "How many elements (int).", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of the elements alone (int).", NULL},
    {"dims", get_dims, not_settable,
     "The name of each index (tuple of str), the default names when none were given.", "dims"},
    {"_dims_given", get_dims_given, set_dims_given,
     "Whether dims were given (bool); set on new Fields only.", NULL},
    {"origin", get_origin, not_settable,
     "The first point of the domain, in index order (tuple of int), or None.", "origin"},
    {"halo", get_halo, not_settable,
     "(low, high) elements around the domain, for each index, or None.", "halo"},
    {"T", gb_py_field_reversed, NULL, "The same memory with the indices in reverse order.", NULL},
    {"device", get_device, NULL, "'cpu' or ('gpu', n).", NULL},
    {"readonly", get_readonly, NULL, "Whether the memory must not be written to (bool).", NULL},
    {"plan", get_plan, NULL, "The layout as a gridbuf.Plan.", NULL},
    {"_own_plan", get_own_plan, NULL, "The plan this Field was allocated by, or None.", NULL},
    {"domain", gb_py_field_domain, domain_not_settable,
     "The Field without its halo, sharing memory.", NULL},
    {"__gt_dims__", get_gt_dims, NULL, "The dims for gt4py; absent when none were given.", NULL},
    {"__gt_origin__", get_gt_origin, NULL,
     "The origin for gt4py, in the order I, J, K, 0, 1, ...; absent when not given.", NULL},
    {NULL},
};

static Py_ssize_t length(PyObject *self) {
    if (of(self)->geometry.ndim > 0) return (Py_ssize_t)of(self)->geometry.shape[0];
    return gb_py_fail(PyExc_TypeError, "len() of a Field without indices");
}

/* Truth value of one element; several have none, as in NumPy. */
static int truth(PyObject *self) {
    gb_py_field *f = of(self);
    GB_PY_OWNED PyObject *host = f->location.kind == GB_PY_ON_DEVICE && f->geometry.size == 1
                                     ? gb_py_on_host(f)
                                     : Py_NewRef(self);
    GB_PY_OWNED PyObject *array = host ? gb_py_field_numpy(host, NULL) : NULL;
    return array ? PyObject_IsTrue(array) : -1;
}

/* ---- operators ---- */

static PyObject *unary(int which, PyObject *a) { return gb_py_unary(gb_py_field_quick, which, a); }

static PyObject *binary(int which, PyObject *a, PyObject *b) {
    if (gb_py_is_storage(a) || gb_py_is_storage(b)) {
        if (which >= GB_PY_U_LESS)
            return gb_py_binary(gb_py_by_name, GB_PY_UP_STORAGE_BINARY, which, 0, a,
                                b); /* reflected, the storage's order would lead */
        Py_RETURN_NOTIMPLEMENTED;   /* Python calls the storage's operator next */
    }
    return gb_py_binary(gb_py_field_quick, GB_PY_UP_FIELD_BINARY, which, gb_py_is_field(a), a, b);
}

static PyObject *in_place(int which, PyObject *a, PyObject *b) {
    return gb_py_in_place(gb_py_field_quick, GB_PY_UP_FIELD_IN_PLACE, which, a, b);
}

GB_PY_DEFINE_OPERATORS

/* ---- the types ---- */

#define FAST (METH_FASTCALL | METH_KEYWORDS)
static PyMethodDef methods[] = {
    {"empty", (PyCFunction)(void *)gb_py_field_empty, FAST | METH_STATIC, GB_PY_DOC_Field_empty},
    {"zeros", (PyCFunction)(void *)gb_py_field_zeros, FAST | METH_STATIC, GB_PY_DOC_Field_zeros},
    {"ones", (PyCFunction)(void *)gb_py_field_ones, FAST | METH_STATIC, GB_PY_DOC_Field_ones},
    {"full", (PyCFunction)(void *)gb_py_field_full, FAST | METH_STATIC, GB_PY_DOC_Field_full},
    {"numpy", gb_py_field_numpy, METH_NOARGS, GB_PY_DOC_Field_numpy},
    {"__array_ufunc__", (PyCFunction)(void *)gb_py_field_array_ufunc, METH_VARARGS | METH_KEYWORDS,
     GB_PY_DOC_Field___array_ufunc__},
    {"_plan_at", plan_at, METH_O, "The plan, where that element was aligned."},
    {"_around", gb_py_field_around, METH_O | METH_CLASS,
     "A Field of this class over the memory of another."},
    {"_empty_like", gb_py_field_empty_like, METH_NOARGS,
     "An empty Field of the same plan, dims, origin and halo; None for a view."},
    {"transpose", (PyCFunction)(void *)gb_py_field_transpose, METH_FASTCALL,
     GB_PY_DOC_Field_transpose},
    {"__dlpack__", (PyCFunction)(void *)gb_py_field_dlpack, FAST, GB_PY_DOC_Field___dlpack__},
    {"__dlpack_device__", gb_py_field_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n(device type, device id) as DLPack numbers them."},
    {NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(gb_py_field, weakrefs), READONLY, NULL},
    {NULL},
};

static PyType_Slot field_slots[] = {
    {Py_tp_doc, GB_PY_DOC_Field},
    {Py_tp_new, gb_py_field_new},
    {Py_tp_dealloc, gb_py_field_dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_getset, getset},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_mp_subscript, gb_py_field_subscript},
    {Py_mp_ass_subscript, gb_py_field_assign},
    {Py_mp_length, length},
    {Py_sq_length, length},
    {Py_sq_item, gb_py_item},
    {Py_tp_iter, gb_py_field_iter},
    GB_PY_OPERATOR_SLOTS,
    {Py_nb_bool, truth},
    {0, NULL},
};

static PyGetSetDef host_getset[] = {
    {"__array_interface__", gb_py_field_array_interface, NULL,
     "NumPy's array interface, version 3.", NULL},
    {NULL},
};

static PyType_Slot host_slots[] = {
    /* without this, subtype_dealloc of Python would run first */
    {Py_tp_dealloc, gb_py_field_dealloc},
    {Py_tp_getset, host_getset},
    {Py_bf_getbuffer, gb_py_field_getbuffer},
    {Py_tp_doc, "A Field in host memory. Made by gridbuf.Field."},
    {0, NULL},
};

/* Methods of the type alone: see attribute.h. */
static PyMethodDef protocols[] = {
    {"__array_function__", (PyCFunction)(void *)gb_py_field_array_function, METH_FASTCALL,
     GB_PY_DOC_Field___array_function__},
    {NULL},
};

static void refuse(PyObject *obj, PyObject *name) {
    PyErr_Format(PyExc_AttributeError, "%R is for NumPy, which asks the type of a Field", name);
}

int gb_py_field_init(PyObject *module) {
    no_dims = PyUnicode_FromString(
        "this Field has no __gt_dims__: no dims were given, so a stencil's annotation decides");
    no_origin =
        PyUnicode_FromString("this Field has no __gt_origin__: neither origin nor halo was given");
    own_names = PyUnicode_FromString("this Field has no __gt_dims__ and __gt_origin__: gt4py's "
                                     "stencils know I, J, K and numbers, not all of its dims");
    if (!no_dims || !no_origin || !own_names) return -1;
    if (gb_py_add_type(module, &gb_py_FieldType,
                       (PyType_Spec){"gridbuf.Field", sizeof(gb_py_field), 0,
                                     GB_PY_OPEN | Py_TPFLAGS_HAVE_GC, field_slots},
                       NULL) < 0 ||
        gb_py_type_only_methods(gb_py_FieldType, protocols, refuse) < 0)
        return -1;
    return gb_py_add_type(
        module, &gb_py_HostFieldType,
        (PyType_Spec){"gridbuf.HostField", GB_PY_FIELD_SIZE(1), 0, GB_PY_OPEN, host_slots},
        gb_py_FieldType); /* garbage collection is inherited */
}
