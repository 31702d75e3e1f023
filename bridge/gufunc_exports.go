package bridge

// #include "gufunc.h"
import "C"

import (
	"unsafe"

	"gridbuf/gufunc"
)

//export gbridge_gufunc_new
func gbridge_gufunc_new(name, signature *C.char, flags C.int32_t, info *C.gb_bridge_gufunc_info, e *C.gb_error) C.int {
	return guard(e, func() error { return newGUFunc(C.GoString(name), C.GoString(signature), gufunc.Flags(flags), info) })
}

//export gbridge_gufunc_builtin
func gbridge_gufunc_builtin(name *C.char, info *C.gb_bridge_gufunc_info, e *C.gb_error) C.int {
	return guard(e, func() error { return builtinGUFunc(C.GoString(name), info) })
}

//export gbridge_gufunc_drop
func gbridge_gufunc_drop(id C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { return dropGUFunc(int64(id)) })
}

//export gbridge_gufunc_add
func gbridge_gufunc_add(id C.int64_t, spec *C.gb_bridge_kernel_spec, number *C.int32_t, e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error { return addKernel(g, spec, number) }))
}

//export gbridge_gufunc_types
func gbridge_gufunc_types(id C.int64_t, kernel C.int32_t, types *C.uint8_t, e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error { return kernelTypes(g, int(kernel), types) }))
}

//export gbridge_gufunc_select
func gbridge_gufunc_select(id C.int64_t, types, weak *C.uint8_t, n C.int32_t, wanted *C.uint8_t, nwanted, casting C.int32_t, number *C.int32_t, e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error {
		return selectKernel(g, unsafe.Slice(types, n), unsafe.Slice(weak, n), unsafe.Slice(wanted, nwanted), gufunc.Casting(casting), number)
	}))
}

//export gbridge_gufunc_resolve
func gbridge_gufunc_resolve(id C.int64_t, encoding *C.int64_t, n C.int64_t, call **C.gb_gu_call, e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error { return resolve(g, unsafe.Slice((*int64)(encoding), n), call) }))
}

//export gbridge_gufunc_turn_shapes
func gbridge_gufunc_turn_shapes(id C.int64_t, encoding *C.int64_t, n C.int64_t, e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error { return turnShapes(g, unsafe.Slice((*int64)(encoding), n)) }))
}

//export gbridge_gufunc_add_state
func gbridge_gufunc_add_state(id C.int64_t, k *C.gb_gu_state_kernel, types *C.uint8_t, n, anyOrder C.int32_t, number *C.int32_t, e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error {
		return addState(g, k, unsafe.Slice((*uint8)(types), n), anyOrder != 0, number)
	}))
}

//export gbridge_gufunc_reduce
func gbridge_gufunc_reduce(id C.int64_t, encoding *C.int64_t, n C.int64_t, r **C.gb_gu_reduction, e *C.gb_error) C.int {
	return guard(e, with(id, func(g *gufunc.GUFunc) error { return planReduction(g, unsafe.Slice((*int64)(encoding), n), r) }))
}

//export gbridge_gufunc_go_names
func gbridge_gufunc_go_names(names *C.char, room C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { return goNames(text(names, room)) })
}

//export gbridge_gufunc_go_kernel
func gbridge_gufunc_go_kernel(name, signature, types *C.char, room C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { return goKernel(C.GoString(name), text(signature, room), text(types, room)) })
}

//export gbridge_gufunc_panic_text
func gbridge_gufunc_panic_text(room *C.char, n C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { return writeText(text(room, n), gufunc.LastPanic()) })
}
