package gufunc

// #include "call.h"
import "C"

import (
	"strings"
	"sync"
	"unsafe"

	"gridbuf/internal/message"
	"gridbuf/internal/sorting"
)

// Form says how a kernel is called.
type Form int32

// The forms of kernels.
const (
	NumPyLoop  Form = C.GB_GU_NUMPY_LOOP  // void f(char **args, intptr_t const *dims, intptr_t const *steps, void *data)
	StatusLoop Form = C.GB_GU_STATUS_LOOP // intptr_t f(..., uint8_t *status): the same, and says which elements failed
	GoLoop     Form = C.GB_GU_GO_LOOP     // a Go function
)

func (f Form) String() string {
	switch f {
	case NumPyLoop:
		return "NumPy loop"
	case StatusLoop:
		return "status loop"
	case GoLoop:
		return "Go loop"
	}
	return message.Format("Form(%d)", int32(f))
}

// Kernel is a loop for one combination of types. Function and Data are C addresses;
// whoever registers a kernel keeps them valid.
type Kernel struct {
	Form     Form
	Types    []Type // one per operand
	Function uintptr
	Data     uintptr
	Go       GoKernel // of a GoLoop

	// Exclusive marks a loop that must run on the calling thread alone (it may set a
	// Python error); the extension then also keeps the GIL.
	Exclusive bool
	// Raises marks a loop that takes the GIL itself where it sets a Python error.
	Raises bool
	// Bounded marks a loop no element of which can take long: it is cut into chunks of so
	// many bytes, where others are measured as they go.
	Bounded bool
	// OneWorker marks a loop that gains nothing from threads.
	OneWorker bool
	// Pure marks a loop that may run on elements nobody asked for, which makes a
	// where-mask cheap: its only effects are its outputs and floating-point flags.
	Pure bool
	// Generated marks a kernel that a generator made for the types it was asked for:
	// SelectKernel never takes it for others.
	Generated bool
	// Folds marks a loop that folds a whole row when its output is its first input with a
	// step of 0, as NumPy's own loops do in reductions.
	Folds bool
}

// GoKernel is a kernel written in Go, called with n elements. It returns the number
// of elements it marked as failed in status. A panic marks the element it happened in.
type GoKernel func(b Block) int

// Block is what a Go kernel sees: n elements of every operand.
type Block struct {
	N      int
	Dims   []int   // sizes of the distinct core dimensions
	Status []uint8 // one per element, zero; non-zero marks it as failed
	place  *place
}

// place is where the elements of a Block are: memory of C's, until the kernel returns.
type place struct {
	call  *C.gb_gu_call
	args  []*C.char
	steps []C.intptr_t
}

func (b Block) at() *place {
	if b.place == nil || b.place.call == nil {
		panic("gufunc.Block: a kernel is given one, and it ends when the kernel returns")
	}
	return b.place
}

// At is the address of element i of an operand. The step to a neighbour along the
// operand's core dimension d is Step(operand, d) bytes.
func (b Block) At(operand, i int) unsafe.Pointer {
	p := b.at()
	return unsafe.Add(unsafe.Pointer(p.args[operand]), i*int(p.steps[operand]))
}

// Step is the distance in bytes between neighbours along a core dimension.
func (b Block) Step(operand, d int) int {
	p := b.at()
	return int(p.steps[p.core(operand)+d])
}

// core is where the steps along an operand's core dimensions begin.
func (p *place) core(operand int) int {
	at := int(p.call.nop)
	for o := range operand {
		at += int(operandOf(p.call, o).core_ndim)
	}
	return at
}

// Float64 is element i of an operand without core dimensions.
func (b Block) Float64(operand, i int) *float64 { return (*float64)(b.At(operand, i)) }

// Float64At is an item of element e of an operand: with one index per core dimension.
func (b Block) Float64At(operand, e int, index ...int) *float64 {
	at, element := b.at(), b.At(operand, e)
	first := at.core(operand)
	for d, i := range index {
		element = unsafe.Add(element, i*int(at.steps[first+d]))
	}
	return (*float64)(element)
}

// Registered is a Go kernel by name, with what is needed to make a GUFunc of it.
type Registered struct {
	Name, Signature string
	Types           string // NumPy's type characters, such as "d->d"
	Kernel          GoKernel
}

var registered = struct {
	sync.RWMutex
	byName map[string]Registered
}{byName: map[string]Registered{}}

// Register makes a Go kernel known by name, also to Python (gridbuf.gufunc.go). A
// module that is built with further kernels registers them in an init function.
func Register(r Registered) {
	registered.Lock()
	registered.byName[r.Name] = r
	registered.Unlock()
}

// Lookup finds a registered Go kernel.
func Lookup(name string) (Registered, error) {
	registered.RLock()
	r, ok := registered.byName[name]
	registered.RUnlock()
	if !ok {
		return r, setupError("name: no Go kernel %q is registered; there are %v; a main package of your own adds some (docs/gufuncs.md)", name, RegisteredNames())
	}
	return r, nil
}

// RegisteredNames lists the Go kernels, sorted.
func RegisteredNames() []string {
	registered.RLock()
	defer registered.RUnlock()
	var names []string
	for name := range registered.byName {
		names = append(names, name)
	}
	sorting.Stable(names, strings.Compare)
	return names
}

// ParseTypes reads "dd->d" or "ddd".
func ParseTypes(text string, inputs, outputs int) ([]Type, error) {
	var types []Type
	arrow := -1
	for i := 0; i < len(text); i++ {
		if text[i] == '-' && i+1 < len(text) && text[i+1] == '>' && arrow < 0 {
			arrow = len(types)
			i++
			continue
		}
		t, ok := TypeOf(text[i])
		if !ok {
			return nil, &SignatureError{
				Message: "types: no kernel can have this type; allowed are NumPy's characters " + typeChars(), Signature: text, At: i,
			}
		}
		types = append(types, t)
	}
	if len(types) != inputs+outputs || arrow >= 0 && arrow != inputs {
		return nil, setupError("types: %q does not fit %d inputs and %d outputs", text, inputs, outputs)
	}
	return types, nil
}
