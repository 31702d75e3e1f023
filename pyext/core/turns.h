/* turns.h: whose turn it is among the threads of a free-threaded Python; of other Pythons nothing is asked, nor compiled.
 *
 * Types and functions are made here. Where there is no GIL, whatever Python calls of them is behind one lock, which its
 * holder gives away as it would the GIL: where it waits, and where long work runs. C that is called past Python, through a
 * table of functions, says GB_PY_TURN itself. */
#pragma once

#include <Python.h>
#include <string.h>

#ifdef Py_GIL_DISABLED

/* Puts the lock before all that Python calls. -1 with an error. */
int gb_py_turns_init(void);
int gb_py_methods_take_turns(PyMethodDef *methods);
int gb_py_type_takes_turns(PyType_Spec *spec);

/* 0: the thread's turn goes on, and gb_py_turn_end is to do nothing. */
int gb_py_turn_begin(PyCriticalSection *section);
static inline void gb_py_turn_end(PyCriticalSection *section, int began) {
    if (began) PyCriticalSection_End(section);
}
#define GB_PY_TURN(result, call)                         \
    do {                                                 \
        PyCriticalSection section_;                      \
        int began_ = gb_py_turn_begin(&section_);        \
        result = call;                                   \
        gb_py_turn_end(&section_, began_);               \
    } while (0)

#else

static inline int gb_py_turns_init(void) { return 0; }
static inline int gb_py_methods_take_turns(PyMethodDef *methods) { return 0; }
static inline int gb_py_type_takes_turns(PyType_Spec *spec) { return 0; }
#define GB_PY_TURN(result, call) result = call

#endif

/* PyType_FromSpecWithBases; bases: NULL, a type or a tuple of types. */
static inline PyObject *gb_py_type(PyType_Spec *spec, PyObject *bases) {
    return gb_py_type_takes_turns(spec) < 0 ? NULL : PyType_FromSpecWithBases(spec, bases);
}

/* The same, kept for good in *type, and as an attribute of the module unless that is NULL. */
static inline int gb_py_add_type(PyObject *module, PyTypeObject **type, PyType_Spec spec, PyTypeObject *base) {
    if (!(*type = (PyTypeObject *)gb_py_type(&spec, (PyObject *)base))) return -1;
    return module ? PyModule_AddObjectRef(module, strrchr(spec.name, '.') + 1, (PyObject *)*type) : 0;
}
enum { GB_PY_FINAL = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, GB_PY_OPEN = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE };

/* PyModule_AddFunctions. */
static inline int gb_py_functions(PyObject *module, PyMethodDef *functions) {
    return gb_py_methods_take_turns(functions) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
