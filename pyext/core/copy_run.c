/* copy_run.c: running a copy: small ones at once, large ones in slices that signals can end. */
#include "copy_run.h"
#include "args.h"

#include <string.h>

#define AT_ONCE (64 << 10)            /* bytes read and written, some 5 us: less than giving the GIL away may cost */
#define SLICE (20 * 1000 * 1000ll)    /* ns, well below the 50 ms within which Ctrl-C is answered */

static int64_t bytes_of(const gb_copy *copy) {
    int64_t bytes = 0;
    for (int i = copy->at_job; i < copy->jobs; i++) bytes += copy->job[i].bytes;
    return bytes;
}

/* Workers are Go's; one thread, or a forked child, needs none of them. */
static int slice(gb_copy *copy) {
    if (gb_forked || gb_copy_job_threads(&copy->job[copy->at_job]) == 1) {
        Py_BEGIN_ALLOW_THREADS
        gb_copy_run(copy, SLICE);
        Py_END_ALLOW_THREADS
        return 0;
    }
    gb_error e;
    return GB_PY_ENTER_GO_UNLOCKED(&e, gbridge_copy(copy, SLICE, &e));
}

static int tell(PyObject *progress, double done) {
    if (!progress) return 0;
    GB_PY_OWNED PyObject *result = PyObject_CallFunction(progress, "d", done);
    return result ? 0 : -1;
}

int gb_py_copy_finish(gb_copy *copy, int planned, PyObject *progress) {
    int rc = 0;
    if (planned == GB_COPY_NO_MEMORY)
        return PyErr_SetString(PyExc_MemoryError, "no memory for the temporary that overlapping arrays need"), -1;
    if (planned != GB_COPY_OK) return PyErr_Format(PyExc_ValueError, "dst: these views cannot be copied (%d)", planned), -1;
    if (bytes_of(copy) < AT_ONCE) {
        while (!gb_copy_run(copy, SLICE)) continue;
    } else {
        while (rc == 0 && !gb_copy_finished(copy)) {
            rc = slice(copy);
            if (rc == 0) rc = PyErr_CheckSignals();
            if (rc == 0 && !gb_copy_finished(copy)) rc = tell(progress, gb_copy_progress(copy));
        }
    }
    gb_copy_done(copy);
    return rc < 0 ? -1 : tell(progress, 1.0);
}

#define SMALL_FILL (256 << 10)   /* planning a fill of fewer bytes takes longer than the fill */

int gb_py_fill_zero(void *data, int64_t bytes) {
    if (bytes <= SMALL_FILL) return memset(data, 0, (size_t)bytes), 0;
    static const uint64_t zero;
    int64_t n = bytes / 8, stride = 8;
    gb_copy_view words = {data, 8, GB_RAW, 1, &n, &stride};
    gb_copy copy;
    memset((char *)data + 8 * n, 0, (size_t)(bytes - 8 * n));
    return gb_py_copy_finish(&copy, gb_copy_plan_fill(&copy, &words, &zero, GB_RAW, 8), NULL);
}

PyObject *gb_py_get_num_threads(PyObject *self, PyObject *unused) { return PyLong_FromLong(gb_copy_threads()); }

PyObject *gb_py_set_num_threads(PyObject *self, PyObject *n) {
    int64_t threads;
    if (gb_py_int64(n, "n", "an int", &threads) < 0) return NULL;
    if (threads < 1)
        return PyErr_Format(PyExc_ValueError, "n: %lld threads are not possible; give 1 or more", (long long)threads);
    gb_copy_set_threads(threads < 1 << 16 ? (int)threads : 1 << 16);
    Py_RETURN_NONE;
}
