/* import_exchange.c: tensors of producers whose type has the DLPack C exchange API (1.3).
 *
 * A Field keeps what it wraps, so the managed tensor is taken: the borrowed one is valid
 * only until control goes back to Python, and cannot say that it is read-only. */
#include "../core/attribute.h"
#include "exchange.h"
#include "../core/pending.h"

#define LONGEST_CHAIN 16 /* one entry for each major version that a producer still speaks */

static int refuse(PyObject *obj, const char *why) {
    return PyErr_Format(PyExc_BufferError, "__dlpack_c_exchange_api__ of %R: %s", Py_TYPE(obj),
                        why),
           -1;
}

/* The newest table of a major version that can be read; older ones hang behind newer ones. */
static int choose(PyObject *obj, const DLPackExchangeAPIHeader *header,
                  const DLPackExchangeAPI **api) {
    for (int i = 0; header; header = header->prev_api) {
        if ((uintptr_t)header % _Alignof(DLPackExchangeAPIHeader))
            return refuse(obj, "the table is not aligned");
        if (header->version.major == DLPACK_MAJOR_VERSION) {
            *api = (const DLPackExchangeAPI *)header;
            return (*api)->managed_tensor_from_py_object_no_sync
                       ? 1
                       : refuse(obj, "managed_tensor_from_py_object_no_sync is NULL");
        }
        if (++i == LONGEST_CHAIN) return refuse(obj, "the chain of prev_api does not end");
    }
    return 0;
}

int gb_py_exchange_find(PyObject *obj, const DLPackExchangeAPI **api) {
    GB_PY_HELD PyObject *capsule = NULL;
    int found = gb_py_optional((PyObject *)Py_TYPE(obj), gb_py_attr.exchange_api, &capsule);
    if (found <= 0) return found;
    if (capsule == Py_None) found = 0; /* how a subclass takes it back */
    else if (PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        found = choose(obj, PyCapsule_GetPointer(capsule, "dlpack_exchange_api"), api);
    else found = refuse(obj, "not a capsule 'dlpack_exchange_api'");
    return found;
}

/* torch's tables describe the bytes of tensors whose values are something else (a conjugate
 * or a negation not yet carried out), or that take part in a gradient; its __dlpack__ refuses
 * most of these. */
int gb_py_check_values(PyObject *obj) {
    static const char *const remedies[] = {"resolve_conj()", "resolve_neg()", "detach()"};
    PyObject *const names[] = {gb_py_attr.is_conj, gb_py_attr.is_neg, gb_py_attr.requires_grad};
    for (int i = 0; i < 3; i++) {
        GB_PY_OWNED PyObject *value = NULL, *flag = NULL;
        int found = gb_py_optional(obj, names[i], &value);
        if (found > 0)
            flag = PyCallable_Check(value) ? PyObject_CallNoArgs(value) : Py_NewRef(value);
        if (found && !flag) return -1;
        if (flag != Py_True) continue;
        return PyErr_Format(PyExc_BufferError,
                            "data: %S of this %R is true, so its memory alone is not its value; "
                            "call %s on it first",
                            names[i], Py_TYPE(obj), remedies[i]),
               -1;
    }
    return 0;
}

/* A tensor from the exchange API is ours as soon as the call has succeeded. */
static void give_back(DLManagedTensorVersioned *m) {
    GB_PY_ASIDE;
    if (m && (uintptr_t)m % _Alignof(DLManagedTensorVersioned) == 0 && m->deleter) m->deleter(m);
}

/* The tensor comes without synchronisation: our stream waits for the one that the producer works
 * on. */
static int order(const DLPackExchangeAPI *api, const gb_py_location *location) {
    void *stream = NULL;
    if (location->kind != GB_PY_ON_DEVICE || !api->current_work_stream) return 0;
    if (api->current_work_stream(kDLCUDA, location->device, &stream) != 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_BufferError,
                            "DLPack: current_work_stream of the producer failed");
        return -1;
    }
    gb_cuda_queue theirs;
    if (gb_py_queue_of((gb_cuda_stream)(uintptr_t)stream, location->device, &theirs) < 0) return -1;
    return gb_py_queue_wait(gb_py_queue_for(location->device), theirs);
}

PyObject *gb_py_from_exchange(PyTypeObject *type, PyObject *obj, const DLPackExchangeAPI *api,
                              int request) {
    DLManagedTensorVersioned *m = NULL;
    if (gb_py_check_values(obj) < 0)
        return NULL; /* the table lives as long as the process, whatever this runs */
    if (api->managed_tensor_from_py_object_no_sync(obj, &m) != 0) {
        if (!PyErr_Occurred()) refuse(obj, "it failed and did not say why");
        return NULL;
    }
    PyObject *object = PyErr_Occurred() ? NULL : gb_py_from_tensor(type, m, request);
    if (!object) give_back(m);
    else if (gb_py_is_field(object) && order(api, &((gb_py_field *)object)->location) < 0)
        Py_CLEAR(object);
    return object;
}
