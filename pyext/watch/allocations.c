/* allocations.c: a memory handler of NumPy's (NEP 49) that passes everything on to the one it
 * found, and notes the line.
 *
 * Blocks of `least` bytes and more are put down to a line of Python: the innermost one whose
 * file is not passed over (NumPy's own, gt4py's, ...). Smaller ones are only counted. NumPy
 * calls the handler in the middle of making an array, with the GIL: nothing here runs Python
 * code, and a block that cannot be noted is allocated all the same.
 */
#include "watch.h"
#include "../core/common.h"
#include "../core/references.h"
#include "../core/memory.h"
#include "../../alloc/system.h"

#include <sys/resource.h>

#define CAPSULE "mem_handler"
#define FAULTS_FROM 65536 /* bytes */
#define MOST_LINES 65536
#define INDEX_ROOM (4 * MOST_LINES)
#define TOUCHED 64
#define BETWEEN 1000000 /* nanoseconds */

enum owner { NUMPY, GRIDBUF, NUMPY_ZEROS };

/* The blocks of one size from one line. */
typedef struct {
    PyObject *file; /* a reference */
    int64_t line, bytes, owner;
    int64_t count, nanoseconds, faults, live, peak;
} entry;

static struct {
    int on;
    PyDataMem_Handler *found;
    PyObject *found_capsule, *capsule;
    int64_t least, count, bytes;
    entry *lines;   /* room for all there may be: untouched pages cost nothing */
    int32_t *index; /* numbers of lines, from 1 on, by their hash */
    int64_t n_lines;
    int64_t faults_before, asked; /* page faults at the last look, and its time */
    int32_t touched[TOUCHED];     /* lines that took blocks since then */
    int n_touched;
} watch;

/* ---- blocks by address ----
 *
 * An open table with linear probing; the holder of the GIL is the one writer. */

typedef struct {
    uintptr_t at; /* 0: free */
    int64_t bytes, serial;
    int32_t number; /* allocations of the line */
} block;

static block *blocks;
static size_t room, used;

static size_t home(uintptr_t at) {
    return (size_t)(((uint64_t)at >> 4) * 0x9E3779B97F4A7C15u >> 16) & (room - 1);
}

static block *slot_of(uintptr_t at) {
    size_t i = home(at);
    while (blocks[i].at && blocks[i].at != at) i = (i + 1) & (room - 1);
    return &blocks[i];
}

static int grow(void) {
    size_t had = room;
    block *old = blocks, *made = calloc(had ? 2 * had : 1024, sizeof *made);
    if (!made) return -1;
    blocks = made;
    room = had ? 2 * had : 1024;
    for (size_t i = 0; i < had; i++)
        if (old[i].at) *slot_of(old[i].at) = old[i];
    free(old);
    return 0;
}

/* Replace the block at this address. Without memory for the table the block is not noted. */
static void block_note(const void *data, int64_t bytes, int32_t number, int64_t serial) {
    if (2 * used >= room && grow() < 0) return;
    block *b = slot_of((uintptr_t)data);
    used += !b->at;
    *b = (block){.at = (uintptr_t)data, .bytes = bytes, .number = number, .serial = serial};
}

/* Take a block out; its line's number, or -1. Blocks that its slot had pushed on move back, so
 * no marks are needed. */
static int32_t block_forget(const void *data) {
    if (!room) return -1;
    block *b = slot_of((uintptr_t)data);
    if (!b->at) return -1;
    int32_t number = b->number;
    size_t hole = (size_t)(b - blocks), i = hole;
    for (;;) {
        i = (i + 1) & (room - 1);
        if (!blocks[i].at) break;
        size_t from = home(blocks[i].at);
        int before_home = ((i - from) & (room - 1)) < ((i - hole) & (room - 1));
        if (before_home) continue;
        blocks[hole] = blocks[i];
        hole = i;
    }
    blocks[hole].at = 0;
    used--;
    return number;
}

/* The latest block that an address lies in, or NULL. Most questions are about a first byte,
 * which is found at once. */
static const block *block_at(uintptr_t address) {
    const block *found = room ? slot_of(address) : NULL;
    if (!found || found->at) return found;
    found = NULL;
    for (size_t i = 0; i < room; i++) {
        const block *b = &blocks[i];
        int inside = b->at && b->at <= address && address < b->at + (uintptr_t)b->bytes;
        if (inside && (!found || b->serial > found->serial)) found = b;
    }
    return found;
}

/* ---- the lines ---- */

static size_t hash_line(PyObject *file, int64_t line, int64_t bytes, int64_t owner) {
    uint64_t h = (uint64_t)(uintptr_t)file ^ (uint64_t)line << 20 ^ (uint64_t)bytes << 1;
    h ^= (uint64_t)owner;
    return (size_t)(h * 0x9E3779B97F4A7C15u >> 20);
}

/* The number of an entry; -1 where there is no room. */
static int64_t entry_of(PyObject *file, int64_t line, int64_t bytes, int64_t owner) {
    if (watch.n_lines == MOST_LINES) return -1;
    size_t at = hash_line(file, line, bytes, owner) % INDEX_ROOM;
    for (; watch.index[at]; at = (at + 1) % INDEX_ROOM) {
        entry *e = &watch.lines[watch.index[at] - 1];
        int same = e->file == file && e->line == line && e->bytes == bytes && e->owner == owner;
        if (same) return watch.index[at] - 1;
    }
    entry made = {.file = Py_NewRef(file), .line = line, .bytes = bytes, .owner = owner};
    watch.lines[watch.n_lines] = made;
    watch.index[at] = (int32_t)++watch.n_lines;
    return watch.n_lines - 1;
}

/* Share the page faults since the last time among the blocks taken since then, by size: no more
 * of them than there are pages. */
static void credit_faults(int64_t when) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    int64_t since = usage.ru_minflt - watch.faults_before, bytes = 0;
    for (int i = 0; i < watch.n_touched; i++) bytes += watch.lines[watch.touched[i]].bytes;
    for (int i = 0; i < watch.n_touched; i++) {
        entry *e = &watch.lines[watch.touched[i]];
        int64_t pages = e->bytes / gb_heap_page_bytes + 2;
        int64_t part = (int64_t)((double)since * ((double)e->bytes / (double)bytes) + 0.5);
        e->faults += part < pages ? part : pages;
    }
    watch.faults_before = usage.ru_minflt;
    watch.asked = when;
    watch.n_touched = 0;
}

static void note(void *data, int64_t bytes, enum owner owner, int64_t started, int64_t ended) {
    int64_t line = 0;
    PyObject *file = gb_py_line_of_call(&line);
    if (!file) {
        GB_PY_SAVED_ERROR;
        /* Python 3.11 would collect as it makes a frame object. */
        int collecting = Py_Version < 0x030C0000 && PyGC_Disable();
        file = gb_py_line_of_now(&line);
        if (collecting) PyGC_Enable();
    }
    int64_t number = file ? entry_of(file, line, bytes, owner) : -1;
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
    block_note(data, bytes, (int32_t)number, watch.count);
}

static void forget(void *data, int64_t bytes) {
    int32_t number = bytes >= watch.least ? block_forget(data) : -1;
    if (number >= 0) watch.lines[number].live--;
}

/* A block of gridbuf's own was taken: gb_py_on_block. */
static void note_own(void *data, int64_t bytes) {
    watch.count++;
    watch.bytes += bytes;
    if (bytes < watch.least) return;
    int64_t when = gb_nanoseconds();
    note(data, bytes, GRIDBUF, when, when);
}

/* ---- the handler ---- */

static int64_t start_of(size_t bytes) {
    return watch.on && (int64_t)bytes >= watch.least ? gb_nanoseconds() : 0;
}

static void *taken(void *data, size_t bytes, int64_t started, enum owner owner) {
    if (!data || !watch.on) return data;
    watch.count++;
    watch.bytes += (int64_t)bytes;
    if (started) note(data, (int64_t)bytes, owner, started, gb_nanoseconds());
    return data;
}

static void *handler_malloc(void *ctx, size_t bytes) {
    PyDataMemAllocator *inner = &watch.found->allocator;
    int64_t started = start_of(bytes);
    return taken(inner->malloc(inner->ctx, bytes), bytes, started, NUMPY);
}

static void *handler_calloc(void *ctx, size_t n, size_t size) {
    PyDataMemAllocator *inner = &watch.found->allocator;
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) return NULL;
    int64_t started = start_of(bytes);
    return taken(inner->calloc(inner->ctx, n, size), bytes, started, NUMPY_ZEROS);
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
    return taken(moved, bytes, started, NUMPY);
}

static PyDataMem_Handler handler = {
    "gridbuf watch", 1, {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free}};

/* ---- functions of the module ---- */

/* (files to pass over, least bytes): the handler to install; it passes on to the one that is
 * there when it is first made. */
PyObject *gb_py_watch_start(PyObject *self, PyObject *args) {
    PyObject *names;
    long long least;
    if (!PyArg_ParseTuple(args, "O!L:watch_start", &PyTuple_Type, &names, &least)) return NULL;
    if (!watch.capsule) {
        watch.found_capsule = PyDataMem_GetHandler();
        if (!watch.found_capsule) return NULL;
        watch.found = PyCapsule_GetPointer(watch.found_capsule, CAPSULE);
        if (!watch.found) return NULL;
        if (!watch.lines) watch.lines = calloc(MOST_LINES, sizeof *watch.lines);
        if (!watch.index) watch.index = calloc(INDEX_ROOM, sizeof *watch.index);
        if (!watch.lines || !watch.index) return PyErr_NoMemory();
        watch.capsule = PyCapsule_New(&handler, CAPSULE, NULL);
        if (!watch.capsule) return NULL;
    }
    if (gb_py_line_pass_over(names) < 0) return NULL;
    watch.least = least;
    credit_faults(gb_nanoseconds());
    watch.on = 1;
    gb_py_on_block = note_own;
    gb_py_tracing |= GB_PY_TRACE_BLOCKS;
    return Py_NewRef(watch.capsule);
}

PyObject *gb_py_watch_stop(PyObject *self, PyObject *none) {
    if (watch.on) credit_faults(gb_nanoseconds());
    watch.on = 0;
    gb_py_tracing &= ~GB_PY_TRACE_BLOCKS;
    Py_RETURN_NONE;
}

/* [(file, line, bytes of each, owner, how many, nanoseconds, page faults, live, most that were
 * live at once)] */
PyObject *gb_py_watch_lines(PyObject *self, PyObject *none) {
    if (watch.on) credit_faults(gb_nanoseconds());
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < watch.n_lines; i++) {
        entry e = watch.lines[i];
        long long line = e.line, bytes = e.bytes, owner = e.owner, count = e.count;
        long long nanoseconds = e.nanoseconds, faults = e.faults, live = e.live, peak = e.peak;
        PyObject *row = Py_BuildValue("(OLLLLLLLL)", e.file, line, bytes, owner, count, nanoseconds,
                                      faults, live, peak);
        gb_py_append(&list, row);
    }
    return list;
}

/* (file, line, bytes, number of blocks taken before it, owner) of the block that has an address;
 * None: unknown. */
PyObject *gb_py_watch_block(PyObject *self, PyObject *address) {
    unsigned long long at = PyLong_AsUnsignedLongLong(address);
    if (at == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
    const block *b = block_at((uintptr_t)at);
    if (!b) Py_RETURN_NONE;
    const entry *e = &watch.lines[b->number];
    long long line = e->line, bytes = b->bytes, serial = b->serial, owner = e->owner;
    return Py_BuildValue("(OLLLL)", e->file, line, bytes, serial, owner);
}

/* (blocks, bytes) that were taken so far, small ones included. */
PyObject *gb_py_watch_total(PyObject *self, PyObject *none) {
    return Py_BuildValue("(LL)", (long long)watch.count, (long long)watch.bytes);
}
