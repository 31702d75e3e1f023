/* async_copy.c: asynchronous copies, and waiting for them so that Ctrl-C works. */
#include "device.h"
#include "../core/references.h"

#include <structmember.h>

#define SLICE (20 * 1000 * 1000ll) /* ns */

static PyTypeObject *type;

gb_py_async_copy *gb_py_async_copy_new(gb_cuda_queue on, gb_cuda_queue from) {
    gb_py_async_copy *copy = (gb_py_async_copy *)PyType_GenericAlloc(type, 0);
    if (copy) {
        copy->on = on;
        copy->from = from;
    }
    return copy;
}

void gb_py_async_copy_hold(gb_py_async_copy *copy, gb_py_field *f, gb_cuda_queue on) {
    copy->held[copy->n_held++] = (struct held){Py_NewRef((PyObject *)f), gb_py_field_block(f), on};
}

void gb_py_async_copy_hold_blocks(gb_py_async_copy *copy, const gb_cuda_job *job) {
    for (int i = 0; i < job->n_blocks; i++)
        copy->held[copy->n_held++] = (struct held){NULL, job->blocks[i], job->used_on[i]};
}

int gb_py_async_copy_record(gb_py_async_copy *copy) {
    gb_cuda_error e;
    return gb_cuda_record(copy->on, &copy->event, &e) < 0 ? gb_py_cuda_raise(&e) : 0;
}

static int wait_for(gb_cuda_event *event, int64_t nanoseconds) {
    gb_cuda_error e;
    for (;;) {
        int64_t slice = nanoseconds < 0 || nanoseconds > SLICE ? SLICE : nanoseconds;
        int done = GB_PY_CUDA_UNLOCKED(&e, gb_cuda_wait(event, slice, &e));
        if (done) return done;
        if (PyErr_CheckSignals() < 0) return -1;
        if (nanoseconds >= 0 && (nanoseconds -= slice) <= 0) return 0;
    }
}

/* Release everything held: the copy has completed. */
static void arrived(gb_py_async_copy *copy) {
    if (copy->event) gb_cuda_release_event(copy->event);
    copy->event = NULL;
    copy->host_free = 1;
    while (copy->n_held > 0) {
        struct held h = copy->held[--copy->n_held];
        if (h.object) Py_DECREF(h.object);
        else gb_cuda_release(h.block);
    }
}

int gb_py_async_copy_record_use(gb_py_async_copy *copy) {
    gb_cuda_error e;
    if (gb_cuda_enter(copy->on.device, &e) < 0) return gb_py_cuda_raise(&e);
    int bad = 0;
    for (int i = 0; i < copy->n_held && !bad; i++) {
        gb_cuda_block *block = copy->held[i].block;
        bad = block && gb_cuda_record_use(block, copy->held[i].on, &e) < 0;
    }
    gb_cuda_leave();
    return bad ? gb_py_cuda_raise(&e) : 0;
}

int gb_py_async_copy_detach(gb_py_async_copy *copy) {
    for (int i = 0; i < copy->n_held; i++) {
        gb_cuda_block *block = copy->held[i].block;
        if (!block || block->kind == GB_CUDA_PINNED) return 0;
    }
    if (gb_py_async_copy_record_use(copy) < 0) return -1;
    arrived(copy);
    return 1;
}

/* Several threads may wait. The last one releases the event, which may serve another copy at once.
 */
int gb_py_async_copy_wait(gb_py_async_copy *copy, int64_t nanoseconds) {
    if (!copy->event || copy->passed) return 1;
    Py_INCREF((PyObject *)copy);
    copy->waiting++;
    int done = wait_for(copy->event, nanoseconds);
    copy->waiting--;
    if (done == 1) copy->passed = copy->host_free = 1;
    else if (done == 0) done = copy->passed;
    if (copy->passed && !copy->waiting) arrived(copy);
    Py_DECREF((PyObject *)copy);
    return done;
}

int gb_py_host_wait(gb_py_field *f) {
    gb_cuda_error e;
    gb_cuda_block *block = gb_py_field_block(f);
    if (!block) return 0;
    return GB_PY_CUDA_UNLOCKED(&e, gb_cuda_synchronize_block(block, &e)) < 0 ? -1 : 0;
}

static void wait_out(gb_cuda_event *event) {
    gb_cuda_error e;
    PyThreadState *state = PyEval_SaveThread();
    while (gb_cuda_wait(event, SLICE, &e) == 0) continue;
    PyEval_RestoreThread(state);
}

/* Wait for the work that a failed copy has queued, on either GPU. */
static void wait_for_both(gb_py_async_copy *copy) {
    gb_cuda_error e;
    gb_cuda_queue both[] = {copy->from, copy->on};
    for (int i = copy->from.device == copy->on.device; i < 2; i++) {
        gb_cuda_event *event;
        if (gb_cuda_record(both[i], &event, &e) < 0) continue;
        wait_out(event);
        gb_cuda_release_event(event);
    }
}

/* Wait for a pending copy: its memory must not be used again before. */
static void dealloc(PyObject *self) {
    gb_py_async_copy *copy = (gb_py_async_copy *)self;
    GB_PY_SAVED_ERROR;
    if (copy->event) wait_out(copy->event);
    else if (copy->n_held) wait_for_both(copy);
    arrived(copy);
    GB_PY_FREE_OBJECT(self);
}

/* wait(nanoseconds) -> bool; < 0: without limit, 0: poll. */
static PyObject *wait(PyObject *self, PyObject *number) {
    int64_t nanoseconds;
    if (gb_py_int64(number, "nanoseconds", "an int", &nanoseconds) < 0) return NULL;
    int done = gb_py_async_copy_wait((gb_py_async_copy *)self, nanoseconds);
    return done < 0 ? NULL : PyBool_FromLong(done);
}

static PyMethodDef methods[] = {
    {"wait", wait, METH_O, NULL},
    {NULL},
};

static PyMemberDef members[] = {
    {"host_free", T_BOOL, offsetof(gb_py_async_copy, host_free), READONLY, NULL}, {NULL}};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_doc, "A copy on its way, with what it needs until it has arrived."},
    {0, NULL},
};

int gb_py_async_copy_init(PyObject *module) {
    return gb_py_add_type(
        NULL, &type,
        (PyType_Spec){"gridbuf._core._AsyncCopy", sizeof(gb_py_async_copy), 0, GB_PY_FINAL, slots},
        NULL);
}
