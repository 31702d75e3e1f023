package gufunc

// #include "types.h"
import "C"

import (
	"runtime"
	"strings"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/message"
)

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
	recent    *recentCalls
}

// New checks a gufunc. Kernels can be added later, so none are needed.
func New(name, signature string, kernels []Kernel, flags Flags) (*GUFunc, error) {
	s, err := ParseSignature(signature)
	if err != nil {
		return nil, err
	}
	g := &GUFunc{Name: name, Signature: s, Flags: flags, recent: &recentCalls{}}
	runtime.AddCleanup(g, (*recentCalls).free, g.recent)
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
		return 0, setupError("kernels: %s has types for %d operands, %s has %d",
			typesText(k.Types, g.Signature.Inputs), len(k.Types), g.Signature,
			len(g.Signature.Operands))
	}
	switch {
	case k.Form == GoLoop && k.Go == nil:
		return 0, setupError("kernels: a Go kernel without a function")
	case k.Form != GoLoop && k.Function == 0:
		return 0, setupError("kernels: the address of a loop is 0")
	case k.Form != GoLoop && k.Data != 0 && len(g.Signature.Uniforms) > 0:
		return 0, setupError("kernels: data cannot be given where the signature has uniform " +
			"parameters; the loop's data points to them")
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

// Kernels is how many kernels the gufunc has.
func (g *GUFunc) Kernels() int { return len(g.kernels.list()) }

func typesText(types []alloc.Type, inputs int) string {
	var b strings.Builder
	for i, t := range types {
		if i == inputs {
			b.WriteString("->")
		}
		b.WriteByte(t.Char())
	}
	return b.String()
}

// Array is an operand with memory: what a Go program passes to Call. Memory of Go's is pinned while
// a call runs.
type Array struct {
	Operand
	Data unsafe.Pointer
}

// FromView is a view as an operand, such as that of a grid.Array or of a DLPack tensor.
func FromView(v alloc.View) Array {
	return Array{Operand{Type: v.Type, Shape: v.Shape, Strides: v.Strides}, v.Data}
}

// ArrayOf describes a buffer whose items are of type t; they have the size of the plan's.
func ArrayOf(b *alloc.Buffer, t alloc.Type) (Array, error) {
	v, err := b.View(t)
	return FromView(v), err
}

// Result is what a call gives: the outputs, and how it went.
type Result struct {
	Outputs []Array
	*Outcome
	buffers []*alloc.Buffer
}

// Free gives the memory of allocated outputs back, which have no address afterwards.
func (r *Result) Free() {
	for i := range r.buffers {
		r.Outputs[len(r.Outputs)-len(r.buffers)+i].Data = nil
	}
	for _, b := range r.buffers {
		b.Free()
	}
	r.buffers = nil
}

// allocate adds an output.
func (r *Result) allocate(p *alloc.Plan, t alloc.Type) error {
	b, err := alloc.New(p)
	if err != nil {
		return err
	}
	a, err := ArrayOf(b, t)
	if err != nil {
		b.Free()
		return err
	}
	r.buffers = append(r.buffers, b)
	r.Outputs = append(r.Outputs, a)
	return nil
}

// Call selects a kernel, resolves, allocates missing outputs and runs, in one go. Give
// inputs, then the outputs that exist; where may be nil. The next Call with operands of the same
// types, shapes and strides needs no resolving: a GUFunc keeps the latest four.
func (g *GUFunc) Call(operands []Array, where *Array, o Options) (*Result, error) {
	if err := g.ready(); err != nil {
		return nil, err
	}
	s := g.Signature
	if len(operands) < s.Inputs || len(operands) > len(s.Operands) {
		return nil, setupError("%s: %d operands given; %s takes %d inputs and up to %d outputs",
			g.Name, len(operands), s, s.Inputs, s.Outputs())
	}
	for i := range operands {
		if operands[i].lacksData() { // else no name is made
			return nil, operands[i].checkData(s.operandName(i))
		}
	}
	if where != nil {
		if err := where.checkData("where"); err != nil {
			return nil, err
		}
	}
	k, err := g.known(operands, where)
	if err != nil {
		return nil, err
	}
	defer g.recent.drop(k)
	return g.callKnown(k, operands, where, o)
}

func (g *GUFunc) callKnown(k *knownCall, operands []Array, where *Array,
	o Options) (*Result, error) {
	outputs := make([]Array, 0, g.Signature.Outputs())
	result := &Result{Outputs: append(outputs, operands[g.Signature.Inputs:]...)}
	for i, p := range k.plans {
		if err := result.allocate(p, k.operands[k.given+i].Type); err != nil {
			result.Free()
			return nil, err
		}
	}
	data := make([]unsafe.Pointer, 0, MaxOperands+1)
	for i := range g.Signature.Inputs {
		data = append(data, operands[i].Data)
	}
	for i := range result.Outputs {
		data = append(data, result.Outputs[i].Data)
	}
	if where != nil {
		data = append(data, where.Data)
	}
	var err error
	if result.Outcome, err = g.Run(k.call, data, o); err != nil {
		result.Free()
		return nil, err
	}
	return result, nil
}

// SignatureError says that a gufunc or a call cannot be set up: a signature that
// does not parse, operands that do not fit it, types without a kernel.
type SignatureError struct {
	Message   string
	Signature string // empty: the error is not about one place in a signature
	At        int    // byte offset into Signature, -1 for none
}

// Error is the message and, where there is a place to show, the signature with a
// caret under it.
func (e *SignatureError) Error() string {
	if e.Signature == "" || e.At < 0 {
		return e.Message
	}
	return message.Format("%s\n    %s\n    %s^", e.Message, e.Signature,
		strings.Repeat(" ", min(e.At, len(e.Signature))))
}

// Unwrap gives [alloc.ErrInvalid], for errors.Is.
func (e *SignatureError) Unwrap() error { return alloc.ErrInvalid }

func (s *Signature) errorAt(at int, format string, args ...any) error {
	return &SignatureError{Message: message.Format(format, args...), Signature: s.Text, At: at}
}

func setupError(format string, args ...any) error {
	return &SignatureError{Message: message.Format(format, args...), At: -1}
}
