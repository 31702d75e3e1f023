/* numbers.h: what Python calls by number in the C below. */
#pragma once

#include "common.h"

int gb_py_numbers_init(PyObject *module);
