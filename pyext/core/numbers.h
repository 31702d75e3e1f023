/* numbers.h: what Python calls by number in the C below. */
#ifndef GRIDBUF_PYNUMBERS_H
#define GRIDBUF_PYNUMBERS_H

#include "common.h"

int gb_py_numbers_init(PyObject *module);

#endif
