/* upcall.c: see upcall.h. tests/lint/test_upcalls.py holds its table against the package. */
#include "upcall.h"

#include <stdarg.h>

#define ROW(name, module, function) {module, function},
static const struct {
    const char *module, *function;
} table[] = {GB_PY_UPCALLS(ROW)};
#define MEMBER(name, module, class, member) member,
static const char *const members[] = {GB_PY_UPCALL_MEMBERS(MEMBER)};
static PyObject *found[GB_PY_UPCALL_COUNT];

PyObject *gb_py_upcall_get(gb_py_upcall which) {
    PyObject *known = __atomic_load_n(&found[which], __ATOMIC_ACQUIRE);
    if (__builtin_expect(known != NULL, 1)) return known;
    PyObject *module = PyImport_ImportModule(table[which].module);
    PyObject *function = module ? PyObject_GetAttrString(module, table[which].function) : NULL;
    if (module && !function && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Format(PyExc_ImportError,
                     "%s is being imported, and a signal handler or a tracer that interrupted the "
                     "import needs it, too; use it once before the handler is set",
                     table[which].module);
    Py_XDECREF(module);
    if (!function || __atomic_compare_exchange_n(&found[which], &known, function, 0,
                                                 __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
        return function;
    Py_DECREF(function); /* code that the import ran has stored it already */
    return known;
}

void gb_py_upcall_forget(void) { /* references stay: a call may be under way */
    for (int i = 0; i < GB_PY_UPCALL_COUNT; i++)
        __atomic_store_n(&found[i], NULL, __ATOMIC_RELEASE);
}

static PyObject *call(PyObject *function, const char *format, va_list values) {
    GB_PY_OWNED PyObject *args = function ? Py_VaBuildValue(format, values) : NULL;
    return args ? PyObject_CallObject(function, args) : NULL;
}

PyObject *gb_py_upcall_to(gb_py_upcall which, const char *format, ...) {
    va_list values;
    va_start(values, format);
    PyObject *result = call(gb_py_upcall_get(which), format, values);
    va_end(values);
    return result;
}

PyObject *gb_py_upcall_of(PyObject *self, gb_py_upcall_member which) {
    return PyObject_GetAttrString(self, members[which]);
}

PyObject *gb_py_upcall_on(PyObject *self, gb_py_upcall_member which, const char *format, ...) {
    va_list values;
    va_start(values, format);
    GB_PY_OWNED PyObject *method = gb_py_upcall_of(self, which);
    PyObject *result = call(method, format, values);
    va_end(values);
    return result;
}
