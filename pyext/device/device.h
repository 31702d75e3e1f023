/* device.h: device, pinned and managed memory for Python objects, on top of cuda/. */
#pragma once

#include "../field/copying.h"
#include "../exchange/wrap.h"

/* device_new.c: what is asked for when a plan is not for the heap. */
#define gb_py_plan_on_heap(plan) \
    __builtin_expect((plan)->device != GB_GPU && (plan)->memory == GB_PLAIN, 1)
PyObject *gb_py_device_array(gb_py_plan_object *plan, int zero, PyObject *value);
gb_py_field *gb_py_device_field(gb_py_plan_object *plan, int zero);

/* ---- field.c ---- */

PyObject *gb_py_cupy_over(gb_py_field *f); /* new reference */
PyObject *gb_py_on_host(gb_py_field *f); /* a Field of its own memory on the host with its values */

/* ---- dlpack.c ---- */

/* What a consumer asked of a Field that is not on the heap: 0, or -1 with BufferError.
 * *copy_to_host: dl_device=(1, 0) of device memory. *device: what the tensor says. */
int gb_py_device_request(gb_py_field *f, PyObject *stream, PyObject *dl_device, DLDevice *device,
                         int *copy_to_host);

/* The last thing before a Field is exported, when nothing more will be queued on it: the consumer's
 * stream, or the host, comes after all that is in flight. */
int gb_py_device_ready(gb_py_field *f, DLDevice device, PyObject *stream);
DLDevice gb_py_dl_device(const gb_py_field *f);
int gb_py_dlpack_pair(PyObject *obj, const char *arg,
                      int64_t *pair); /* a pair of ints that a consumer passed */

/* ---- copy.c ---- */

/* Copies and fills in which a GPU takes part. 1: done; 0: both sides are on the host; -1: an error.
 */
int gb_py_device_copyto(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress);
int gb_py_device_fill(PyObject *dst, PyObject *value);
int gb_py_device_assign(PyObject *dst, PyObject *value); /* dst[...] = value: 0 or -1 */
