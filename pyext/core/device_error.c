/* device_error.c: what cuda/ reports, as Python's exception. */
#include "driver.h"

int gb_py_cuda_raise(const gb_cuda_error *e) {
    PyObject *type = e->status == GB_CUDA_NO_MEMORY || e->status == GB_CUDA_OVER_LIMIT ? PyExc_MemoryError
                     : e->status == GB_CUDA_ARGUMENT                                   ? PyExc_ValueError
                                                                                       : PyExc_RuntimeError;
    return PyErr_SetString(type, e->text), -1;
}
