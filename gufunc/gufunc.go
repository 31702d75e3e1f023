package gufunc

// #include "types.h"
import "C"

import "strings"

// Flags are the floating-point exceptions that make an element fail.
type Flags uint8

// The flags, with the codes that failed elements get.
const (
	Invalid  Flags = C.GB_GU_INVALID
	Divide   Flags = C.GB_GU_DIVIDE
	Overflow Flags = C.GB_GU_OVERFLOW
	AllFlags       = Invalid | Divide | Overflow
)

// Codes of failed elements besides the flags.
const (
	CodeStatus uint8 = C.GB_GU_STATUS   // the kernel said so
	CodePanic  uint8 = C.GB_GU_PANICKED // a Go kernel panicked
)

// GUFunc is a signature and its kernels. It is safe for concurrent use, also while
// kernels are added.
type GUFunc struct {
	Name      string
	Signature *Signature
	Flags     Flags
	kernels   growing[Kernel]
	states    growing[StateKernel]
}

// New checks a gufunc. Kernels can be added later, so none are needed.
func New(name, signature string, kernels []Kernel, flags Flags) (*GUFunc, error) {
	s, err := ParseSignature(signature)
	if err != nil {
		return nil, err
	}
	g := &GUFunc{Name: name, Signature: s, Flags: flags}
	for _, k := range kernels {
		if _, err := g.Add(k); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Add registers a kernel and returns its number.
func (g *GUFunc) Add(k Kernel) (int, error) {
	if err := g.ready(); err != nil {
		return 0, err
	}
	if err := checkTypes(k.Types); err != nil {
		return 0, err
	}
	if k.Form != NumPyLoop && k.Form != StatusLoop && k.Form != GoLoop {
		return 0, setupError("kernels: there is no %s", k.Form)
	}
	if len(k.Types) != len(g.Signature.Operands) {
		return 0, setupError("kernels: %s has types for %d operands, %s has %d", typesText(k.Types, g.Signature.Inputs), len(k.Types), g.Signature, len(g.Signature.Operands))
	}
	switch {
	case k.Form == GoLoop && k.Go == nil:
		return 0, setupError("kernels: a Go kernel without a function")
	case k.Form != GoLoop && k.Function == 0:
		return 0, setupError("kernels: the address of a loop is 0")
	case k.Form != GoLoop && k.Data != 0 && len(g.Signature.Uniforms) > 0:
		return 0, setupError("kernels: data cannot be given where the signature has uniform parameters; the loop's data points to them")
	}
	if k.Form == GoLoop {
		k.Function, k.Data = g.goLoop(k.Go)
	}
	return g.kernels.add(k), nil
}

// Kernel is the kernel with a number.
func (g *GUFunc) Kernel(n int) (Kernel, error) {
	all := g.kernels.list()
	if n < 0 || n >= len(all) {
		return Kernel{}, setupError("kernel: number %d of %d", n, len(all))
	}
	return all[n], nil
}

// Kernels is how many there are.
func (g *GUFunc) Kernels() int { return len(g.kernels.list()) }

func typesText(types []Type, inputs int) string {
	var b strings.Builder
	for i, t := range types {
		if i == inputs {
			b.WriteString("->")
		}
		b.WriteByte(t.Char())
	}
	return b.String()
}
