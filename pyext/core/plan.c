/* plan.c: gridbuf.Plan, the answer to a request, seen from Python. */
#include "plan.h"

#include <docs.h>

#include <structmember.h>

PyTypeObject *gb_py_PlanType;

static gb_py_plan_object *alive;
static uint64_t made;

gb_py_plan_object *gb_py_plan_by_number(uint64_t number) {
    gb_py_plan_object *p = alive;
    while (p && p->plan->want.plan != number) p = p->next;
    return (gb_py_plan_object *)Py_XNewRef((PyObject *)p);
}

gb_py_plan_object *gb_py_plan_wrap(gb_plan *plan, gb_py_dtype *dtype) {
    gb_py_plan_object *self = (gb_py_plan_object *)PyType_GenericAlloc(gb_py_PlanType, 0);
    if (!self) return free(plan), NULL;
    gb_plan_finish(plan);
    plan->want.plan = ++made;
    self->next = alive;
    if (alive) alive->previous = self;
    alive = self;
    self->plan = plan;
    self->dtype = (gb_py_dtype *)Py_NewRef((PyObject *)dtype);
    return self;
}

gb_py_plan_object *gb_py_plan_describe(gb_geometry *geometry, uintptr_t data, gb_py_dtype *dtype,
                                       gb_py_location location) {
    gb_error e;
    gb_plan *plan = gb_plan_new(geometry->ndim);
    if (!plan) return (gb_py_plan_object *)PyErr_NoMemory();
    if (gb_plan_read_back(geometry, data, plan, &e) == 0) {
        plan->device = location.gpu ? GB_GPU : GB_CPU;
        plan->device_id = location.gpu ? location.device : 0;
        plan->memory = location.kind == GB_PY_HEAP ? GB_PLAIN : location.kind - GB_PY_ON_DEVICE;
        return gb_py_plan_wrap(plan, dtype);
    }
    free(plan);
    gb_py_raise(&e);
    return NULL;
}

static void dealloc(PyObject *self) {
    gb_py_plan_object *p = (gb_py_plan_object *)self;
    if (p->weakrefs) PyObject_ClearWeakRefs(self);
    if (p->next) p->next->previous = p->previous;
    if (p->previous) p->previous->next = p->next;
    else alive = p->next;
    free(p->plan);
    Py_XDECREF((PyObject *)p->dtype);
    GB_PY_FREE_OBJECT(self);
}

static gb_plan *of(PyObject *self) { return ((gb_py_plan_object *)self)->plan; }

/* By where they stand in the plan. */
#define AT(member) (void *)offsetof(gb_plan, member)
static void *at(PyObject *self, void *offset) { return (char *)of(self) + (uintptr_t)offset; }
static PyObject *get_list(PyObject *self, void *offset) {
    return gb_py_ints_tuple(*(int64_t **)at(self, offset), of(self)->geometry.ndim);
}
static PyObject *get_number(PyObject *self, void *offset) {
    return PyLong_FromLongLong(*(int64_t *)at(self, offset));
}

static PyObject *get_dims(PyObject *self, void *_) {
    return gb_py_dims_tuple(of(self)->geometry.dims, of(self)->geometry.ndim);
}
static PyObject *get_dtype(PyObject *self, void *_) {
    return Py_NewRef((PyObject *)((gb_py_plan_object *)self)->dtype->descr);
}
static PyObject *get_ndim(PyObject *self, void *_) {
    return PyLong_FromLong(of(self)->geometry.ndim);
}

static PyObject *get_layout(PyObject *self, void *_) {
    int64_t ranks[GB_MAXDIMS];
    for (int i = 0; i < of(self)->geometry.ndim; i++) ranks[i] = of(self)->layout[i];
    return gb_py_ints_tuple(ranks, of(self)->geometry.ndim);
}

PyObject *gb_py_device_name(int gpu, int device) {
    return gpu ? Py_BuildValue("(si)", "gpu", device) : PyUnicode_FromString("cpu");
}

static PyObject *get_device(PyObject *self, void *_) {
    return gb_py_device_name(of(self)->device == GB_GPU, (int)of(self)->device_id);
}

static PyObject *get_memory(PyObject *self, void *_) {
    static const char *const kinds[GB_MEMORIES] = {
        [GB_PINNED] = "pinned", [GB_MANAGED] = "managed"};
    const char *kind = kinds[of(self)->memory];
    return kind ? PyUnicode_FromString(kind) : Py_NewRef(Py_None);
}

static PyGetSetDef getset[] = {
    {"shape", get_list, NULL, "Elements along each index (tuple of int).", AT(geometry.shape)},
    {"dtype", get_dtype, NULL, "The element type (np.dtype, without sub-shape).", NULL},
    {"dims", get_dims, NULL, "The name of each index (tuple of str).", NULL},
    {"ndim", get_ndim, NULL, "How many indices (int).", NULL},
    {"layout", get_layout, NULL, "The rank of each index's stride, 0 = largest (tuple of int).",
     NULL},
    {"strides", get_list, NULL,
     "Bytes from one element to the next along each index (tuple of int).", AT(geometry.strides)},
    {"padded_shape", get_list, NULL, "Elements reserved along each index (tuple of int).",
     AT(padded_shape)},
    {"aligned_index", get_list, NULL,
     "The element that sits on the alignment boundary (tuple of int).", AT(aligned_index)},
    {"byte_alignment", get_number, NULL,
     "The boundary that the aligned element sits on, bytes (int).", AT(want.boundary)},
    {"offset", get_number, NULL, "The address of element 0 modulo byte_alignment, bytes (int).",
     AT(want.offset)},
    {"nbytes", get_number, NULL, "Bytes of the elements alone (int).", AT(geometry.nbytes)},
    {"alloc_nbytes", get_number, NULL, "Bytes reserved, with padding and alignment (int).",
     AT(want.reserve)},
    {"device", get_device, NULL, "'cpu' or ('gpu', n).", NULL},
    {"memory", get_memory, NULL, "None, 'pinned' or 'managed'.", NULL},
    {NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(gb_py_plan_object, weakrefs), READONLY, NULL},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_getset, getset},
    {Py_tp_members, members},
    {Py_tp_doc, GB_PY_DOC_Plan},
    {0, NULL},
};

int gb_py_plan_init(PyObject *module) {
    return gb_py_add_type(
        module, &gb_py_PlanType,
        (PyType_Spec){"gridbuf.Plan", sizeof(gb_py_plan_object), 0, GB_PY_FINAL, slots}, NULL);
}
