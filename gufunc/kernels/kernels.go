package kernels

// #cgo CFLAGS: -std=gnu11 -O3 -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter
// #cgo LDFLAGS: -lm
// #include "table.h"
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"gridbuf/gufunc"
)

// shape is what the loops of a name have in common.
type shape struct {
	signature string
	flags     gufunc.Flags // kernels with a status find their failures themselves
}

var shapes = map[string]shape{
	"inv":         {"(n,n)->(n,n)", 0},
	"det":         {"(n,n)->()", 0},
	"solve":       {"(n,n),(n)->(n)", 0},
	"cholesky":    {"(n,n)->(n,n)", 0},
	"tridiagonal": {"(k),(k),(k),(k)->(k)", 0},
	"dot":         {"(n),(n)->()", gufunc.AllFlags},
	"matvec":      {"(m,n),(n)->(m)", gufunc.AllFlags},
	"add":         {"(),()->()", gufunc.AllFlags},
	"maximum":     {"(),()->()", gufunc.AllFlags},
	"minimum":     {"(),()->()", gufunc.AllFlags},
	"sqrt":        {"()->()", gufunc.AllFlags},
	"divide":      {"(),()->()", gufunc.AllFlags},
	"argmin":      {"(n)->()", 0},
	"argmax":      {"(n)->()", 0},
	"minmax":      {"(n)->(),()", 0},
	"moments":     {"(n)->(),()", 0},
}

// folding are the loops that fold a row where their output is their first input.
var folding = map[string]bool{"add": true, "maximum": true, "minimum": true}

// Names lists the kernels, sorted.
func Names() []string {
	names := make([]string, 0, len(shapes))
	for name := range shapes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// InstructionSet is what the loops in use were compiled for.
func InstructionSet() string { return C.GoString(C.gb_shipped_set()) }

// New makes the gufunc of a name, with its float32 and float64 kernels.
func New(name string) (*gufunc.GUFunc, error) { return newOf(name, false) }

// newOf is New with the loops that suit the machine, or those for every machine.
func newOf(name string, base bool) (*gufunc.GUFunc, error) {
	s, known := shapes[name]
	if !known {
		return nil, fmt.Errorf("no kernel %q; there are %v", name, Names())
	}
	g, err := gufunc.New(name, s.signature, nil, s.flags)
	if err != nil {
		return nil, err
	}
	var n, plain C.int
	if base {
		plain = 1
	}
	first := C.gb_shipped_loops(plain, &n)
	for _, l := range unsafe.Slice(first, int(n)) {
		if C.GoString(l.name) != name {
			continue
		}
		types, err := gufunc.ParseTypes(C.GoString(l.types), g.Signature.Inputs, g.Signature.Outputs())
		if err != nil {
			return nil, err
		}
		k := gufunc.Kernel{Form: gufunc.Form(l.form), Types: types, Function: uintptr(l.loop), Pure: true, Bounded: true, Folds: folding[name]}
		if _, err := g.Add(k); err != nil {
			return nil, err
		}
	}
	return g, addStates(g, name)
}

// anyOrder are the reductions with a state to which the index of an element does not matter.
var anyOrder = map[string]bool{"minmax": true, "moments": true}

// addStates adds the reductions with a state of a name.
func addStates(g *gufunc.GUFunc, name string) error {
	var n C.int
	first := C.gb_shipped_states(&n)
	for _, s := range unsafe.Slice(first, int(n)) {
		if C.GoString(s.name) != name {
			continue
		}
		types, err := gufunc.ParseTypes(C.GoString(s.types), g.Signature.Inputs, g.Signature.Outputs())
		if err != nil {
			return err
		}
		k := gufunc.StateKernel{Step: uintptr(s.step), Merge: uintptr(s.merge), Final: uintptr(s.final),
			Init: C.GoBytes(s.init, C.int(s.size)), Types: types, AnyOrder: anyOrder[name]}
		if _, err := g.AddState(k); err != nil {
			return err
		}
	}
	return nil
}
