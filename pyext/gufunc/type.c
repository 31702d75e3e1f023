/* type.c: the type gridbuf._core.GUFunc, which gridbuf.gufunc.GUFunc extends,
 * and the module functions around it. */
#include "../../gufunc/kernels/internal/loops/table.h"
#include "gufunc.h"

#include <docs.h>

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL gridbuf_UFUNC_API
#include <numpy/ufuncobject.h>

/* The types of kernels from number first on, kept in C because a forked child needs them. */
static int fetch_types(gb_py_gufunc_object *g, int first) {
    uint8_t (*types)[GB_GU_MAXARGS] =
        realloc(g->kernel_types, (size_t)(g->info.nkernels + 1) * sizeof *types);
    if (!types) return gb_py_no_memory();
    g->kernel_types = types;
    gb_error e;
    for (int n = first; n < g->info.nkernels; n++) {
        memset(types[n], 0, sizeof *types);
        if (GB_PY_ENTER_GO(&e, gb_py_go->gufunc_types(g->info.id, n, types[n], &e)) < 0) return -1;
    }
    return 0;
}

/* The names of uniform parameters stand behind those of the dimensions, one a line. */
static PyObject *names_of_uniforms(const gb_bridge_gufunc_info *info) {
    GB_PY_OWNED PyObject *text = PyUnicode_FromString(info->text),
                         *all = text ? PyUnicode_Splitlines(text, 0) : NULL;
    GB_PY_OWNED PyObject *own =
        all ? PyList_GetSlice(all, info->ndims, info->ndims + info->nuniforms) : NULL;
    return own ? PyList_AsTuple(own) : NULL;
}

/* GUFunc(name, signature, flags); signature None: the one that comes with gridbuf. */
static PyObject *gufunc_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    const char *name, *signature;
    int flags;
    if (!PyArg_ParseTuple(args, "szi:GUFunc", &name, &signature, &flags)) return NULL;
    gb_py_gufunc_object *g = (gb_py_gufunc_object *)PyType_GenericAlloc(type, 0);
    if (!g) return NULL;
    if (!(g->entries = calloc(1, sizeof *g->entries))) {
        Py_DECREF(g);
        return PyErr_NoMemory();
    }
    gb_error e;
    int rc = signature ? GB_PY_ENTER_GO(&e, gb_py_go->gufunc_new((char *)name, (char *)signature,
                                                                 flags, &g->info, &e))
                       : GB_PY_ENTER_GO(&e, gb_py_go->gufunc_builtin((char *)name, &g->info, &e));
    if (rc < 0 || fetch_types(g, 0) < 0 || !(g->uniform_names = names_of_uniforms(&g->info)))
        Py_CLEAR(g);
    return (PyObject *)g;
}

static void gufunc_dealloc(PyObject *self) {
    gb_py_gufunc_object *g = (gb_py_gufunc_object *)self;
    if (g->entries) gb_py_entries_clear(g->entries);
    free(g->entries);
    free(g->kernel_types);
    gb_py_forget_choices(g);
    Py_XDECREF(g->uniform_names);
    gb_py_reducers_free(g);
    gb_error e;
    if (g->info.id) (void)GB_PY_ENTER_GO_DETACHED(&e, gb_py_go->gufunc_drop(g->info.id, &e));
    GB_PY_FREE_OBJECT(self);
}

/* _describe() -> (nin, nout, kernels, the signature as lines, types of uniforms) */
static PyObject *describe(PyObject *self, PyObject *none) {
    const gb_bridge_gufunc_info *info = &((gb_py_gufunc_object *)self)->info;
    return Py_BuildValue(
        "(iiisN)", info->nin, info->nout, info->nkernels, info->text,
        PyBytes_FromStringAndSize((const char *)info->uniform_types, info->nuniforms));
}

/* _add(form, function, data, name of a Go kernel or None, types, flags) -> number */
static PyObject *add(PyObject *self, PyObject *args) {
    gb_py_gufunc_object *g = (gb_py_gufunc_object *)self;
    gb_bridge_kernel_spec spec = {0};
    unsigned long long function, data;
    PyObject *type_bytes;
    const char *name, *types;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "iKKzOi:_add", &spec.form, &function, &data, &name, &type_bytes,
                          &spec.flags))
        return NULL;
    if (gb_py_bytes(type_bytes, "types", &types, &n) < 0) return NULL;
    if (n > GB_GU_MAXARGS)
        return PyErr_Format(PyExc_ValueError, "types: %zd operands; at most %d are allowed", n,
                            GB_GU_MAXARGS);
    spec.function = (uintptr_t)function;
    spec.data = (uintptr_t)data;
    spec.go_name = (char *)name;
    spec.ntypes = (int32_t)n;
    memcpy(spec.types, types, (size_t)n);
    int32_t number = 0;
    gb_error e;
    if (GB_PY_ENTER_GO(&e, gb_py_go->gufunc_add(g->info.id, &spec, &number, &e)) < 0) return NULL;
    g->info.nkernels = number + 1;
    gb_py_forget_choices(g); /* the new kernel may serve calls that another was chosen for */
    return fetch_types(g, number) < 0 ? NULL : PyLong_FromLong(number);
}

static PyObject *types_of_kernel(PyObject *self, PyObject *number) {
    gb_py_gufunc_object *g = (gb_py_gufunc_object *)self;
    long n = PyLong_AsLong(number);
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (n >= 0 && n < g->info.nkernels)
        return PyBytes_FromStringAndSize((const char *)g->kernel_types[n],
                                         g->info.nin + g->info.nout);
    return PyErr_Format(PyExc_ValueError, "kernel: number %ld of %d", n, g->info.nkernels);
}

/* _select(types, kinds of Python numbers, types asked for or b"", casting) -> number */
static PyObject *select_kernel(PyObject *self, PyObject *args) {
    gb_py_gufunc_object *g = (gb_py_gufunc_object *)self;
    PyObject *type_bytes, *weak_bytes, *wanted_bytes, *rule;
    const char *types, *weak, *wanted;
    Py_ssize_t n, m, nwanted;
    int32_t number = 0;
    gb_error e;
    if (!PyArg_ParseTuple(args, "OOOO:_select", &type_bytes, &weak_bytes, &wanted_bytes, &rule))
        return NULL;
    if (gb_py_bytes(type_bytes, "types", &types, &n) < 0 ||
        gb_py_bytes(weak_bytes, "kinds", &weak, &m) < 0 ||
        gb_py_bytes(wanted_bytes, "dtypes", &wanted, &nwanted) < 0)
        return NULL;
    int casting = gb_py_read_casting(rule);
    if (casting < 0) return NULL;
    if (n != m) return PyErr_Format(PyExc_ValueError, "_select: as many types as kinds are needed");
    if (GB_PY_ENTER_GO(&e, gb_py_go->gufunc_select(g->info.id, (uint8_t *)types, (uint8_t *)weak,
                                                   (int32_t)n, (uint8_t *)wanted, (int32_t)nwanted,
                                                   casting, &number, &e)) < 0)
        return NULL;
    return PyLong_FromLong(number);
}

/* _ask_sizes(): core sizes of new calls come from the method _sizes. */
static PyObject *ask_sizes(PyObject *self, PyObject *none) {
    ((gb_py_gufunc_object *)self)->asks_sizes = 1;
    Py_RETURN_NONE;
}

/* ---- functions of the module ---- */

/* The loops of a numpy.ufunc: a list of (type numbers as bytes, function, data). The
 * caller has checked the type. */
PyObject *gb_py_gufunc_loops(PyObject *self, PyObject *ufunc) {
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < u->ntypes; i++) {
        if (!u->functions || !u->functions[i]) continue;
        gb_py_append(
            &list,
            Py_BuildValue("(NKK)",
                          PyBytes_FromStringAndSize(u->types + (Py_ssize_t)i * u->nargs, u->nargs),
                          (unsigned long long)(uintptr_t)u->functions[i],
                          (unsigned long long)(uintptr_t)(u->data ? u->data[i] : NULL)));
    }
    return list;
}

PyObject *gb_py_gufunc_capsule(PyObject *self, PyObject *capsule) {
    if (!PyCapsule_CheckExact(capsule))
        return PyErr_Format(PyExc_TypeError, "source: expected a PyCapsule, got %R", capsule);
    void *p = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    return p ? PyLong_FromVoidPtr(p) : NULL;
}

PyObject *gb_py_gufunc_go_names(PyObject *self, PyObject *none) {
    char names[16384];
    gb_error e;
    return GB_PY_ENTER_GO(&e, gb_py_go->gufunc_go_names(names, sizeof names, &e)) < 0
               ? NULL
               : PyUnicode_FromString(names);
}

PyObject *gb_py_gufunc_go_kernel(PyObject *self, PyObject *name) {
    char signature[1024], types[1024];
    gb_error e;
    GB_PY_OWNED PyObject *utf8 = PyUnicode_AsUTF8String(name);
    PyObject *result = NULL;
    if (!utf8) return NULL;
    if (GB_PY_ENTER_GO(&e, gb_py_go->gufunc_go_kernel(PyBytes_AsString(utf8), signature, types,
                                                      sizeof types, &e)) == 0)
        result = Py_BuildValue("(ss)", signature, types);
    return result;
}

PyObject *gb_py_gufunc_panic_text(PyObject *self, PyObject *none) {
    char text[16384];
    gb_error e;
    return GB_PY_ENTER_GO(&e, gb_py_go->gufunc_panic_text(text, sizeof text, &e)) < 0
               ? NULL
               : PyUnicode_FromString(text);
}

PyObject *gb_py_gufunc_scalar_loop(PyObject *self, PyObject *args) {
    int inputs, single;
    if (!PyArg_ParseTuple(args, "ip", &inputs, &single)) return NULL;
    return PyLong_FromVoidPtr((void *)gb_gu_scalar_loop(inputs, single));
}

/* The gufuncs that come with gridbuf and the types of their reductions with a state: [(name,
 * signature, doc)], [(name, types)]. */
PyObject *gb_py_gufunc_builtins(PyObject *self, PyObject *none) {
    int nloops, nstates;
    const gb_gu_builtin *loops = gb_gu_builtin_loops(0, &nloops);
    const gb_gu_builtin_state *own = gb_gu_builtin_states(&nstates);
    GB_PY_OWNED PyObject *known = PyList_New(0), *states = PyList_New(0);
    for (int i = 0; known && i < nloops; i++)
        if (loops[i].doc)
            gb_py_append(&known,
                         Py_BuildValue("(sss)", loops[i].name, loops[i].signature, loops[i].doc));
    for (int i = 0; states && i < nstates; i++)
        gb_py_append(&states, Py_BuildValue("(ss)", own[i].name, own[i].types));
    return known && states ? PyTuple_Pack(2, known, states) : NULL;
}

static PyMethodDef methods[] = {
    {"_describe", describe, METH_NOARGS, NULL},
    {"_add", add, METH_VARARGS, NULL},
    {"_types", types_of_kernel, METH_O, NULL},
    {"_select", select_kernel, METH_VARARGS, NULL},
    {"_ask_sizes", ask_sizes, METH_NOARGS, NULL},
    {"_resolve", gb_py_gufunc_resolve, METH_VARARGS, NULL},
    {"_add_state", gb_py_gufunc_add_state, METH_VARARGS, NULL},
    {"reduce", (PyCFunction)(void (*)(void))gb_py_gufunc_reduce, METH_FASTCALL | METH_KEYWORDS,
     GB_PY_DOC_GUFunc_reduce},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, gufunc_new},
    {Py_tp_dealloc, gufunc_dealloc},
    {Py_tp_call, gb_py_gufunc_call},
    {Py_tp_methods, methods},
    {0, NULL},
};

int gb_py_gufunc_init(PyObject *module) {
    static PyTypeObject *type;
    return gb_py_add_type(
        module, &type,
        (PyType_Spec){"gridbuf._core.GUFunc", sizeof(gb_py_gufunc_object), 0, GB_PY_OPEN, slots},
        NULL);
}
