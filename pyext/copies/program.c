/* program.c: gridbuf._core.CopyProgram: many copies made ready once, run with other Fields each
 * time, on the host or queued on the thread's stream of a GPU. */
#include "slots.h"
#include "../core/args.h"

#include <structmember.h>

/* Wait for all work on the queue: the pools do not track memory of other libraries. */
static int wait_here(gb_cuda_queue on) {
    GB_PY_OWNED gb_py_async_copy *all = gb_py_async_copy_new(on, on);
    return all && gb_py_async_copy_record(all) == 0 && gb_py_async_copy_wait(all, -1) > 0 ? 0 : -1;
}

/* cuda_wait_for(*fields): wait for pending work on Fields of one GPU, on any stream. */
PyObject *gb_py_cuda_wait_for(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    gb_cuda_error e;
    gb_cuda_queue on = {0};
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!gb_py_is_field(args[i]))
            return PyErr_Format(PyExc_TypeError, "expected Fields, got %R", Py_TYPE(args[i]));
        gb_py_field *f = (gb_py_field *)args[i];
        gb_cuda_block *block = gb_py_field_block(f);
        if (i == 0) on = gb_py_queue_for(f->location.device);
        if (block && gb_cuda_stream_wait_block(block, on, &e) < 0) {
            gb_py_cuda_raise(&e);
            return NULL;
        }
    }
    return n && wait_here(on) < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---- the type ---- */

typedef struct program_object {
    PyObject_HEAD
    gb_program program;
    gb_py_slot *slots;
    Py_ssize_t n_slots, n_given; /* n_given: slots without a bound object */
    gb_cuda_program *launched;   /* the program on a GPU where all slots are there, else NULL */
    int gpu;                     /* GPU number + 1; 0: host */
} program_object;

/* ---- making ---- */

static void program_dealloc(PyObject *self) {
    program_object *p = (program_object *)self;
    gb_cuda_program_free(p->launched);
    gb_program_free(&p->program);
    for (Py_ssize_t i = 0; i < p->n_slots; i++) gb_py_slot_clear(&p->slots[i]);
    free(p->slots);
    GB_PY_FREE_OBJECT(self);
}

static int read_slots(program_object *p, PyObject *slots) {
    Py_ssize_t n = PyTuple_Size(slots);
    if (n > INT32_MAX) return gb_py_fail(PyExc_ValueError, "slots: more than 2**31");
    p->slots = calloc((size_t)n + 1, sizeof *p->slots);
    if (!p->slots) return gb_py_no_memory();
    for (; p->n_slots < n;) {
        /* count it first: dealloc clears a slot that was read in part */
        gb_py_slot *slot = &p->slots[p->n_slots++];
        slot->gpu = p->gpu;
        if (gb_py_slot_read(PyTuple_GetItem(slots, p->n_slots - 1), p->n_slots - 1, slot) < 0)
            return -1;
        p->n_given += !slot->bound;
    }
    return 0;
}

static int read_entries(program_object *p, PyObject *entries) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(entries); i++)
        if (gb_py_entry_read(PyTuple_GetItem(entries, i), i, p->slots, p->n_slots, &p->program) < 0)
            return -1;
    return 0;
}

static int read_gpu(program_object *p, PyObject *gpu) {
    int64_t number;
    if (gpu == Py_None) return 0;
    if (gb_py_int64(gpu, "gpu", "an int", &number) < 0) return -1;
    if (number < 0 || number >= INT32_MAX)
        return gb_py_fail(PyExc_ValueError, "gpu: %R is no number of a GPU", gpu);
    p->gpu = (int)number + 1;
    return 0;
}

static int make_launched(program_object *p) {
    gb_cuda_error e;
    return p->gpu && gb_cuda_program_new(&p->launched, &p->program, p->gpu - 1, &e) < 0
               ? gb_py_cuda_raise(&e)
               : 0;
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"slots", "entries", "gpu", NULL};
    PyObject *slots, *entries, *gpu = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O:CopyProgram", names, &slots, &entries,
                                     &gpu))
        return NULL;
    program_object *p = (program_object *)PyType_GenericAlloc(type, 0);
    slots = PySequence_Tuple(slots);
    entries = slots ? PySequence_Tuple(entries) : NULL;
    if (p && (!entries || read_gpu(p, gpu) < 0 || read_slots(p, slots) < 0 ||
              read_entries(p, entries) < 0 || make_launched(p) < 0))
        Py_CLEAR(p);
    Py_XDECREF(slots);
    Py_XDECREF(entries);
    return (PyObject *)p;
}

/* ---- running ---- */

#define ROOM 32 /* slots without allocation */

typedef struct bases {
    char **base;
    Py_buffer *view;
    char *few[ROOM];
} bases;

static void bases_free(const program_object *p, bases *b) {
    for (Py_ssize_t i = 0; b->view && i < p->n_slots; i++)
        if (b->view[i].obj) PyBuffer_Release(&b->view[i]);
    free(b->view);
    if (b->base != b->few) free(b->base);
}

static int bases_take(program_object *p, PyObject *const *args, bases *b, int first) {
    int again = 0;
    for (Py_ssize_t i = 0, at = 0; i < p->n_slots; i++) {
        gb_py_slot *slot = &p->slots[i];
        if (slot->bound) {
            b->base[i] = slot->base + (slot->turns && *slot->turns & 1 ? slot->step : 0);
            continue;
        }
        PyObject *obj = args[at++];
        if (!slot->descr && !b->view && !(b->view = calloc((size_t)p->n_slots, sizeof *b->view)))
            return gb_py_no_memory();
        if (!slot->descr && b->view[i].obj) continue; /* held since the first round */
        int rc = gb_py_slot_take(slot, obj, b->view ? &b->view[i] : NULL, &b->base[i], first);
        if (rc < 0) return -1;
        again |= rc;
    }
    return again;
}

/* Take the pointers of all slots. Comparing dtypes may run Python code, after which all pointers
 * are taken again. Rounds end because buffers are held and equal dtypes remembered, unless dtypes
 * change each time. */
static int bases_of(program_object *p, PyObject *const *args, Py_ssize_t n, bases *b) {
    *b = (bases){.base = b->few};
    if (n != p->n_given)
        return gb_py_fail(PyExc_TypeError, "%zd objects; the plan was made for %zd", n, p->n_given);
    if (p->n_slots > ROOM && !(b->base = malloc((size_t)p->n_slots * sizeof *b->base)))
        return gb_py_no_memory();
    for (int times = 0; times < 4; times++) {
        int again = bases_take(p, args, b, times == 0);
        if (again <= 0) return again;
    }
    return gb_py_fail(PyExc_RuntimeError, "the objects changed while their dtypes were compared");
}

static int carry_out(const gb_program *program, char *const *base) {
    if (2 * program->bytes < GB_PY_AT_ONCE) {
        gb_program_entries_run(program, base, 0, program->n);
        return 0;
    }
    gb_program_run run = {program, base};
    gb_work work = gb_program_work(&run);
    return gb_py_work(&work, 1, NULL);
}

/* Queue the program on the thread's stream of its GPU, over objects that the caller and the slots
 * hold. Pools track work on their own blocks; work on other memory is waited for. */
static int launch(const program_object *p, PyObject *const *args, char *const *base) {
    gb_cuda_error e;
    Py_ssize_t n = p->n_slots;
    gb_cuda_queue on = gb_py_queue_for(p->gpu - 1);
    uint64_t *bases = malloc((size_t)(n + 1) * (sizeof *bases + sizeof(gb_cuda_block *)));
    if (!bases) return gb_py_no_memory();
    gb_cuda_block **blocks = (gb_cuda_block **)(bases + n + 1);
    int foreign = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *bound = p->slots[i].bound;
        const gb_py_field *f = (gb_py_field *)(bound ? bound : *args++);
        bases[i] = (uintptr_t)base[i];
        blocks[i] = gb_py_field_block(f);
        foreign |= !blocks[i] && f->geometry.nbytes > 0;
    }
    int rc = gb_cuda_program_run(p->launched, bases, blocks, n, on, &e);
    free(bases);
    if (rc < 0) return gb_py_cuda_raise(&e);
    return foreign ? wait_here(on) : 0;
}

int gb_py_program_run(PyObject *program, PyObject *const *args, Py_ssize_t n) {
    program_object *p = (program_object *)program;
    bases b;
    int rc = bases_of(p, args, n, &b);
    if (rc == 0) rc = p->launched ? launch(p, args, b.base) : carry_out(&p->program, b.base);
    bases_free(p, &b);
    return rc;
}

/* The caller holds the program and the objects. */
static PyObject *program_run(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return gb_py_program_run(self, args, n) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *program_check(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    bases b;
    int rc = bases_of((program_object *)self, args, n, &b);
    bases_free((program_object *)self, &b);
    return rc < 0 ? NULL : Py_NewRef(Py_None);
}

static PyTypeObject *program_type;

int gb_py_is_program(PyObject *obj) { return Py_TYPE(obj) == program_type; }
Py_ssize_t gb_py_program_given(PyObject *program) { return ((program_object *)program)->n_given; }

static Py_ssize_t program_length(PyObject *self) {
    return (Py_ssize_t)((program_object *)self)->program.n;
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)(void *)program_run, METH_FASTCALL, NULL},
    {"check", (PyCFunction)(void *)program_check, METH_FASTCALL, NULL},
    {NULL},
};

static PyMemberDef members[] = {
    {"nbytes", T_LONGLONG, offsetof(program_object, program.bytes), READONLY, NULL}, {NULL}};

static PyType_Slot slots[] = {
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_sq_length, program_length},
    {Py_tp_doc, "CopyProgram(slots, entries, gpu=None)\n--\n\nMany copies between Fields and "
                "messages in one call."},
    {0, NULL},
};

int gb_py_program_init(PyObject *module) {
    static const struct {
        const char *name;
        long value;
    } modes[] = {
        {"SIGN", GB_PROGRAM_SIGN},
        {"ADD", GB_PROGRAM_ADD},
        {"CLEAR", GB_PROGRAM_CLEAR},
    };
    int rc = gb_py_add_type(module, &program_type,
                            (PyType_Spec){"gridbuf._core.CopyProgram", sizeof(program_object), 0,
                                          Py_TPFLAGS_DEFAULT, slots},
                            NULL);
    for (size_t i = 0; rc == 0 && i < sizeof modes / sizeof *modes; i++) {
        GB_PY_OWNED PyObject *value = PyLong_FromLong(modes[i].value);
        rc = value ? PyObject_SetAttrString((PyObject *)program_type, modes[i].name, value) : -1;
    }
    return rc;
}
