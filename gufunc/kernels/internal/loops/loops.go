// Package loops is the C of package kernels: the loops, for every instruction set, and
// the table of them (list.h). It imports nothing of gridbuf, so Go compiles it again only
// when one of its own files changes.
package loops

// #cgo CFLAGS: -std=gnu11 -O3 -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter
// #cgo LDFLAGS: -lm
// #include "table.h"
import "C"

import "unsafe"

// Loop is a compiled loop for one combination of types.
type Loop struct {
	Name, Types, Signature string
	Doc                    string // empty: for Go programs only
	Form                   int32  // gufunc.Form
	Folds                  bool   // whether a row is folded where the output is the first input
	Address                uintptr
}

// State is a reduction with a state; the addresses are those of C functions.
type State struct {
	Name, Types        string
	Init               []byte
	AnyOrder           bool // the index of an element does not count
	Step, Merge, Final uintptr
}

// InstructionSet is what the loops in use were compiled for.
func InstructionSet() string { return C.GoString(C.gb_gu_builtin_set()) }

// All are the loops that suit the machine best, or with base those for every machine.
func All(base bool) []Loop {
	var n, plain C.int
	if base {
		plain = 1
	}
	first := C.gb_gu_builtin_loops(plain, &n)
	all := make([]Loop, 0, n)
	for _, l := range unsafe.Slice(first, int(n)) {
		all = append(all, Loop{
			Name: C.GoString(l.name), Types: C.GoString(l.types),
			Signature: C.GoString(l.signature), Doc: C.GoString(l.doc),
			Form: int32(l.form), Folds: l.folds != 0, Address: uintptr(l.loop),
		})
	}
	return all
}

// States are the reductions with a state.
func States() []State {
	var n C.int
	first := C.gb_gu_builtin_states(&n)
	all := make([]State, 0, n)
	for _, s := range unsafe.Slice(first, int(n)) {
		all = append(all, State{
			Name: C.GoString(s.name), Types: C.GoString(s.types), Init: C.GoBytes(s.init,
				C.int(s.size)), AnyOrder: s.any_order != 0,
			Step: uintptr(s.step), Merge: uintptr(s.merge), Final: uintptr(s.final),
		})
	}
	return all
}
