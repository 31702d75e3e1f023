package bridge

// #include "gufunc.h"
import "C"

import (
	"unsafe"

	"gridbuf/gufunc"
	"gridbuf/internal/handover"
)

func addState(g *gufunc.GUFunc, k *C.gb_gu_state_kernel, types []uint8, anyOrder bool, number *C.int32_t) error {
	state := gufunc.StateKernel{
		Step: uintptr(unsafe.Pointer(k.step)), Merge: uintptr(unsafe.Pointer(k.merge)), Final: uintptr(unsafe.Pointer(k.final)),
		Data: uintptr(k.data), Init: C.GoBytes(k.init, C.int(k.size)), AnyOrder: anyOrder,
	}
	for _, t := range types {
		state.Types = append(state.Types, gufunc.Type(t))
	}
	n, err := g.AddState(state)
	*number = C.int32_t(n)
	return err
}

func planReduction(g *gufunc.GUFunc, encoding []int64, r **C.gb_gu_reduction) error {
	request, err := readReduceRequest(encoding)
	if err != nil {
		return err
	}
	planned, err := g.PlanReduction(request)
	if err != nil {
		return err
	}
	*r = (*C.gb_gu_reduction)(handover.Reduction(planned))
	return nil
}
