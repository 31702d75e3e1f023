/* bridge.h: the border between the extension and Go's library, gridbuf/_go.so. Each side gives the
 * other one table of functions. The extension's is gb_bridge_host, its own C that Go calls: the
 * heap, presets and helpers exist once. Go's is gb_bridge_go, which only pyext/ reads, and only
 * through GB_PY_ENTER_GO. Calls into Go return 0, or -1 with the error filled in. */
#pragma once

#include "../alloc/heap.h"
#include "../alloc/plan.h"
#include "../gufunc/kernels/internal/loops/table.h"
#include "../internal/work/work.h"
#include "gufunc.h"

typedef struct gb_bridge_go {
    int (*start)(gb_error *e);
    /* lines of a term, a tab and a sentence */
    int (*explain)(int32_t *dims, int32_t ndim, int64_t *words, int64_t n, char *text, int64_t room,
                   gb_error *e);
    int (*panic)(gb_error *e); /* NULL but in the build that tests the guard */
    int (*gufunc_new)(char *name, char *signature, int32_t flags, gb_bridge_gufunc_info *info,
                      gb_error *e);
    int (*gufunc_builtin)(char *name, gb_bridge_gufunc_info *info, gb_error *e);
    int (*gufunc_drop)(int64_t id, gb_error *e);
    int (*gufunc_add)(int64_t id, gb_bridge_kernel_spec *spec, int32_t *number, gb_error *e);
    int (*gufunc_types)(int64_t id, int32_t kernel, uint8_t *types, gb_error *e);
    /* The kernel for n inputs: types (with GB_BRIDGE_SWAPPED) and kinds of Python numbers. wanted:
     * the types asked for, one for each operand and 0 where any will do; with nwanted 0 nothing is
     * asked for, and casting (gufunc.Casting) does not count. */
    int (*gufunc_select)(int64_t id, uint8_t *types, uint8_t *weak, int32_t n, uint8_t *wanted,
                         int32_t nwanted, int32_t casting, int32_t *number, gb_error *e);
    int (*gufunc_resolve)(int64_t id, int64_t *encoding, int64_t n, gb_gu_call **call, gb_error *e);
    int (*gufunc_turn_shapes)(int64_t id, int64_t *encoding, int64_t n,
                              gb_error *e); /* in place: core dimensions last */
    int (*gufunc_add_state)(int64_t id, gb_gu_state_kernel *k, uint8_t *types, int32_t ntypes,
                            int32_t any_order, int32_t *number, gb_error *e);
    int (*gufunc_reduce)(int64_t id, int64_t *encoding, int64_t n, gb_gu_reduction **r,
                         gb_error *e);
    int (*gufunc_fuse)(int64_t *encoding, int64_t n, gb_gu_fused **program, gb_error *e);
    int (*gufunc_go_names)(char *names, int64_t room, gb_error *e);
    int (*gufunc_go_kernel)(char *name, char *signature, char *types, int64_t room, gb_error *e);
    int (*gufunc_panic_text)(char *text, int64_t room, gb_error *e);
} gb_bridge_go;

/* result, name, parameters, arguments. Go's library defines each by a call of the extension's
 * (host.c). */
#define GB_BRIDGE_HOST_FUNCTIONS(X)                                                                \
    X(uint64_t, gb_heap_block_id, (const void *data), (data))                                      \
    X(void, gb_heap_get_stats, (gb_heap_stats * out), (out))                                       \
    X(int, gb_heap_refill, (int64_t reserve), (reserve))                                           \
    X(void, gb_heap_release, (void *data), (data))                                                 \
    X(int64_t, gb_heap_reserve, (int64_t span, int64_t boundary), (span, boundary))                \
    X(void, gb_heap_set_cache_bound, (int64_t bytes), (bytes))                                     \
    X(void, gb_heap_set_limit, (int64_t limit), (limit))                                           \
    X(void, gb_heap_share, (void *data), (data))                                                   \
    X(int, gb_heap_take, (const gb_heap_layout *want, void **data, int *fresh),                    \
      (want, data, fresh))                                                                         \
    X(int64_t, gb_heap_trim, (int64_t keep), (keep))                                               \
    X(int, gb_heap_zero, (void *data, int64_t span), (data, span))                                 \
    X(void, gb_plan_compare,                                                                       \
      (const gb_request *r, const gb_preset *preset, const gb_plan *wanted, const gb_plan *have,   \
       uintptr_t data, gb_plan_missed *missed),                                                    \
      (r, preset, wanted, have, data, missed))                                                     \
    X(void, gb_plan_finish, (gb_plan * p), (p))                                                    \
    X(gb_plan *, gb_plan_new, (int ndim), (ndim))                                                  \
    X(int, gb_plan_read_back,                                                                      \
      (const gb_geometry *geometry, uintptr_t data, gb_plan *plan, gb_error *e),                   \
      (geometry, data, plan, e))                                                                   \
    X(int, gb_plan_request,                                                                        \
      (const gb_request *r, const gb_preset *preset, gb_plan *plan, gb_error *e),                  \
      (r, preset, plan, e))                                                                        \
    X(const gb_preset *, gb_preset_named, (const char *name), (name))                              \
    X(char *, gb_preset_names, (const char *separator, size_t room), (separator, room))            \
    X(int, gb_preset_register, (const char *name, gb_preset *p, gb_error *e), (name, p, e))        \
    X(int, gb_work_resume, (gb_work * work, int64_t nanoseconds), (work, nanoseconds))             \
    X(void, gb_work_set_thread_count, (int n), (n))                                                \
    X(int, gb_work_thread_count, (void), ())                                                       \
    X(const gb_gu_builtin *, gb_gu_builtin_loops, (int base, int *n), (base, n))                   \
    X(const char *, gb_gu_builtin_set, (void), ())                                                 \
    X(const gb_gu_builtin_state *, gb_gu_builtin_states, (int *n), (n))                            \
    X(void, gb_gu_call_cut, (gb_gu_call * call), (call))                                           \
    X(void, gb_gu_call_nest, (gb_gu_call * call, const gb_gu_tracks *t), (call, t))                \
    X(void, gb_gu_call_free, (gb_gu_call * call), (call))                                          \
    X(gb_gu_call *, gb_gu_call_new, (int nop), (nop))                                              \
    X(void, gb_gu_fused_free, (gb_gu_fused * program), (program))                                  \
    X(void, gb_gu_fused_loop,                                                                      \
      (char **args, intptr_t const *dims, intptr_t const *steps, void *data),                      \
      (args, dims, steps, data))                                                                   \
    X(gb_gu_fused *, gb_gu_fused_new, (int nsteps), (nsteps))                                      \
    X(int, gb_gu_reduce_begin, (gb_gu_reducing * run), (run))                                      \
    X(void, gb_gu_reduce_end, (gb_gu_reducing * run), (run))                                       \
    X(int64_t, gb_gu_reduce_failed, (const gb_gu_reducing *run), (run))                            \
    X(void, gb_gu_reduce_here, (gb_gu_reducing * run), (run))                                      \
    X(void, gb_gu_reduce_stop, (gb_gu_reducing * run), (run))                                      \
    X(intptr_t, gb_gu_reduce_tasks,                                                                \
      (char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status),     \
      (args, dims, steps, data, status))                                                           \
    X(void, gb_gu_reduction_free, (gb_gu_reduction * r), (r))                                      \
    X(gb_gu_reduction *, gb_gu_reduction_new, (int nout), (nout))                                  \
    X(void, gb_gu_run_all, (gb_gu_run * job, int workers), (job, workers))                         \
    X(void, gb_gu_run_drop, (gb_gu_run * job), (job))                                              \
    X(void, gb_gu_run_hold, (gb_gu_run * job), (job))                                              \
    X(gb_gu_run *, gb_gu_run_new,                                                                  \
      (const gb_gu_call *call, char *const *data, void *uniforms, int ignore_errors, gb_error *e), \
      (call, data, uniforms, ignore_errors, e))                                                    \
    X(void, gb_gu_run_stop, (gb_gu_run * job), (job))

typedef struct gb_bridge_host {
#define GB_BRIDGE_HOST_FIELD(result, name, parameters, arguments) result(*name) parameters;
    GB_BRIDGE_HOST_FUNCTIONS(GB_BRIDGE_HOST_FIELD)
} gb_bridge_host;

const gb_bridge_go *gbridge_open(
    const gb_bridge_host *given); /* the one symbol of Go's library; enters no Go */
