/* device_transit.c: copies on their way, and waiting for them so that Ctrl-C works. */
#include "device_async.h"

#define SLICE (20 * 1000 * 1000ll)   /* ns */

static PyTypeObject *type;

gb_transit *gb_transit_new(gb_cuda_queue on, gb_cuda_queue from) {
    gb_transit *t = (gb_transit *)PyType_GenericAlloc(type, 0);
    if (t) t->on = on, t->from = from;
    return t;
}

void gb_transit_hold(gb_transit *t, gb_field *f, gb_cuda_queue on) {
    t->held[t->n_held++] = (struct held){Py_NewRef((PyObject *)f), gb_field_block(f), on};
}

void gb_transit_hold_blocks(gb_transit *t, const gb_cuda_job *job) {
    for (int i = 0; i < job->n_blocks; i++) t->held[t->n_held++] = (struct held){NULL, job->blocks[i], job->used_on[i]};
}

int gb_transit_end(gb_transit *t) {
    gb_cuda_error e;
    return gb_cuda_record(t->on, &t->event, &e) < 0 ? gb_cuda_raise(&e) : 0;
}

static int wait_for(gb_cuda_event *event, int64_t nanoseconds) {
    gb_cuda_error e;
    for (;;) {
        int64_t slice = nanoseconds < 0 || nanoseconds > SLICE ? SLICE : nanoseconds;
        int done = GB_CUDA_UNLOCKED(&e, gb_cuda_wait(event, slice, &e));
        if (done) return done;
        if (PyErr_CheckSignals() < 0) return -1;
        if (nanoseconds >= 0 && (nanoseconds -= slice) <= 0) return 0;
    }
}

/* All of it has passed. */
static void arrived(gb_transit *t) {
    if (t->event) gb_cuda_forget(t->event);
    t->event = NULL;
    t->host_free = 1;
    while (t->n_held > 0) {
        struct held h = t->held[--t->n_held];
        if (h.object) Py_DECREF(h.object);
        else gb_cuda_release(h.block);
    }
}

int gb_transit_mark(gb_transit *t) {
    gb_cuda_error e;
    if (gb_cuda_enter(t->on.device, &e) < 0) return gb_cuda_raise(&e);
    int bad = 0;
    for (int i = 0; i < t->n_held && !bad; i++) {
        gb_cuda_block *block = t->held[i].block;
        bad = block && gb_cuda_mark(block, t->held[i].on, &e) < 0;
    }
    gb_cuda_leave();
    return bad ? gb_cuda_raise(&e) : 0;
}

int gb_transit_leave(gb_transit *t) {
    for (int i = 0; i < t->n_held; i++) {
        gb_cuda_block *block = t->held[i].block;
        if (!block || block->kind == GB_CUDA_PINNED) return 0;
    }
    if (gb_transit_mark(t) < 0) return -1;
    arrived(t);
    return 1;
}

/* Several threads may wait. The event is given back by the last of them, for it may serve another copy at once. */
int gb_transit_wait(gb_transit *t, int64_t nanoseconds) {
    if (!t->event || t->passed) return 1;
    Py_INCREF((PyObject *)t);
    t->waiting++;
    int done = wait_for(t->event, nanoseconds);
    t->waiting--;
    if (done == 1) t->passed = t->host_free = 1;
    else if (done == 0) done = t->passed;
    if (t->passed && !t->waiting) arrived(t);
    Py_DECREF((PyObject *)t);
    return done;
}

int gb_host_settle(gb_field *f) {
    gb_cuda_error e;
    gb_cuda_block *block = gb_field_block(f);
    return !block ? 0 : GB_CUDA_UNLOCKED(&e, gb_cuda_finish(block, &e)) < 0 ? -1 : 0;
}

static void wait_out(gb_cuda_event *event) {
    gb_cuda_error e;
    PyThreadState *state = PyEval_SaveThread();
    while (gb_cuda_wait(event, SLICE, &e) == 0) continue;
    PyEval_RestoreThread(state);
}

/* It failed half way: what was queued until then is waited for, on either GPU. */
static void wait_for_both(gb_transit *t) {
    gb_cuda_error e;
    gb_cuda_queue both[] = {t->from, t->on};
    for (int i = t->from.device == t->on.device; i < 2; i++) {
        gb_cuda_event *event;
        if (gb_cuda_record(both[i], &event, &e) < 0) continue;
        wait_out(event);
        gb_cuda_forget(event);
    }
}

/* Whoever lets go of a copy on its way waits here: its memory is not to be used again before. */
static void dealloc(PyObject *self) {
    gb_transit *t = (gb_transit *)self;
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    if (t->event) wait_out(t->event);
    else if (t->n_held) wait_for_both(t);
    arrived(t);
    PyErr_Restore(kind, value, traceback);
    GB_FREE_OBJECT(self);
}

/* wait(nanoseconds) -> bool; < 0: for ever, 0: ask. */
static PyObject *wait(PyObject *self, PyObject *number) {
    int64_t nanoseconds;
    if (gb_int64(number, "nanoseconds", "an int", &nanoseconds) < 0) return NULL;
    int done = gb_transit_wait((gb_transit *)self, nanoseconds);
    return done < 0 ? NULL : PyBool_FromLong(done);
}

static PyObject *get_host_free(PyObject *self, void *unused) { return PyBool_FromLong(((gb_transit *)self)->host_free); }

static PyMethodDef methods[] = {
    {"wait", wait, METH_O, NULL},
    {NULL},
};

static PyGetSetDef getset[] = {
    {"host_free", get_host_free, NULL, NULL, NULL},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_doc, "A copy on its way, with what it needs until it has arrived."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "gridbuf._core._Transit",
    .basicsize = sizeof(gb_transit),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int gb_transit_init(PyObject *module) { return (type = (PyTypeObject *)PyType_FromSpec(&spec)) ? 0 : -1; }
