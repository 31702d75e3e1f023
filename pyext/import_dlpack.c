/* import_dlpack.c: memory that another library hands us as a DLPack capsule. What
 * comes in is checked before anything in it is believed. */
#include "field.h"
#include "memory.h"
#include "../dlpack/check.h"

#include <string.h>

static const char keeper_name[] = "gridbuf.dlpack";

/* The consumed tensor lives in a capsule of ours, which is the array's base. A foreign
 * deleter may run Python code while an exception is on its way. */
static void free_versioned(PyObject *keeper) {
    PyObject *type, *value, *traceback;
    DLManagedTensorVersioned *m = PyCapsule_GetPointer(keeper, keeper_name);
    PyErr_Fetch(&type, &value, &traceback);
    if (m && m->deleter) m->deleter(m);
    PyErr_Restore(type, value, traceback);
}

static void free_legacy(PyObject *keeper) {
    PyObject *type, *value, *traceback;
    DLManagedTensor *m = PyCapsule_GetPointer(keeper, keeper_name);
    PyErr_Fetch(&type, &value, &traceback);
    if (m && m->deleter) m->deleter(m);
    PyErr_Restore(type, value, traceback);
}

static PyArray_Descr *extended_descr(DLDataType dtype) {
    PyObject *module = PyImport_ImportModule("gridbuf._wrap");
    PyObject *descr = module ? PyObject_CallMethod(module, "extended_dtype", "ii", (int)dtype.code, (int)dtype.bits) : NULL;
    Py_XDECREF(module);
    return (PyArray_Descr *)descr;
}

/* NumPy's dtype for a DLPack one, or NULL with a BufferError. */
static PyArray_Descr *descr_of(DLDataType dtype) {
    static const struct { uint8_t code, bits; int type; } plain[] = {
        {kDLBool, 8, NPY_BOOL},     {kDLInt, 8, NPY_INT8},      {kDLInt, 16, NPY_INT16},       {kDLInt, 32, NPY_INT32},
        {kDLInt, 64, NPY_INT64},    {kDLUInt, 8, NPY_UINT8},    {kDLUInt, 16, NPY_UINT16},     {kDLUInt, 32, NPY_UINT32},
        {kDLUInt, 64, NPY_UINT64},  {kDLFloat, 16, NPY_FLOAT16}, {kDLFloat, 32, NPY_FLOAT32},   {kDLFloat, 64, NPY_FLOAT64},
        {kDLComplex, 64, NPY_COMPLEX64}, {kDLComplex, 128, NPY_COMPLEX128}};
    if (dtype.lanes == 1) {
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
            if (plain[i].code == dtype.code && plain[i].bits == dtype.bits) return PyArray_DescrFromType(plain[i].type);
        PyArray_Descr *descr = extended_descr(dtype);
        if (descr || PyErr_Occurred()) return descr;
    }
    PyErr_Format(PyExc_BufferError, "DLPack: NumPy has no dtype for code %d, %d bits, %d lanes", dtype.code, dtype.bits, dtype.lanes);
    return NULL;
}

static PyObject *array_over(const DLTensor *t, int writable, PyObject *keeper) {
    if (t->device.device_type != kDLCPU && t->device.device_type != kDLCUDAHost && t->device.device_type != kDLROCMHost &&
        t->device.device_type != kDLCUDAManaged) {
        PyErr_Format(PyExc_BufferError, "DLPack: the tensor lies on device type %d, not on the host", (int)t->device.device_type);
        return NULL;
    }
    int64_t strides[GB_MAXDIMS];
    PyArray_Descr *descr = descr_of(t->dtype);
    if (!descr) return NULL;
    gb_dlpack_byte_strides(t, strides);
    static char nowhere[16];   /* an empty tensor may have no address; NumPy wants one */
    char *data = gb_dlpack_first(t);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, t->ndim, (npy_intp *)t->shape, (npy_intp *)strides,
                                           data ? data : nowhere, writable ? NPY_ARRAY_WRITEABLE : 0, NULL);
    if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(keeper)) < 0) Py_CLEAR(array);
    return array;
}

/* The tensor moves into a keeper of ours; with a capsule, that is renamed as consumed. */
static PyObject *consume(PyObject *capsule, void *tensor, const DLTensor *t, int writable, const char *used, PyCapsule_Destructor release) {
    PyObject *keeper = PyCapsule_New(tensor, keeper_name, NULL);
    PyObject *array = keeper ? array_over(t, writable, keeper) : NULL;
    if (array && (!capsule || PyCapsule_SetName(capsule, used) == 0)) PyCapsule_SetDestructor(keeper, release);
    else Py_CLEAR(array);
    Py_XDECREF(keeper);
    return array;
}

PyObject *gb_import_tensor(DLManagedTensorVersioned *m) {
    char why[200];
    if (gb_dlpack_check_versioned(m, why, sizeof why) == 0)
        return consume(NULL, m, &m->dl_tensor, !(m->flags & DLPACK_FLAG_BITMASK_READ_ONLY), NULL, free_versioned);
    PyErr_Format(PyExc_BufferError, "DLPack: %s", why);
    return NULL;
}

PyObject *gb_import_capsule(PyObject *self, PyObject *capsule) {
    char why[200];
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (gb_dlpack_check_versioned(m, why, sizeof why) == 0)
            return consume(capsule, m, &m->dl_tensor, !(m->flags & DLPACK_FLAG_BITMASK_READ_ONLY), "used_dltensor_versioned", free_versioned);
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *m = PyCapsule_GetPointer(capsule, "dltensor");
        if (gb_dlpack_check_legacy(m, why, sizeof why) == 0)
            return consume(capsule, m, &m->dl_tensor, 1, "used_dltensor", free_legacy);
    } else {
        PyErr_Format(PyExc_BufferError, "DLPack: %R is not a fresh 'dltensor' or 'dltensor_versioned' capsule", capsule);
        return NULL;
    }
    PyErr_Format(PyExc_BufferError, "DLPack: %s", why);
    return NULL;
}
