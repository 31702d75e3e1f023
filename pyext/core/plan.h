/* plan.h: gridbuf.Plan, and the cache through which every request passes. */
#pragma once

#include "args.h"

typedef struct gb_py_plan_object {
    PyObject_HEAD
    struct gb_py_plan_object *next, *previous; /* list of all living plans */
    gb_plan *plan;                             /* C memory, never changed */
    gb_py_dtype *dtype;
    PyObject *weakrefs;
} gb_py_plan_object;

extern PyTypeObject *gb_py_PlanType;

/* Plan for a request, from the cache or worked out. New reference. */
gb_py_plan_object *gb_py_plan_for(gb_request *request, gb_py_dtype *dtype);

/* Plan for sorted arguments. *function_layout: a Python function chose the layout, so the same
 * arguments may give another plan next time. New reference. */
gb_py_plan_object *gb_py_plan_from_slots(PyObject **slots, gb_py_meta *meta, int *function_layout);

/* Plan for a call, through the cache of calls (callcache.c). *meta has the keywords besides memory,
 * also when the call was known and not read. New reference. */
gb_py_plan_object *gb_py_plan_for_call(const gb_py_signature *sig, PyObject *const *args,
                                       Py_ssize_t nargs, PyObject *kwnames, gb_py_meta *meta);
void gb_py_forget_calls(void);
int gb_py_is_constant(PyObject *obj); /* the object is immutable and means the same for ever */

/* Location of memory. */
typedef struct gb_py_location {
    uint8_t kind;   /* GB_PY_HEAP: plain host memory, of any owner */
    uint8_t gpu;    /* managed memory: the side that asked for it */
    int16_t device; /* the GPU's number */
} gb_py_location;
enum {
    GB_PY_HEAP,
    GB_PY_ON_DEVICE,
    GB_PY_ON_PINNED = GB_PY_ON_DEVICE + GB_PINNED,
    GB_PY_ON_MANAGED = GB_PY_ON_DEVICE + GB_MANAGED
};
#define gb_py_needs_driver(location) \
    ((location)->kind == GB_PY_ON_DEVICE || (location)->kind == GB_PY_ON_MANAGED)

/* Read a plan back from a geometry at an address. New reference. */
gb_py_plan_object *gb_py_plan_describe(gb_geometry *geometry, uintptr_t data, gb_py_dtype *dtype,
                                       gb_py_location location);

/* The plan with this serial number if it is still alive, or NULL. New reference. */
gb_py_plan_object *gb_py_plan_by_number(uint64_t number);

PyObject *gb_py_device_name(int gpu, int device);
