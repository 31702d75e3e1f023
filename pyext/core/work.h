/* work.h: copies and fills that transfer/ has planned, as Python wants them run. */
#pragma once

#include "common.h"
#include "../../transfer/transfer.h"

/* Below so many bytes read and written, some 5 us, giving the GIL away may cost more than the work.
 */
#define GB_PY_AT_ONCE (64 << 10)

int gb_py_report_progress(PyObject *progress, double done); /* progress NULL: nobody */

/* Does n works one after the other, in slices without the GIL: signals are seen, and progress (or
 * NULL) is called, between them. */
int gb_py_work(gb_work *works, int n, PyObject *progress);

/* Run a planned copy to its end, in slices without the GIL: signals are
 * seen, and progress (or NULL) is called, between them. The copy is done afterwards. */
int gb_py_copy_finish(gb_copy *copy, int planned, PyObject *progress);
int gb_py_fill_zero(void *data, int64_t bytes);
