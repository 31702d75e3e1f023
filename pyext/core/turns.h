/* turns.h: whose turn it is among the threads of a free-threaded Python; of other Pythons nothing
 * is asked, nor compiled.
 *
 * Types and functions are made here. Where there is no GIL, whatever Python calls of them is behind
 * one lock, which its holder gives away as it would the GIL: where it waits, and where long work
 * runs. C that is called past Python, through a table of functions, says GB_PY_TURN itself. */
#pragma once

#include <Python.h>
#include <string.h>

#ifdef Py_GIL_DISABLED

/* Puts the lock before all that Python calls. -1 with an error. */
int gb_py_turns_init(void);
int gb_py_methods_take_turns(PyMethodDef *methods);
int gb_py_type_takes_turns(PyType_Spec *spec);

/* Python calls it as it is: what in it needs a turn says so. To be told before the tables that name
 * it are rewritten. */
int gb_py_turns_itself(void (*function)(void));

/* Memory of the running thread's own, zero; `drop` is called with it once the thread has ended.
 * NULL: none is left. */
void *gb_py_of_thread(size_t bytes, void (*drop)(void *));

/* Kept for good: else all threads that use it would count its references in one place. */
static inline void gb_py_never_count(PyObject *object) {
    __atomic_store_n(&object->ob_ref_shared, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&object->ob_ref_local, _Py_IMMORTAL_REFCNT_LOCAL, __ATOMIC_RELAXED);
}

/* 0: the thread's turn goes on, and gb_py_turn_end is to do nothing. */
int gb_py_turn_begin(PyCriticalSection *section);
static inline void gb_py_turn_end(PyCriticalSection *section, int began) {
    if (began) PyCriticalSection_End(section);
}
#define GB_PY_TURN(result, call)                  \
    do {                                          \
        PyCriticalSection section_;               \
        int began_ = gb_py_turn_begin(&section_); \
        result = call;                            \
        gb_py_turn_end(&section_, began_);        \
    } while (0)
#define GB_PY_TURN_UNLESS(needless, result, call) \
    do {                                          \
        if (needless) result = call;              \
        else GB_PY_TURN(result, call);            \
    } while (0)

/* See below. A thread that has written nothing yet reads zeros that all share. */
#define GB_PY_TABLE(T, name, count, drop)                                                          \
    static T name##_of_none[count];                                                                \
    static __thread T *name = name##_of_none;                                                      \
    static void name##_end(void *own) {                                                            \
        if (name == own) name = name##_of_none;                                                    \
        for (int i = 0; i < (count); i++) drop((T *)own + i);                                      \
    }                                                                                              \
    static T *name##_own(                                                                          \
        T *place) { /* the thread may have got its own since the place was looked up */            \
        if (place < name##_of_none || place >= name##_of_none + (count)) return place;             \
        T *own = name == name##_of_none ? gb_py_of_thread((count) * sizeof(T), name##_end) : name; \
        if (own) name = own;                                                                       \
        return own ? own + (place - name##_of_none) : NULL;                                        \
    }

#else

static inline int gb_py_turns_init(void) { return 0; }
static inline int gb_py_methods_take_turns(PyMethodDef *methods) { return 0; }
static inline int gb_py_type_takes_turns(PyType_Spec *spec) { return 0; }
static inline int gb_py_turns_itself(void (*function)(void)) { return 0; }
static inline void gb_py_never_count(PyObject *object) {}
#define GB_PY_TABLE(T, name, count, drop) \
    static T name[count];                 \
    static inline T *name##_own(T *place) { return place; }
#define GB_PY_TURN(result, call) result = call
#define GB_PY_TURN_UNLESS(needless, result, call) result = call

#endif

/* GB_PY_TABLE(T, name, count, drop): a cache, `static T name[count]`. Without a GIL each thread has
 * its own: it reads without a turn, and writes during its turn, for which whoever forks waits, to
 * name_own(place), which is the same place once there is memory for one. */

/* PyType_FromSpecWithBases; bases: NULL, a type or a tuple of types. */
static inline PyObject *gb_py_type(PyType_Spec *spec, PyObject *bases) {
    return gb_py_type_takes_turns(spec) < 0 ? NULL : PyType_FromSpecWithBases(spec, bases);
}

/* The same, kept for good in *type, and as an attribute of the module unless that is NULL. */
static inline int gb_py_add_type(PyObject *module, PyTypeObject **type, PyType_Spec spec,
                                 PyTypeObject *base) {
    if (!(*type = (PyTypeObject *)gb_py_type(&spec, (PyObject *)base))) return -1;
    gb_py_never_count((PyObject *)*type);
    return module ? PyModule_AddObjectRef(module, strrchr(spec.name, '.') + 1, (PyObject *)*type)
                  : 0;
}
enum {
    GB_PY_FINAL = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    GB_PY_OPEN = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE
};
