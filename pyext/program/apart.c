/* apart.c: whether Fields can have memory in common, by the first and the last byte of each. */
#include "program.h"

#include "../../alloc/strides.h"

typedef struct span {
    intptr_t low, end;
} span;

static int compare(const void *a, const void *b) {
    intptr_t x = ((const span *)a)->low, y = ((const span *)b)->low;
    return (x > y) - (x < y);
}

/* Fields come in the order of their memory, nearly: then this is one look at each. */
static void sort(span *spans, Py_ssize_t n) {
    if (n > 64) {
        qsort(spans, (size_t)n, sizeof *spans, compare);
        return;
    }
    for (Py_ssize_t i = 1; i < n; i++) {
        span s = spans[i];
        Py_ssize_t at = i;
        for (; at > 0 && spans[at - 1].low > s.low; at--) spans[at] = spans[at - 1];
        spans[at] = s;
    }
}

int gb_py_fields_apart(PyObject *const *fields, Py_ssize_t n) {
    span few[64], *spans = few;
    if (n > 64 && !(spans = malloc((size_t)n * sizeof *spans))) return PyErr_NoMemory(), -1;
    Py_ssize_t m = 0;
    int apart = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        const gb_geometry *g = &((gb_py_field *)fields[i])->geometry;
        m += gb_extent(((gb_py_field *)fields[i])->data, g->shape, g->strides, g->ndim, g->itemsize,
                       &spans[m].low, &spans[m].end);
    }
    sort(spans, m);
    for (Py_ssize_t i = 1; i < m; i++) apart &= spans[i - 1].end <= spans[i].low;
    if (spans != few) free(spans);
    return apart;
}

/* None: they lie apart; else how many bytes each one's element 0 lies from the first one's. */
PyObject *gb_py_spans_meet(PyObject *self, PyObject *const *fields, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (!gb_py_is_field(fields[i]))
            return PyErr_Format(PyExc_TypeError, "spans_meet: expected Fields, got %R",
                                Py_TYPE(fields[i]));
    int apart = gb_py_fields_apart(fields, n);
    if (apart) return apart < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *found = PyTuple_New(n);
    for (Py_ssize_t i = 0; found && i < n; i++)
        gb_py_put(&found, i,
                  PyLong_FromLongLong(((gb_py_field *)fields[i])->data -
                                      ((gb_py_field *)fields[0])->data));
    return found;
}
