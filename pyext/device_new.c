/* device_new.c: arrays and Fields over a new block of the driver's pools. */
#include "device/device.h"
#include "core/upcall.h"

static gb_py_field *over_block(gb_py_plan_object *plan, PyObject *owner) {
    gb_cuda_block *block = ((gb_py_block_object *)owner)->block;
    gb_py_location location = gb_py_block_location(block, plan->plan->device == GB_GPU);
    PyTypeObject *type = gb_py_type_for(gb_py_FieldType, location);
    gb_py_field *f = type ? gb_py_field_alloc(type, -1) : NULL;
    if (!f) return NULL;
    f->geometry = plan->plan->geometry;
    f->plan = (gb_py_plan_object *)Py_NewRef((PyObject *)plan);
    f->dtype = (gb_py_dtype *)Py_NewRef((PyObject *)plan->dtype);
    f->data = (char *)(uintptr_t)block->data;
    f->owner = Py_NewRef(owner);
    f->location = location;
    return f;
}

static int zero_block(const gb_plan *plan, gb_cuda_block *block) {
    if (block->kind == GB_CUDA_PINNED)
        return gb_py_fill_zero((void *)(uintptr_t)block->data, plan->want.span);
    return gb_py_device_zero(block, plan->want.span);
}

gb_py_field *gb_py_device_field(gb_py_plan_object *plan, int zero) {
    GB_PY_OWNED PyObject *owner = gb_py_block_for(plan->plan);
    gb_py_field *f = NULL;
    if (owner && (!zero || zero_block(plan->plan, ((gb_py_block_object *)owner)->block) == 0))
        f = over_block(plan, owner);
    return f;
}

/* cupy frees and uses again by its own current stream, so its arrays are made there, unless gridbuf
 * was told a stream. */
static int cupy_stream(int device, gb_cuda_stream *stream) {
    if (!gb_py_upcall_get(GB_PY_UP_CUPY_STREAM)) return -1;   /* cupy is missing */
    if ((*stream = gb_py_queue_for(device).stream)) return 0; /* one of this GPU */
    GB_PY_OWNED PyObject *number = gb_py_upcall_to(GB_PY_UP_CUPY_STREAM, "(i)", device);
    if (!number) return -1;
    *stream = PyLong_AsUnsignedLongLong(number);
    return 0;
}

static PyObject *cupy_array(gb_py_plan_object *plan, int zero, PyObject *value) {
    gb_cuda_stream stream;
    if (cupy_stream(plan->plan->device_id, &stream) < 0) return NULL;
    gb_py_thread_stream before = gb_py_use_stream(stream);
    GB_PY_OWNED gb_py_field *f = gb_py_device_field(plan, zero);
    if (f && value && gb_py_assign((PyObject *)f, value) < 0) Py_CLEAR(f);
    PyObject *array = f ? gb_py_cupy_over(f) : NULL;
    gb_py_use_again(before);
    return array;
}

/* Pinned memory, and managed memory that was not asked for on a GPU, make NumPy's arrays; the rest
 * cupy's. */
PyObject *gb_py_device_array(gb_py_plan_object *plan, int zero, PyObject *value) {
    if (plan->plan->device == GB_GPU) return cupy_array(plan, zero, value);
    GB_PY_OWNED gb_py_field *f = gb_py_device_field(plan, zero);
    PyObject *array = NULL;
    if (f && value && gb_py_assign((PyObject *)f, value) < 0) Py_CLEAR(f);
    if (f && gb_py_require_host_access(f) == 0)
        array = gb_py_array_over(&f->geometry, f->dtype, f->data, 1, f->owner);
    return array;
}
