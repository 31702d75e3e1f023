package gufunc

// #include "types.h"
import "C"

import "strings"

// Flags are the floating-point exceptions that make an element fail.
type Flags uint8

// The flags, with the codes that failed elements get.
const (
	Invalid  Flags = C.GB_INVALID
	Divide   Flags = C.GB_DIVIDE
	Overflow Flags = C.GB_OVERFLOW
	AllFlags       = Invalid | Divide | Overflow
)

// Codes of failed elements besides the flags.
const (
	CodeStatus uint8 = C.GB_STATUS   // the kernel said so
	CodePanic  uint8 = C.GB_PANICKED // a Go kernel panicked
)

// GUFunc is a signature and its kernels. It is safe for concurrent use, also while
// kernels are added.
type GUFunc struct {
	Name      string
	Signature *Signature
	Flags     Flags
	kernels   kernelList
	states    stateList
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

// TypeArg is an operand as type resolution sees it.
type TypeArg struct {
	Type Type
	Weak Weak // a Python number; Type does not count then
}

// SelectKernel finds the first kernel whose inputs can take the given types by safe
// casts. Python numbers adapt to the kernel, unless their kind is above that of all
// arrays: then they count as int64, float64 or complex128.
func (g *GUFunc) SelectKernel(inputs []TypeArg) (int, error) {
	if len(inputs) != g.Signature.Inputs {
		return 0, setupError("%s: %d inputs given, %s takes %d", g.Name, len(inputs), g.Signature, g.Signature.Inputs)
	}
	highest, strong := -1, NoType
	for _, a := range inputs {
		if r := rank(a.Type.kind()); a.Weak == Strong && r > highest {
			highest, strong = r, a.Type
		}
	}
	fits := func(a TypeArg, to Type) bool {
		if a.Weak == Strong {
			return CanCast(a.Type, to)
		}
		if r := int(a.Weak); r > highest && !(a.Weak == WeakComplex && strong.kind() == 'f') {
			return CanCast(weakDefault[a.Weak], to)
		}
		return rank(to.kind()) >= int(a.Weak) && to.kind() != 'M' && to.kind() != 'm'
	}
	for n, k := range g.kernels.list() {
		ok := !k.Generated
		for i, a := range inputs {
			ok = ok && fits(a, k.Types[i])
		}
		if ok {
			return n, nil
		}
	}
	return 0, g.noKernel(inputs)
}

func (g *GUFunc) noKernel(inputs []TypeArg) error {
	names := make([]string, len(inputs))
	for i, a := range inputs {
		names[i] = a.Type.String()
		if a.Weak != Strong {
			names[i] = [...]string{WeakInt: "a Python int", WeakFloat: "a Python float", WeakComplex: "a Python complex"}[a.Weak]
		}
	}
	var have []string
	for _, k := range g.kernels.list() {
		have = append(have, typesText(k.Types, g.Signature.Inputs))
	}
	if len(have) == 0 {
		have = []string{"none"}
	}
	return setupError("%s: no kernel takes (%s) by safe casts; its kernels are %s", g.Name, strings.Join(names, ", "), strings.Join(have, ", "))
}

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
