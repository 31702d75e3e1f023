/* host_access.c: before the host looks at a Field's memory: device memory is refused, managed
 * memory waited for. */
#include "field.h"

int gb_py_require_host_access(gb_py_field *f) {
    gb_cuda_error e;
    if (f->location.kind == GB_PY_ON_DEVICE)
        return PyErr_Format(PyExc_TypeError,
                            "this Field lies on GPU %d, where the host cannot read it; "
                            "field.to(device='cpu') is a copy on the host, "
                            "field.cupy() a cupy array over the same memory",
                            (int)f->location.device),
               -1;
    if (f->location.kind != GB_PY_ON_MANAGED) return 0;
    gb_cuda_block *block = gb_py_field_block(f);
    int rc;
    Py_BEGIN_ALLOW_THREADS /* what others do with memory that they have seen is known to the whole
                              device only */
        rc = block ? gb_cuda_synchronize_block(block, &e) : 0;
    if (rc == 0 && (!block || block->shown)) rc = gb_cuda_synchronize(f->location.device, &e);
    Py_END_ALLOW_THREADS if (rc == 0 || e.status == GB_CUDA_NO_DRIVER ||
                             e.status == GB_CUDA_NO_DEVICE) return 0; /* nobody to wait for */
    return gb_py_cuda_raise(&e);
}
