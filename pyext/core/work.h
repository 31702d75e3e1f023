/* work.h: long work in slices without the GIL, and copies and fills that transfer/ has planned. */
#pragma once

#include "common.h"
#include "../../transfer/transfer.h"

/* Bytes read and written, some 5 us, below which releasing the GIL may cost more than the work. */
#define GB_PY_AT_ONCE (64 << 10)

int gb_py_report_progress(PyObject *progress, double done); /* progress may be NULL */

/* Run n works one after the other, in slices without the GIL: between them signals are handled and
 * progress (or NULL) is called. */
int gb_py_work(gb_work *works, int n, PyObject *progress);

/* Run a planned copy to its end, as gb_py_work. The copy is released. */
int gb_py_copy_finish(gb_copy *copy, int planned, PyObject *progress);
int gb_py_fill_zero(void *data, int64_t bytes);
