/* watch.c: a memory handler of NumPy's (NEP 49) that passes everything on to the one it found, and notes who asked.
 *
 * Blocks of `least` bytes and more are put down to a line of Python: the innermost one whose file is not among those to be
 * passed over (NumPy's own, gt4py's, ...). Smaller ones are counted only. NumPy calls this in the middle of making an array,
 * with the GIL: nothing here runs Python code, and what cannot be noted is allocated all the same.
 */
#include "watching.h"
#include "lists.h"
#include "pending.h"
#include "../../alloc/clock.h"
#include "../../alloc/pages.h"

#include <sys/resource.h>

#define CAPSULE "mem_handler"
#define FAULTS_FROM 65536   /* bytes */
#define MOST_LINES 65536
#define INDEX_ROOM (4 * MOST_LINES)
#define TOUCHED 64
#define BETWEEN 1000000   /* nanoseconds */

int gb_py_watching;

typedef struct {
    PyObject *file;   /* ours */
    int64_t line, bytes, own, count, nanoseconds, faults, live, peak;   /* own: 1 for gridbuf's, 2 for zeros of NumPy's */
} entry;

static struct {
    PyDataMem_Handler *found;
    PyObject *found_capsule, *capsule;
    int64_t least, count, bytes;
    entry *lines;               /* room for all there may be: what nobody has touched costs nothing */
    int32_t *index;             /* of lines, from 1 on, by their hash */
    int64_t n_lines, faults_before, asked;   /* page faults so far, and when that was */
    int32_t touched[TOUCHED];   /* of whom blocks were taken since then */
    int n_touched;
} watch;

/* ---- the lines ---- */

static size_t hash_line(PyObject *file, int64_t line, int64_t bytes, int64_t own) {
    uint64_t h = (uint64_t)(uintptr_t)file ^ ((uint64_t)line << 20) ^ ((uint64_t)bytes << 1) ^ (uint64_t)own;
    return (size_t)(h * 0x9E3779B97F4A7C15u >> 20);
}

/* The number of an entry; -1 where there is no room. */
static int64_t entry_of(PyObject *file, int64_t line, int64_t bytes, int64_t own) {
    if (watch.n_lines == MOST_LINES) return -1;
    size_t at = hash_line(file, line, bytes, own) % INDEX_ROOM;
    for (; watch.index[at]; at = (at + 1) % INDEX_ROOM) {
        entry *e = &watch.lines[watch.index[at] - 1];
        if (e->file == file && e->line == line && e->bytes == bytes && e->own == own) return watch.index[at] - 1;
    }
    watch.lines[watch.n_lines] = (entry){ .file = Py_NewRef(file), .line = line, .bytes = bytes, .own = own };
    watch.index[at] = (int32_t)++watch.n_lines;
    return watch.n_lines - 1;
}

/* ---- what is noted ---- */

/* Page faults since the last time belong to the blocks taken since then, by their size: no more of them than there are pages. */
static void credit_faults(int64_t when) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    int64_t since = usage.ru_minflt - watch.faults_before, bytes = 0;
    for (int i = 0; i < watch.n_touched; i++) bytes += watch.lines[watch.touched[i]].bytes;
    for (int i = 0; i < watch.n_touched; i++) {
        entry *e = &watch.lines[watch.touched[i]];
        int64_t pages = e->bytes / gb_heap_page_bytes + 2, part = (int64_t)((double)since * ((double)e->bytes / (double)bytes) + 0.5);
        e->faults += part < pages ? part : pages;
    }
    watch.faults_before = usage.ru_minflt;
    watch.asked = when;
    watch.n_touched = 0;
}

static void note(void *data, int64_t bytes, int64_t own, int64_t started, int64_t ended) {
    int64_t line = 0;
    PyObject *file = gb_py_line_of_call(&line);
    if (!file) {
        GB_PY_ASIDE;
        int collecting = Py_Version < 0x030C0000 && PyGC_Disable();   /* Python 3.11 would collect while it makes a frame object */
        file = gb_py_line_of_now(&line);
        if (collecting) PyGC_Enable();
    }
    int64_t number = file ? entry_of(file, line, bytes, own) : -1;
    Py_XDECREF(file);
    if (number < 0) return;
    if (bytes >= FAULTS_FROM) {
        if (watch.n_touched == TOUCHED || ended - watch.asked > BETWEEN) credit_faults(ended);
        watch.touched[watch.n_touched++] = (int32_t)number;
    }
    entry *e = &watch.lines[number];
    e->count++;
    e->nanoseconds += ended - started;
    if (++e->live > e->peak) e->peak = e->live;
    gb_py_block_note(data, bytes, (int32_t)number, watch.count);
}

static void forget(void *data, int64_t bytes) {
    int32_t number = bytes >= watch.least ? gb_py_block_forget(data) : -1;
    if (number >= 0) watch.lines[number].live--;
}

void gb_py_watch_own(void *data, int64_t bytes) {
    watch.count++;
    watch.bytes += bytes;
    if (bytes >= watch.least) {
        int64_t when = gb_nanoseconds();
        note(data, bytes, 1, when, when);
    }
}

/* ---- the handler ---- */

static void *taken(void *data, size_t bytes, int64_t started, int64_t own) {
    if (!data || !gb_py_watching) return data;
    watch.count++;
    watch.bytes += (int64_t)bytes;
    if (started) note(data, (int64_t)bytes, own, started, gb_nanoseconds());
    return data;
}

static int64_t start_of(size_t bytes) { return gb_py_watching && (int64_t)bytes >= watch.least ? gb_nanoseconds() : 0; }

static void *handler_malloc(void *ctx, size_t bytes) {
    PyDataMemAllocator *inner = &watch.found->allocator;
    int64_t started = start_of(bytes);
    return taken(inner->malloc(inner->ctx, bytes), bytes, started, 0);
}

static void *handler_calloc(void *ctx, size_t n, size_t size) {
    PyDataMemAllocator *inner = &watch.found->allocator;
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
    int64_t started = start_of(bytes);
    return taken(inner->calloc(inner->ctx, n, size), bytes, started, 2);
}

static void handler_free(void *ctx, void *data, size_t bytes) {
    if (data) forget(data, (int64_t)bytes);
    watch.found->allocator.free(watch.found->allocator.ctx, data, bytes);
}

static void *handler_realloc(void *ctx, void *data, size_t bytes) {
    PyDataMemAllocator *inner = &watch.found->allocator;
    int64_t started = start_of(bytes);
    void *moved = inner->realloc(inner->ctx, data, bytes);
    if (moved && data) forget(data, INT64_MAX);
    return taken(moved, bytes, started, 0);
}

static PyDataMem_Handler handler = {
    "gridbuf watch", 1, { NULL, handler_malloc, handler_calloc, handler_realloc, handler_free }
};

int64_t gb_py_watch_taken_blocks(void) { return watch.count; }

/* ---- what Python calls ---- */

/* (files to pass over, least bytes): the handler to install; it passes on to the one that is there when it is first made. */
PyObject *gb_py_watch_start(PyObject *self, PyObject *args) {
#ifdef Py_GIL_DISABLED   /* the tables have one writer at a time */
    return PyErr_Format(PyExc_RuntimeError, "watch_start: not on a free-threaded Python");
#endif
    PyObject *names;
    long long least;
    if (!PyArg_ParseTuple(args, "O!L:watch_start", &PyTuple_Type, &names, &least)) return NULL;
    if (!watch.capsule) {
        watch.found_capsule = PyDataMem_GetHandler();
        if (!watch.found_capsule || !(watch.found = PyCapsule_GetPointer(watch.found_capsule, CAPSULE))) return NULL;
        if (!watch.lines) watch.lines = calloc(MOST_LINES, sizeof *watch.lines);
        if (!watch.index) watch.index = calloc(INDEX_ROOM, sizeof *watch.index);
        if (!watch.lines || !watch.index) return PyErr_NoMemory();
        if (!(watch.capsule = PyCapsule_New(&handler, CAPSULE, NULL))) return NULL;
    }
    if (gb_py_line_pass_over(names) < 0) return NULL;
    watch.least = least;
    credit_faults(gb_nanoseconds());
    gb_py_watching = 1;
    return Py_NewRef(watch.capsule);
}

PyObject *gb_py_watch_stop(PyObject *self, PyObject *none) {
    if (gb_py_watching) credit_faults(gb_nanoseconds());
    gb_py_watching = 0;
    Py_RETURN_NONE;
}

/* [(file, line, bytes of each, 1 where gridbuf's own and 2 where zeros of NumPy's, how many, nanoseconds, page faults, live, most that were live at once)] */
PyObject *gb_py_watch_lines(PyObject *self, PyObject *none) {
    if (gb_py_watching) credit_faults(gb_nanoseconds());
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < watch.n_lines; i++) {
        entry e = watch.lines[i];
        gb_py_append(&list, Py_BuildValue("(OLLLLLLLL)", e.file, (long long)e.line, (long long)e.bytes, (long long)e.own,
                                      (long long)e.count, (long long)e.nanoseconds, (long long)e.faults, (long long)e.live,
                                      (long long)e.peak));
    }
    return list;
}

/* (file, line, bytes, how many blocks had been taken before it) of the block that an address lies in; None where none is known. */
PyObject *gb_py_watch_block(PyObject *self, PyObject *address) {
    unsigned long long at = PyLong_AsUnsignedLongLong(address);
    if (at == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
    const gb_py_block *b = gb_py_block_at((uintptr_t)at);
    if (!b) Py_RETURN_NONE;
    const entry *e = &watch.lines[b->number];
    return Py_BuildValue("(OLLL)", e->file, (long long)e->line, (long long)b->bytes, (long long)b->serial);
}

/* (blocks, bytes) that were taken so far, small ones included. */
PyObject *gb_py_watch_total(PyObject *self, PyObject *none) {
    return Py_BuildValue("(LL)", (long long)watch.count, (long long)watch.bytes);
}
