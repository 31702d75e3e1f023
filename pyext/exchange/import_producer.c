/* import_producer.c: memory through obj.__dlpack__, of any age. */
#define _GNU_SOURCE
#include "../core/attribute.h"
#include "exchange.h"
#include "../core/pending.h"

#include <dlfcn.h>

/* In the limited API from 3.12 on only, but there since 3.9: looked up by name. */
static PyObject *(*vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);

/* The keywords of a sharing and of a copying call, and their values. */
static PyObject *keywords[4], *version; /* index: 1 copying, 2 with a stream */

int gb_py_from_producer_init(PyObject *module) {
    vectorcall = (PyObject * (*)(PyObject *, PyObject *const *, size_t, PyObject *))
        dlsym(RTLD_DEFAULT, "PyObject_Vectorcall");
    if (!vectorcall)
        return PyErr_SetString(PyExc_ImportError,
                               "gridbuf: this Python has no PyObject_Vectorcall"),
               -1;
    version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    keywords[0] = Py_BuildValue("(s)", "max_version");
    keywords[1] = Py_BuildValue("(ss)", "max_version", "copy");
    keywords[2] = Py_BuildValue("(ss)", "max_version", "stream");
    keywords[3] = Py_BuildValue("(sss)", "max_version", "stream", "copy");
    return version && keywords[0] && keywords[1] && keywords[2] && keywords[3] ? 0 : -1;
}

/* Where obj says that its memory is: narrows *type to what fits there; *gpu is the one whose stream
 * must be said, or -1. An object that does not say is asked for its tensor. */
static int check_device(PyObject *obj, PyTypeObject **type, int *gpu) {
    int host_only = !*type || *type == gb_py_HostFieldType;
    *gpu = -1;
    GB_PY_OWNED PyObject *method = NULL;
    int found = gb_py_optional(obj, gb_py_attr.dlpack_device, &method);
    if (found <= 0) return found;
    GB_PY_HELD PyObject *device = PyObject_CallNoArgs(method);
    if (!device) return -1;
    int64_t pair[2];
    int ok = PyTuple_Check(device) && PyTuple_Size(device) == 2 &&
             gb_py_int64(PyTuple_GetItem(device, 0), "device", "int", &pair[0]) == 0 &&
             gb_py_int64(PyTuple_GetItem(device, 1), "device", "int", &pair[1]) == 0;
    if (!ok) {
        if (!PyErr_Occurred() || gb_py_forgive())
            PyErr_Format(PyExc_BufferError,
                         "DLPack: __dlpack_device__ of %R gave %R, not a pair of ints",
                         Py_TYPE(obj), device);
    } else if (pair[0] == kDLCUDA && !host_only) {
        *gpu = pair[1] >= 0 && pair[1] <= INT16_MAX ? (int)pair[1]
                                                    : 0; /* the tensor's own number is checked */
        if (*type == gb_py_FieldType) *type = gb_py_DeviceFieldType;
    } else if (pair[0] != kDLCPU && pair[0] != kDLCUDAHost && pair[0] != kDLROCMHost &&
               pair[0] != kDLCUDAManaged) {
        PyErr_Format(PyExc_TypeError,
                     "data: %R lies on DLPack device %R, and a host array is needed", Py_TYPE(obj),
                     device);
        ok = 0;
    } else if (pair[0] == kDLCPU && *type == gb_py_FieldType) {
        *type = gb_py_HostFieldType;
    }
    return ok ? 0 : -1;
}

/* A legacy tensor cannot say that it is read-only, but its producer may: NumPy's
 * flags.writeable, or an attribute readonly. */
static int says_readonly(PyObject *obj) {
    GB_PY_OWNED PyObject *readonly = NULL, *flags = NULL, *writeable = NULL;
    int found = gb_py_optional(obj, gb_py_attr.readonly, &readonly);
    if (found < 0 || readonly == Py_True) return found;
    if ((found = gb_py_optional(obj, gb_py_attr.flags, &flags)) <= 0) return found;
    found = gb_py_optional(flags, gb_py_attr.writeable, &writeable);
    return found < 0 ? -1 : writeable == Py_False;
}

PyObject *gb_py_from_producer(PyTypeObject *type, PyObject *obj, PyObject *method, int request) {
    int gpu;
    if (check_device(obj, &type, &gpu) < 0 || (!PyArray_Check(obj) && gb_py_check_values(obj) < 0))
        return NULL;
    int copying = (request & GB_PY_OWN_COPY) != 0;
    int cuda = gpu >= 0;
    gb_cuda_stream ours = cuda ? gb_py_queue_for(gpu).stream : 0;
    GB_PY_OWNED PyObject *stream =
        cuda ? PyLong_FromUnsignedLongLong(ours ? ours : 1) : Py_NewRef(Py_True);
    if (!stream) return NULL;
    PyObject *values[] = {version, stream,
                          Py_True}; /* without a stream, what stands there is copy */
    GB_PY_HELD PyObject *capsule = vectorcall(method, values, 0, keywords[2 * cuda + copying]);
    if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) { /* from before max_version */
        PyErr_Clear();
        capsule =
            cuda ? PyObject_CallFunctionObjArgs(method, stream, NULL) : PyObject_CallNoArgs(method);
    }
    if (!capsule) return NULL;
    int readonly = PyCapsule_IsValid(capsule, "dltensor") ? says_readonly(obj) : 0;
    return readonly < 0 ? NULL : gb_py_from_capsule(type, capsule, request, readonly);
}
