/* type.c: gridbuf._core.StorageBase, which gridbuf.storage.base.Storage is derived from. */
#include "../core/attribute.h"
#include "../named/named.h"

#include <structmember.h>

static int traverse(PyObject *self, visitproc visit, void *arg) {
    gb_py_storage *s = (gb_py_storage *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(s->host);
    Py_VISIT(s->dev);
    Py_VISIT(s->meta);
    Py_VISIT(s->pair);
    return 0;
}

static int clear(PyObject *self) {
    gb_py_storage *s = (gb_py_storage *)self;
    Py_CLEAR(s->host);
    Py_CLEAR(s->dev);
    Py_CLEAR(s->meta);
    Py_CLEAR(s->pair);
    return 0;
}

static void dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    if (((gb_py_storage *)self)->weakrefs) PyObject_ClearWeakRefs(self);
    clear(self);
    GB_PY_FREE_OBJECT(self);
}

static PyObject *refuse(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    GB_PY_OWNED PyObject *name = PyObject_GetAttrString((PyObject *)type, "__name__");
    if (name)
        PyErr_Format(PyExc_TypeError,
                     "%U is not made by calling it; use gridbuf.storage.empty, zeros, ones, full, "
                     "storage or as_storage",
                     name);
    return NULL;
}

/* _of(host, dev, meta, pair=None) */
static PyObject *of(PyObject *cls, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 3 && nargs != 4)
        return PyErr_Format(PyExc_TypeError,
                            "_of() takes host, dev, meta and pair, got %zd arguments", nargs);
    return gb_py_storage_new((PyTypeObject *)cls, args[0], args[1], args[2],
                             nargs == 4 ? args[3] : Py_None);
}

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(gb_py_storage, weakrefs), READONLY, NULL},
    {"_host", T_OBJECT_EX, offsetof(gb_py_storage, host), READONLY, "The host buffer or None."},
    {"_dev", T_OBJECT_EX, offsetof(gb_py_storage, dev), READONLY, "The device buffer or None."},
    {"_meta", T_OBJECT_EX, offsetof(gb_py_storage, meta), 0, "What the indices mean."},
    {"_pair", T_OBJECT_EX, offsetof(gb_py_storage, pair), READONLY,
     "Both buffers of a software-managed storage, or None."},
    {NULL},
};

static PyMethodDef methods[] = {
    {"_of", (PyCFunction)(void *)of, METH_FASTCALL | METH_CLASS, "A storage over these buffers."},
    {"__array_ufunc__", (PyCFunction)(void *)gb_py_storage_array_ufunc,
     METH_VARARGS | METH_KEYWORDS, "What NumPy's ufuncs ask."},
    {"_host_entry", gb_py_storage_host_entry, METH_NOARGS,
     "The memory of a host storage as __gt_interface__ describes it; else None."},
    {"_inside", gb_py_storage_inside, METH_NOARGS,
     "A view without the halo; NotImplemented where there is a device buffer."},
    {NULL},
};

/* ---- operators: named/ufuncs.c, else gridbuf/named/ufuncs.py ---- */

static PyObject *unary(int which, PyObject *a) { return gb_py_unary(gb_py_by_name, which, a); }

static PyObject *binary(int which, PyObject *a, PyObject *b) {
    return gb_py_binary(gb_py_by_name, GB_PY_UP_STORAGE_BINARY, which, gb_py_is_storage(a), a, b);
}

static PyObject *in_place(int which, PyObject *a, PyObject *b) {
    return gb_py_in_place(gb_py_by_name, GB_PY_UP_STORAGE_IN_PLACE, which, a, b);
}

GB_PY_DEFINE_OPERATORS

static PyType_Slot type_slots[] = {
    {Py_tp_doc, "The record of a Storage: its buffers and what its indices mean."},
    {Py_tp_new, refuse},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {Py_mp_subscript, gb_py_storage_subscript},
    {Py_mp_ass_subscript, gb_py_storage_assign},
    {Py_sq_item, gb_py_item}, /* for iter() and `in` */
    GB_PY_OPERATOR_SLOTS,
    {0, NULL},
};

/* ---- methods of the type alone: see core/attribute.h ---- */

static PyMethodDef protocols[] = {
    {"__array_function__", (PyCFunction)(void *)gb_py_storage_array_function, METH_FASTCALL,
     "What NumPy's functions ask."},
    {NULL},
};

static void refuse_protocol(PyObject *obj, PyObject *name) {
    Py_XDECREF(gb_py_upcall_to(GB_PY_UP_STORAGE_REFUSE, "(OO)", obj, name));
}

int gb_py_storage_init(PyObject *module) {
    int rc = gb_py_add_type(module, &gb_py_StorageType,
                            (PyType_Spec){"gridbuf._core.StorageBase", sizeof(gb_py_storage), 0,
                                          GB_PY_OPEN | Py_TPFLAGS_HAVE_GC, type_slots},
                            NULL);
    return rc < 0 ? rc : gb_py_type_only_methods(gb_py_StorageType, protocols, refuse_protocol);
}
