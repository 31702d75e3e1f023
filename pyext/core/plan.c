/* plan.c: gridbuf.Plan, the answer to a request, and the cache of plans by the meaning of a
 * request. */
#include "args.h"
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

static gb_py_plan_object *wrap(gb_plan *plan, gb_py_dtype *dtype) {
    gb_py_plan_object *self = (gb_py_plan_object *)PyType_GenericAlloc(gb_py_PlanType, 0);
    if (!self) {
        free(plan);
        return NULL;
    }
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
        return wrap(plan, dtype);
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

/* Getters of members of gb_plan, by their offset. */
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

/* ---- explain ---- */

/* explain(dims, words): lines of a term, a tab and a sentence, for gridbuf/explain. The words are
 * 64-bit numbers, read by explainPlan of bridge/exports.go. */
PyObject *gb_py_explain(PyObject *self, PyObject *args) {
    PyObject *dims, *word_bytes;
    const char *words;
    Py_ssize_t bytes;
    int32_t codes[GB_MAXDIMS];
    char text[16384]; /* 32 indices need no more */
    gb_error e;
    if (!PyArg_ParseTuple(args, "OO:explain", &dims, &word_bytes)) return NULL;
    if (gb_py_bytes(word_bytes, "words", &words, &bytes) < 0) return NULL;
    int ndim = gb_py_dims(dims, "dims", codes, GB_MAXDIMS);
    if (ndim < 0) return NULL;
    int64_t n = bytes / (Py_ssize_t)sizeof(int64_t);
    return GB_PY_ENTER_GO(
               &e, gb_py_go->explain(codes, ndim, (int64_t *)words, n, text, sizeof text, &e)) < 0
               ? NULL
               : PyUnicode_FromString(text);
}

/* ---- requests seen before, known by their meaning ----
 *
 * Four entries to a set, the one used last in front; a full set drops the one used longest ago. */

#define SETS 512
#define WAYS 4
#define MAX_WORDS (8 + 4 * GB_MAXDIMS)

typedef struct {
    uint64_t hash;
    uint64_t *words;
    int n;
    gb_py_plan_object *plan;
} entry;

static void drop(entry *old) {
    free(old->words);
    Py_XDECREF((PyObject *)old->plan);
}

static entry cache[SETS * WAYS];

_Static_assert(offsetof(gb_request, shape) == 10 * sizeof(int32_t) + 4 * sizeof(int64_t),
               "a new field belongs into pack() as well");

/* Pack the request into words; optional lists that were not given take none. */
static int pack(const gb_request *r, const gb_py_dtype *dtype, uint64_t *w) {
    int n = 0;
    w[n++] = (uint64_t)(r->ndim & 63) | (uint64_t)(r->sub_ndim & 63) << 6 |
             (uint64_t)((r->dims_len + 1) & 63) << 12 |
             (uint64_t)((r->aligned_len + 1) & 63) << 18 |
             (uint64_t)((r->layout_len + 1) & 63) << 24 | (uint64_t)r->device << 30 |
             (uint64_t)r->memory << 33 | (uint64_t)r->device_id << 36;
    w[n++] = (uint64_t)(uintptr_t)dtype;
    w[n++] = (uint64_t)(uint32_t)r->backend << 32 | (uint64_t)(uint32_t)(r->padding + 2);
    w[n++] = (uint64_t)r->byte_alignment;
    w[n++] = (uint64_t)r->alignment;
    for (int i = 0; i < r->ndim; i++) w[n++] = (uint64_t)r->shape[i];
    for (int i = 0; i < r->aligned_len; i++) w[n++] = (uint64_t)r->aligned_index[i];
    for (int i = 0; i < r->dims_len; i++) w[n++] = (uint64_t)(int64_t)r->dims[i];
    for (int i = 0; i < r->layout_len; i++) w[n++] = (uint64_t)(int64_t)r->layout[i];
    return n;
}

static uint64_t hash_words(const uint64_t *w, int n) {
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (int i = 0; i < n; i++) h = ((h ^ w[i]) * 0xD6E8FEB86659FD93u) ^ (h >> 29);
    return h ^ (h >> 32);
}

static gb_py_plan_object *work_out(const gb_request *r, gb_py_dtype *dtype) {
    gb_error e;
    gb_plan *plan = gb_plan_new(r->ndim);
    if (!plan) return (gb_py_plan_object *)PyErr_NoMemory();
    if (gb_plan_request(r, gb_preset_at(r->backend), plan, &e) == 0) return wrap(plan, dtype);
    free(plan);
    gb_py_raise(&e);
    return NULL;
}

gb_py_plan_object *gb_py_plan_for(gb_request *r, gb_py_dtype *dtype) {
    uint64_t words[MAX_WORDS];
    int n = pack(r, dtype, words);
    uint64_t hash = hash_words(words, n);
    entry *set = &cache[hash % SETS * WAYS];
    for (int i = 0; i < WAYS; i++)
        if (set[i].hash == hash && set[i].n == n &&
            memcmp(set[i].words, words, n * sizeof *words) == 0) {
            if (i) {
                entry found = set[i];
                memmove(set + 1, set, i * sizeof *set);
                set[0] = found;
            }
            return (gb_py_plan_object *)Py_NewRef((PyObject *)set[0].plan);
        }
    gb_py_plan_object *plan = work_out(r, dtype);
    if (!plan) return NULL;
    uint64_t *copy = malloc(n * sizeof *words);
    if (!copy) return plan;
    memcpy(copy, words, n * sizeof *words);
    entry oldest = set[WAYS - 1];
    memmove(set + 1, set, (WAYS - 1) * sizeof *set);
    set[0] = (entry){hash, copy, n, (gb_py_plan_object *)Py_NewRef((PyObject *)plan)};
    drop(&oldest);
    return plan;
}

gb_py_plan_object *gb_py_plan_from_slots(PyObject **slots, gb_py_meta *meta, int *function_layout) {
    gb_request request;
    gb_py_dtype *dtype;
    *function_layout = 0;
    if (gb_py_read_request(slots, &request, &dtype, meta) < 0) return NULL;
    *function_layout = request.layout_len >= 0 && !slots[GB_PY_ARG_LAYOUT];
    gb_py_plan_object *plan = gb_py_plan_for(&request, dtype);
    Py_DECREF((PyObject *)dtype);
    return plan;
}
