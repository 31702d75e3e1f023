package bridge

// #include "gufunc.h"
import "C"

import (
	"gridbuf/gufunc"
	"gridbuf/internal/handover"
)

// A program to fuse crosses the border as a list of 64-bit integers: how many inputs there are and
// their types, the same of the parameters; how many steps, and of each its kind, function, data,
// how many values it takes and which, how many it gives and their types; how many outputs, and
// which values they are.

func (r *reader) list() []int64 { return r.take(r.take(1)[0]) }

func (r *reader) types() []gufunc.Type {
	var types []gufunc.Type
	for _, t := range r.list() {
		types = append(types, gufunc.Type(t))
	}
	return types
}

func (r *reader) values() []int {
	var values []int
	for _, v := range r.list() {
		values = append(values, int(v))
	}
	return values
}

func fuse(encoding []int64, program **C.gb_gu_fused) error {
	r := reader{encoding: encoding}
	inputs, parameters := r.types(), r.types()
	var steps []gufunc.Step
	for n := r.take(1)[0]; n > 0 && !r.short; n-- {
		head := r.take(3)
		s := gufunc.Step{Kind: gufunc.StepKind(head[0]), Function: uintptr(head[1]), Data: uintptr(head[2])}
		s.In, s.Out = r.values(), r.types()
		steps = append(steps, s)
	}
	outputs := r.values()
	if r.short {
		return refused("a program of %d integers ends too early", len(encoding))
	}
	fused, err := gufunc.Fuse(inputs, parameters, steps, outputs)
	if err != nil {
		return err
	}
	*program = (*C.gb_gu_fused)(handover.Fused(fused))
	return nil
}
