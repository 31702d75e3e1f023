/* work.c: long work in slices that signals can end, and the number of threads. */
#include "args.h"
#include "work.h"

#define SLICE (20 * 1000 * 1000ll) /* ns, well below the 50 ms within which Ctrl-C is answered */

int gb_py_report_progress(PyObject *progress, double done) {
    if (!progress) return 0;
    GB_PY_OWNED PyObject *result = PyObject_CallFunction(progress, "d", done);
    return result ? 0 : -1;
}

int gb_py_work(gb_work *works, int n, PyObject *progress) {
    for (int i = 0; i < n; i++)
        for (gb_work *work = &works[i]; work->at < work->pieces;) {
            Py_BEGIN_ALLOW_THREADS
            gb_work_resume(work, SLICE);
            Py_END_ALLOW_THREADS
            if (work->at == work->pieces && i == n - 1) return 0;
            if (PyErr_CheckSignals() < 0 ||
                gb_py_report_progress(progress, (i + (double)work->at / (double)work->pieces) / n) <
                    0)
                return -1;
        }
    return 0;
}

int gb_py_copy_finish(gb_copy *copy, int planned, PyObject *progress) {
    int64_t bytes = 0;
    int rc = 0;
    if (planned == GB_COPY_NO_MEMORY)
        return gb_py_fail(PyExc_MemoryError,
                          "no memory for the temporary that overlapping arrays need");
    if (planned != GB_COPY_OK)
        return gb_py_fail(PyExc_ValueError, "dst: these views cannot be copied (%d)", planned);
    for (int i = 0; i < copy->jobs; i++) bytes += copy->job[i].bytes;
    if (bytes >= GB_PY_AT_ONCE) rc = gb_py_work(copy->work, copy->jobs, progress);
    else
        for (int i = 0; i < copy->jobs; i++) gb_copy_job_run(&copy->job[i], 0, copy->job[i].tiles);
    gb_copy_done(copy);
    return rc < 0 ? -1 : gb_py_report_progress(progress, 1.0);
}

#define SMALL_FILL (256 << 10) /* planning a fill of fewer bytes takes longer than the fill */

int gb_py_fill_zero(void *data, int64_t bytes) {
    if (bytes <= SMALL_FILL) {
        memset(data, 0, (size_t)bytes);
        return 0;
    }
    static const uint64_t zero;
    int64_t n = bytes / 8, stride = 8;
    gb_copy_view words = {data, 8, GB_RAW, 1, &n, &stride};
    gb_copy copy;
    memset((char *)data + 8 * n, 0, (size_t)(bytes - 8 * n));
    return gb_py_copy_finish(&copy, gb_copy_plan_fill(&copy, &words, &zero, GB_RAW, 8), NULL);
}

PyObject *gb_py_get_num_threads(PyObject *self, PyObject *unused) {
    return PyLong_FromLong(gb_work_thread_count());
}

/* cpu_quota(root): processors that the control groups allow, 0: all; root is where /proc and /sys
 * are. */
PyObject *gb_py_cpu_quota(PyObject *self, PyObject *root) {
    GB_PY_OWNED PyObject *path = PyUnicode_AsUTF8String(root);
    return path ? PyFloat_FromDouble(gb_work_cpu_quota(PyBytes_AsString(path))) : NULL;
}

PyObject *gb_py_set_num_threads(PyObject *self, PyObject *n) {
    int64_t threads;
    if (gb_py_int64(n, "n", "an int", &threads) < 0) return NULL;
    if (threads < 1)
        return PyErr_Format(PyExc_ValueError, "n: %lld threads are not possible; give 1 or more",
                            (long long)threads);
    gb_work_set_thread_count(threads < 1 << 16 ? (int)threads : 1 << 16);
    Py_RETURN_NONE;
}
