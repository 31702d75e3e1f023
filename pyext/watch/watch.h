/* watch.h: gridbuf.watch's part in C: the lines of Python that allocate, and functions that are
 * timed without a frame. */
#pragma once

#include "../core/common.h"

/* ---- lines.c: the program's line that runs ---- */

/* A tuple of str: frames of files whose names contain one of them are passed over. -1 with an
 * error. */
int gb_py_line_pass_over(PyObject *names);

/* The line of the watched call that runs, without a look at any frame; NULL outside of one. A
 * new reference to the file. */
PyObject *gb_py_line_of_call(int64_t *line);

/* The line that runs: a new reference to its file; NULL, perhaps with an exception, where no
 * Python runs. */
PyObject *gb_py_line_of_now(int64_t *line);
