/* watching.h: gridbuf.watch's side in C: which lines of Python allocate and copy, and which calls they make, while it looks. */
#pragma once

#include "common.h"

/* ---- watch_blocks.c: from an address to what is known of the block there ---- */

typedef struct {
    uintptr_t at;   /* 0: free */
    int64_t bytes, serial;
    int32_t number;
} gb_py_block;

/* Whoever lay there before is forgotten; without memory for the table, so is this one. */
void gb_py_block_note(const void *data, int64_t bytes, int32_t number, int64_t serial);
int32_t gb_py_block_forget(const void *data);           /* its number, or -1 */
int32_t gb_py_block_number(const void *data);           /* the same, and it is kept */
const gb_py_block *gb_py_block_at(uintptr_t address);   /* the latest that the address lies in, or NULL */

/* ---- watch_line.c: which line of the program runs ---- */

/* A tuple of str: files whose names have one of them in it are passed over from now on; -1 with an error. */
int gb_py_line_pass_over(PyObject *names);

/* Of the watched call that runs: as below, without a look at any frame; NULL where none does. */
PyObject *gb_py_line_of_call(int64_t *line);

/* The file, a new reference, and the number of the line; NULL, and perhaps an exception, where no Python runs. */
PyObject *gb_py_line_of_now(int64_t *line);

/* A watched call of this thread begins: what it does until the call ends belongs to the line that makes it. */
int64_t gb_py_call_enter(void);
double gb_py_call_leave(int64_t began);   /* its seconds, but those that were our own */
int gb_py_call_depth(void);               /* how many there are, one calling the other */

/* ---- watch.c ---- */

extern int gb_py_watching;

/* A block of gridbuf's own was taken: it is put down to the line that runs. With the GIL. */
void gb_py_watch_own(void *data, int64_t bytes);

int64_t gb_py_watch_taken_blocks(void);   /* so far */

/* ---- watch_layouts.c: how arrays lie, as one number made of their strides and types ---- */

uint64_t gb_py_layout(uint64_t before, PyArrayObject *array);   /* and of what came before */
int gb_py_layouts_key(PyObject *values, uint64_t *key);

/* ---- trace.c: with GRIDBUF_TRACE=1 every block remembers the Python line that asked for it; gridbuf.watch is told, too ---- */

extern int gb_py_tracing;
void gb_py_trace(void *data, int64_t bytes, uint64_t plan);
