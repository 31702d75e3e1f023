/* plan.h: gridbuf.Plan, and the cache through which every request passes. */
#pragma once

#include "args.h"

/* keywords.h */
typedef struct gb_py_signature gb_py_signature;
typedef struct gb_py_meta gb_py_meta;

typedef struct gb_py_plan_object {
    PyObject_HEAD
    struct gb_py_plan_object *next, *previous; /* among all that are alive */
    gb_plan *plan;                             /* C memory, never changed */
    gb_py_dtype *dtype;
    PyObject *weakrefs;
} gb_py_plan_object;

extern PyTypeObject *gb_py_PlanType;

/* The plan for a request: from the cache, else worked out. New reference. */
gb_py_plan_object *gb_py_plan_for(gb_request *request, gb_py_dtype *dtype);

/* From sorted arguments. *function_layout: a Python function chose the layout, so that
 * the same arguments may mean something else next time. New reference. */
gb_py_plan_object *gb_py_plan_from_slots(PyObject **slots, gb_py_meta *meta, int *function_layout);

/* From a call to plan in one go, through the cache of calls (callcache.c). What the keywords say
 * beyond the plan is in *meta, also when the call was known and nothing was read. New reference. */
gb_py_plan_object *gb_py_plan_for_call(const gb_py_signature *sig, PyObject *const *args,
                                       Py_ssize_t nargs, PyObject *kwnames, gb_py_meta *meta);
void gb_py_forget_calls(void);
int gb_py_is_constant(PyObject *obj); /* what is this very object means the same for ever */

/* Where memory is. */
typedef struct gb_py_location {
    uint8_t kind;   /* GB_PY_HEAP is plain host memory, of whoever */
    uint8_t gpu;    /* for managed memory: which side it was asked for on */
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

/* Reads a plan back from a geometry at an address. New reference. */
gb_py_plan_object *gb_py_plan_describe(gb_geometry *geometry, uintptr_t data, gb_py_dtype *dtype,
                                       gb_py_location location);

/* The plan with this serial number if it is still alive, or NULL. New reference. */
gb_py_plan_object *gb_py_plan_by_number(uint64_t number);

/* Takes ownership of plan. */
gb_py_plan_object *gb_py_plan_wrap(gb_plan *plan, gb_py_dtype *dtype);

PyObject *gb_py_device_name(int gpu, int device);
