/* drop.c: releasing Python objects from places that may not hold the GIL.
 *
 * A DLPack deleter runs on whatever thread the consumer likes, also while the
 * interpreter shuts down. With the GIL the object is released at once; without,
 * it goes on a list, and the main thread is asked to empty it soon.
 */
#define _GNU_SOURCE
#include "memory.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef struct waiting {
    struct waiting *next;
    PyObject *object;
} waiting;

static waiting *list;
static int (*have_gil)(void);   /* PyGILState_Check is outside the limited API: looked up by name */

static int drain_pending(void *unused) {
    gb_drain();
    return 0;
}

void gb_drop(void *object) {
    if (!object || !Py_IsInitialized()) return;   /* Python is gone: its objects are too */
    if (have_gil && have_gil()) {
        Py_DECREF((PyObject *)object);
        return;
    }
    waiting *w = malloc(sizeof *w);
    if (!w) return;   /* leaking one object is the only safe thing left */
    w->object = object;
    w->next = __atomic_load_n(&list, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&list, &w->next, w, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    Py_AddPendingCall(drain_pending, NULL);   /* when its queue is full, the next gb_drain does it */
}

void gb_drain(void) {
    if (__builtin_expect(__atomic_load_n(&list, __ATOMIC_RELAXED) == NULL, 1)) return;
    waiting *w = __atomic_exchange_n(&list, NULL, __ATOMIC_ACQUIRE);
    while (w) {
        waiting *next = w->next;
        Py_DECREF(w->object);
        free(w);
        w = next;
    }
}

int gb_drop_init(void) {
    have_gil = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Check");
    return 0;
}
