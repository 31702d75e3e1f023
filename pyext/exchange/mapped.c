/* mapped.c: whether the process has memory where somebody says that it has. */
#define _GNU_SOURCE
#include "exchange.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* One page. What cannot be asked, in a sandbox for instance, is taken for granted. */
static int page_is_mapped(uint64_t address, uint64_t page) {
    unsigned char resident;
    return mincore((void *)(uintptr_t)(address - address % page), page, &resident) == 0 ||
           errno != ENOMEM;
}

/* is_mapped(address, nbytes): the pages of the first and of the last byte; those between are the
 * caller's word. */
PyObject *gb_py_is_mapped(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError,
                            "is_mapped() takes address and nbytes, got %zd arguments", nargs);
    unsigned long long first = PyLong_AsUnsignedLongLong(args[0]),
                       n = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLong(args[1]);
    if (PyErr_Occurred()) { /* below zero, or beyond 64 bits: nobody has that */
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return NULL;
        PyErr_Clear();
        Py_RETURN_FALSE;
    }
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), last = first + (n ? n - 1 : 0);
    return PyBool_FromLong(last >= first && page_is_mapped(first, page) &&
                           page_is_mapped(last, page));
}
