/* explain.c: a plan's figures for Go to explain; gridbuf/explain/ renders what it says. */
#include "plan.h"

/* explain(dims, words): lines of a term, a tab and a sentence. The words are 64-bit numbers, as
 * alloc.ExplainFigures reads them. */
PyObject *gb_py_explain(PyObject *self, PyObject *args) {
    PyObject *dims, *word_bytes;
    const char *words;
    Py_ssize_t bytes;
    int32_t codes[GB_MAXDIMS];
    char text[16384]; /* 32 indices need no more */
    gb_error e;
    if (!PyArg_ParseTuple(args, "OO:explain", &dims, &word_bytes)) return NULL;
    if (gb_py_bytes(word_bytes, "words", &words, &bytes) < 0) return NULL;
    int ndim = gb_py_dims(dims, "dims", codes, GB_MAXDIMS);
    if (ndim < 0) return NULL;
    int64_t n = bytes / (Py_ssize_t)sizeof(int64_t);
    return GB_PY_ENTER_GO(
               &e, gb_py_go->explain(codes, ndim, (int64_t *)words, n, text, sizeof text, &e)) < 0
               ? NULL
               : PyUnicode_FromString(text);
}
