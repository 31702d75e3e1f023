/* keys.h: keys of slices and integers: which elements they mean. */
#pragma once

#include "../core/common.h"

/* The effect of a key on one index of that size. */
typedef struct gb_py_cut {
    int64_t start, step, length, size;
    int keep;
} gb_py_cut;

/* Integers alone select an element; with an ellipsis they select a view without indices, as in
 * NumPy. */
enum { GB_PY_KEY_ERROR = -1, GB_PY_KEY_OTHER, GB_PY_KEY_VIEW, GB_PY_KEY_ELEMENT };

/* Fills in the cut of each index; other keys are lists, masks, arrays, ... Of a Field wrong keys
 * are errors, and of one element the step is a direction. Reading a key may run Python code. */
int gb_py_cuts(PyObject *key, int ndim, const int64_t *shape, gb_py_cut *cuts, int of_field);
