/* element.h: Python's numbers as elements of memory, where that needs no more than a look at them. */
#pragma once

#include "../../alloc/elements.h"
#include "common.h"

/* 1 done, 0: it does not fit simply. */
int gb_py_put_int(char *to, uint8_t type, long long v);
int gb_py_put_float(char *to, uint8_t type, double v);
int gb_py_put_number(char *to, uint8_t type, PyObject *value);   /* of Python's own float or int; anything else never fits */
