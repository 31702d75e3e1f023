package gufunc

// #include "fused.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/handle"
	"gridbuf/internal/record"
)

// StepKind says what a step of a fused kernel does.
type StepKind int32

// The kinds of steps.
const (
	LoopStep   StepKind = C.GB_GU_FUSED_LOOP   // a NumPyLoop without core dimensions
	CastStep   StepKind = C.GB_GU_FUSED_CAST   // one input, converted to the type of the output
	SelectStep StepKind = C.GB_GU_FUSED_SELECT // a bool, and two values of the output's type
)

// Step is one operation of a fused kernel. Values have numbers: the inputs of the kernel, then what
// the steps give, in order.
type Step struct {
	Kind           StepKind
	Function, Data uintptr // of a LoopStep
	In             []int   // values
	Out            []alloc.Type
	of             *GUFunc // Fuse finds the kernel for the types of In
}

// Step is a gufunc as a step of Fuse, which takes values. It has no core dimensions, and a kernel
// of form NumPyLoop for exactly the types of the values.
func (g *GUFunc) Step(values ...int) Step { return Step{Kind: LoopStep, In: values, of: g} }

// find completes a step by the kernel for types of its inputs.
func (s *Step) find(i int, in []alloc.Type) error {
	n := s.of.Signature.Inputs
	for _, k := range s.of.kernels.list() {
		if k.Form == NumPyLoop && s.of.Signature.Scalar() && slices.Equal(k.Types[:n], in) {
			s.Function, s.Data, s.Out = k.Function, k.Data, k.Types[n:]
			return nil
		}
	}
	return setupError("steps: number %d takes values of types %s, for which %s has no NumPyLoop",
		i, typesText(in, len(in)), s.of.Name)
}

// Fused is a program of elementwise loops, in C memory.
type Fused struct {
	types []alloc.Type  // of the inputs, then of the outputs
	run   handle.Handle // a gb_gu_fused_run, the data of the kernel
}

const fusedName = "gufunc.Fused"

var errNoProgram = alloc.ErrNoMemory.Errorf("no memory left for a program of loops")

// Fuse makes one kernel of several steps, whose intermediate values never leave the cache. The
// outputs are numbers of values that steps give. Free gives the kernel back.
func Fuse(inputs []alloc.Type, steps []Step, outputs []int) (*Fused, error) {
	return fuse(inputs, nil, steps, outputs)
}

// fuse numbers parameters, which the extension's runs have, after the inputs.
func fuse(inputs, parameters []alloc.Type, steps []Step, outputs []int) (*Fused, error) {
	f := fuser{
		inputs: len(inputs), parameters: len(parameters), steps: slices.Clone(steps),
		outputs: outputs,
	}
	f.types = append(append(f.types, inputs...), parameters...)
	if err := f.check(); err != nil {
		return nil, err
	}
	f.place()
	program, err := f.write()
	if err != nil {
		return nil, err
	}
	run := (*C.gb_gu_fused_run)(C.calloc(1, C.sizeof_gb_gu_fused_run))
	if run == nil {
		C.gb_gu_fused_free(program)
		return nil, errNoProgram
	}
	run.program = program
	fused := &Fused{types: slices.Clone(inputs)}
	for _, v := range outputs {
		fused.types = append(fused.types, f.types[v])
	}
	fused.run.Hold(unsafe.Pointer(run))
	return fused, nil
}

// Kernel is the kernel, for a GUFunc whose operands have no core dimensions. It is valid until
// Free.
func (f *Fused) Kernel() Kernel {
	return Kernel{
		Form: NumPyLoop, Types: slices.Clone(f.types), Bounded: true, Pure: true,
		Function: uintptr(unsafe.Pointer(C.gb_gu_fused_loop)),
		Data:     uintptr(f.run.Address(fusedName)),
	}
}

// Free gives the memory back; kernels made of it must not be called any more. A second Free does
// nothing.
func (f *Fused) Free() {
	if run := (*C.gb_gu_fused_run)(f.run.Take(fusedName)); run != nil {
		C.gb_gu_fused_free(run.program)
		C.free(unsafe.Pointer(run))
	}
}

func init() {
	record.Fuse = func(inputs, parameters, steps any, outputs []int) (any, error) {
		return fuse(inputs.([]alloc.Type), parameters.([]alloc.Type), steps.([]Step), outputs)
	}
	record.Fused = func(f any) unsafe.Pointer {
		run := (*C.gb_gu_fused_run)(f.(*Fused).run.Take(fusedName))
		defer C.free(unsafe.Pointer(run))
		return unsafe.Pointer(run.program)
	}
}

// fuser gives each value of a program its place.
type fuser struct {
	inputs, parameters int
	steps              []Step
	outputs            []int
	types              []alloc.Type
	places             []C.gb_gu_fused_place
	copied             []bool // the output is copied from a slot at the end of a tile
	slots, width, tile int
}

func (f *fuser) check() error {
	if len(f.steps) == 0 || len(f.outputs) == 0 || f.inputs+len(f.outputs) > MaxOperands {
		return setupError("steps: at least one is needed, and 1 to %d inputs and outputs",
			int(MaxOperands))
	}
	for _, t := range f.types[f.inputs:] {
		if t.Size() > 16 {
			return setupError("parameters: %s has more than 16 bytes", t)
		}
	}
	if err := checkTypes(f.types); err != nil {
		return err
	}
	for i := range f.steps {
		if err := f.checkStep(i); err != nil {
			return err
		}
		f.types = append(f.types, f.steps[i].Out...)
	}
	for _, v := range f.outputs {
		if v < f.inputs+f.parameters || v >= len(f.types) {
			return setupError("outputs: value %d is not given by a step", v)
		}
	}
	return nil
}

func (f *fuser) checkStep(i int) error {
	s := &f.steps[i]
	in := make([]alloc.Type, len(s.In))
	for k, v := range s.In {
		if v < 0 || v >= len(f.types) {
			return setupError("steps: number %d takes value %d of %d", i, v, len(f.types))
		}
		in[k] = f.types[v]
	}
	if s.of != nil {
		if err := s.find(i, in); err != nil {
			return err
		}
	}
	if n := len(in) + len(s.Out); len(in) == 0 || len(s.Out) == 0 || n > C.GB_GU_FUSED_ARGS {
		return setupError("steps: number %d has %d inputs and %d outputs; both are needed, and at "+
			"most %d", i, len(in), len(s.Out), int(C.GB_GU_FUSED_ARGS))
	}
	if err := checkTypes(s.Out); err != nil {
		return err
	}
	switch {
	case s.Kind == LoopStep && s.Function == 0:
		return setupError("steps: number %d has no loop", i)
	case s.Kind == CastStep && (len(in) != 1 || len(s.Out) != 1):
		return setupError("steps: number %d converts %d values into %d; expected one into one", i,
			len(in), len(s.Out))
	case s.Kind == SelectStep && !slices.Equal(in, []alloc.Type{alloc.Bool, s.Out[0], s.Out[0]}):
		return setupError("steps: number %d chooses %s from %s; expected a bool and two values of "+
			"the type that is chosen", i, typesText(s.Out, 1), typesText(in, len(in)))
	case s.Kind < LoopStep || s.Kind > SelectStep:
		return setupError("steps: number %d is of kind %d; give LoopStep, CastStep or SelectStep", i,
			int32(s.Kind))
	}
	return nil
}

// place puts what the last step gives straight into the outputs, where it is the only one; other
// values have slots of the scratch memory until their last use.
func (f *fuser) place() {
	first := f.inputs + f.parameters
	last := make([]int, len(f.types))
	for i, s := range f.steps {
		for _, v := range s.In {
			last[v] = i
		}
	}
	for _, v := range f.outputs {
		last[v] = len(f.steps)
	}
	f.places, f.copied = make([]C.gb_gu_fused_place, len(f.types)), make([]bool, len(f.outputs))
	for v := range f.types {
		f.width = max(f.width, int(f.types[v].Size()))
		if v < f.inputs {
			f.places[v].operand = C.int32_t(v)
		} else if v < first {
			at := C.int32_t(16 * (v - f.inputs))
			f.places[v] = C.gb_gu_fused_place{operand: C.GB_GU_FUSED_PARAMETER, at: at}
		}
	}
	var free []int
	slot := make([]int, len(f.types))
	v := first
	for i, s := range f.steps {
		for range s.Out {
			if len(f.outputs) == 1 && v == f.outputs[0] && i == len(f.steps)-1 {
				f.places[v].operand = C.int32_t(f.inputs)
				slot[v] = -1
			} else if w := f.handedOver(s, i, slot, last); w >= 0 {
				slot[v], last[w] = slot[w], -1
			} else if n := len(free); n > 0 {
				slot[v], free = free[n-1], free[:n-1]
			} else {
				slot[v] = f.slots
				f.slots++
			}
			v++
		}
		for w := first; w < v; w++ {
			if slot[w] >= 0 && max(last[w], f.madeBy(w)) == i {
				free = append(free, slot[w])
				last[w] = -1
			}
		}
	}
	f.tile = min(C.GB_GU_FUSED_TILE/f.width, 2048)
	for f.tile > 8 && f.slots*f.width*f.tile > C.GB_GU_FUSED_ROOM {
		f.tile /= 2
	}
	for w := first; w < len(f.types); w++ {
		if slot[w] >= 0 {
			f.places[w] = C.gb_gu_fused_place{
				operand: C.GB_GU_FUSED_SLOT, at: C.int32_t(slot[w] * f.width * f.tile),
				step: C.int32_t(f.types[w].Size()),
			}
			if f.single(w) {
				f.places[w].step = 0 // loops have a way of their own for one number
			}
		}
	}
	for o, w := range f.outputs {
		f.copied[o] = slot[w] >= 0
	}
}

// handedOver is an input of step i that is not used any more and whose slot the output can have:
// elementwise loops may write where they read, but for NumPy's of complex numbers, whose bits of
// one element alone are others in place. Below 0: there is none.
func (f *fuser) handedOver(s Step, i int, slot, last []int) int {
	for _, w := range s.In {
		ends := w >= f.inputs+f.parameters && last[w] == i && slot[w] >= 0
		fits := len(s.Out) == 1 && f.types[w].Size() == s.Out[0].Size()
		if ends && fits && s.Kind != CastStep && f.types[w].Kind() != 'c' && !f.single(w) {
			return w
		}
	}
	return -1
}

// single says whether a value is one number for all elements.
func (f *fuser) single(value int) bool {
	i := f.madeBy(value)
	if i < 0 || f.steps[i].Kind != CastStep {
		return false
	}
	from := f.steps[i].In[0]
	return from >= f.inputs && from < f.inputs+f.parameters
}

// madeBy is the step that gives a value.
func (f *fuser) madeBy(value int) int {
	v := f.inputs + f.parameters
	for i, s := range f.steps {
		if v += len(s.Out); value < v {
			return i
		}
	}
	return -1
}

func (f *fuser) write() (*C.gb_gu_fused, error) {
	if f.slots*f.width*f.tile > C.GB_GU_FUSED_ROOM {
		return nil, setupError("steps: %d values at once need more than %d bytes", f.slots,
			int(C.GB_GU_FUSED_ROOM))
	}
	p := C.gb_gu_fused_new(C.int(len(f.steps) + len(f.outputs)))
	if p == nil {
		return nil, errNoProgram
	}
	p.nop, p.nparams = C.int32_t(f.inputs+len(f.outputs)), C.int32_t(f.parameters)
	first := (*C.gb_gu_fused_step)(unsafe.Add(unsafe.Pointer(p), C.sizeof_gb_gu_fused))
	room := unsafe.Slice(first, len(f.steps)+len(f.outputs))
	p.tile = C.int32_t(f.tile)
	p.room = C.int32_t(f.slots * f.width * f.tile)
	v := f.inputs + f.parameters
	for i, s := range f.steps {
		step := &room[i]
		step.function, step.data = (C.gb_gu_numpy_loop)(pointer(s.Function)), pointer(s.Data)
		step.kind = C.int32_t(s.Kind)
		step.from, step.to = C.int32_t(f.types[s.In[0]]), C.int32_t(s.Out[0])
		for k, w := range s.In {
			step.place[k] = f.places[w]
		}
		for k := range s.Out {
			step.place[len(s.In)+k] = f.places[v]
			v++
		}
		step.nargs = C.int32_t(len(s.In) + len(s.Out))
	}
	n := len(f.steps)
	for o, w := range f.outputs {
		if f.copied[o] {
			t := C.int32_t(f.types[w])
			room[n] = C.gb_gu_fused_step{kind: C.GB_GU_FUSED_CAST, nargs: 2, from: t, to: t}
			room[n].place[0] = f.places[w]
			room[n].place[1] = C.gb_gu_fused_place{operand: C.int32_t(f.inputs + o)}
			n++
		}
	}
	p.nsteps = C.int32_t(n)
	return p, nil
}
