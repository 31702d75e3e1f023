/* watch_line.h: which line of the program runs. */
#pragma once

#include "common.h"

/* A tuple of str: files whose names have one of them in it are passed over from now on; -1 with or without an exception. */
int gb_py_line_pass_over(PyObject *names);

/* Of the watched call that runs: as below, without a look at any frame; NULL where none does. */
PyObject *gb_py_line_of_call(int64_t *line);

/* The file, a new reference, and the number of the line; NULL, and perhaps an exception, where no Python runs. */
PyObject *gb_py_line_of_now(int64_t *line);

/* A watched call of this thread begins: what it does until the call ends belongs to the line that makes it. */
int64_t gb_py_call_enter(void);
double gb_py_call_leave(int64_t began);   /* its seconds, but those that were our own */
int gb_py_call_depth(void);               /* how many there are, one calling the other */

PyObject *gb_py_watch_enter(PyObject *self, PyObject *none);
PyObject *gb_py_watch_leave(PyObject *self, PyObject *began);
PyObject *gb_py_watch_apart(PyObject *self, PyObject *seconds);
PyObject *gb_py_watch_depth(PyObject *self, PyObject *none);
