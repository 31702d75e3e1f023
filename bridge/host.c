//go:build gridbuf_extension

/* host.c: what Go's library has in the place of the rooms' C, which is the extension's: each
 * function is one call there. The compiler holds both tables against the headers and against the
 * exports of cgo. */
#include "_cgo_export.h"
#include "bridge.h"

static const gb_bridge_host *host;

#define FORWARD(result, name, parameters, arguments) \
    result name parameters { return host->name arguments; }
GB_BRIDGE_HOST_FUNCTIONS(FORWARD)

static const gb_bridge_go calls = {
    .start = gbridge_start,
    .explain = gbridge_explain,
#ifdef GRIDBUF_PANIC
    .panic = gbridge_panic,
#endif
    .gufunc_new = gbridge_gufunc_new,
    .gufunc_builtin = gbridge_gufunc_builtin,
    .gufunc_drop = gbridge_gufunc_drop,
    .gufunc_add = gbridge_gufunc_add,
    .gufunc_types = gbridge_gufunc_types,
    .gufunc_select = gbridge_gufunc_select,
    .gufunc_resolve = gbridge_gufunc_resolve,
    .gufunc_turn_shapes = gbridge_gufunc_turn_shapes,
    .gufunc_add_state = gbridge_gufunc_add_state,
    .gufunc_reduce = gbridge_gufunc_reduce,
    .gufunc_fuse = gbridge_gufunc_fuse,
    .gufunc_go_names = gbridge_gufunc_go_names,
    .gufunc_go_kernel = gbridge_gufunc_go_kernel,
    .gufunc_panic_text = gbridge_gufunc_panic_text,
};

__attribute__((visibility("default"))) const gb_bridge_go *gbridge_open(
    const gb_bridge_host *given) {
    host = given;
    return &calls;
}
