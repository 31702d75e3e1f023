package gufunc

// #include "call.h"
// intptr_t gb_gu_go_loop(char **args, intptr_t *dims, intptr_t *steps, void *data,
//                        uint8_t *status);
import "C"

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/message"
)

// Form says how a kernel is called.
type Form int32

// The forms of kernels.
const (
	// void f(char **args, intptr_t const *dims, intptr_t const *steps, void *data)
	NumPyLoop Form = C.GB_GU_NUMPY_LOOP
	// intptr_t f(..., uint8_t *status): the same, and says which elements failed
	StatusLoop Form = C.GB_GU_STATUS_LOOP
	GoLoop     Form = C.GB_GU_GO_LOOP // a Go function
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
// the program that registers a kernel keeps them valid.
type Kernel struct {
	Form     Form
	Types    []alloc.Type // one per operand
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
	// Pure marks a loop that may run on elements that were not asked for, which makes a
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
		return r, setupError("name: no Go kernel %q is registered; there are %v; a main package "+
			"of your own adds some (docs/gufuncs.md)", name, RegisteredNames())
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
	slices.Sort(names)
	return names
}

// ParseTypes reads "dd->d" or "ddd".
func ParseTypes(text string, inputs, outputs int) ([]alloc.Type, error) {
	var types []alloc.Type
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
				Message: "types: no kernel can have this type; allowed are NumPy's characters " +
					typeChars(), Signature: text, At: i,
			}
		}
		types = append(types, t)
	}
	if len(types) != inputs+outputs || arrow >= 0 && arrow != inputs {
		return nil, setupError("types: %q does not fit %d inputs and %d outputs", text, inputs,
			outputs)
	}
	return types, nil
}

// StateKernel is a reduction that carries more than one number. Step, Merge and Final are
// C functions (see gb_gu_state_kernel in reduction.h); Init is the state before the first element.
type StateKernel struct {
	Step, Merge, Final, Data uintptr
	Init                     []byte
	Types                    []alloc.Type // of the input, then of the results
	AnyOrder                 bool         // elements may come in any order: their index does not count
}

// AddState registers a reduction with a state and returns its number.
func (g *GUFunc) AddState(k StateKernel) (int, error) {
	if err := g.ready(); err != nil {
		return 0, err
	}
	if err := checkTypes(k.Types); err != nil {
		return 0, err
	}
	if g.Signature.Inputs != 1 || len(k.Types) != len(g.Signature.Operands) {
		return 0, setupError("kernels: a reduction with a state has one input and the results of "+
			"%s", g.Signature)
	}
	if k.Step == 0 || k.Merge == 0 || k.Final == 0 || len(k.Init) == 0 {
		return 0, setupError("kernels: a reduction with a state needs step, merge, final and an " +
			"initial state")
	}
	return g.states.add(k), nil
}

// State is the reduction with a number.
func (g *GUFunc) State(n int) (StateKernel, error) {
	all := g.states.list()
	if n < 0 || n >= len(all) {
		return StateKernel{}, setupError("kernel: number %d of %d with a state", n, len(all))
	}
	return all[n], nil
}

// lastPanic keeps what a Go kernel panicked with, for LastPanic.
var lastPanic atomic.Value

// LastPanic is what the last panic of a Go kernel said, with its stack; empty when
// there was none.
func LastPanic() string {
	s, _ := lastPanic.Load().(string)
	return s
}

// goKernels are the kernels that calls name by a number, which is the data of their loop: C memory
// has no pointers of Go.
var goKernels = numbered[GoKernel]{byNumber: map[uintptr]GoKernel{}}

// goLoop is the loop of all kernels that are written in Go, and the number of this one, which lives
// as long as its gufunc.
func (g *GUFunc) goLoop(k GoKernel) (function, data uintptr) {
	number := goKernels.add(k)
	runtime.AddCleanup(g, goKernels.remove, number)
	return uintptr(unsafe.Pointer(C.gb_gu_go_loop)), number
}

// gb_gu_go_loop runs a kernel over a block, on whichever thread has taken it. When the kernel
// panics, the block is run again element by element to find out where.
//
//export gb_gu_go_loop
func gb_gu_go_loop(args **C.char, dims, steps *C.intptr_t, data unsafe.Pointer,
	status *C.uint8_t) (failed C.intptr_t) {
	defer func() {
		if r := recover(); r != nil { // a fault of our own: kernels have their recover
			lastPanic.Store(message.Panic(r))
			failed = *dims
		}
	}()
	call := (*C.gb_gu_call)(data)
	here := &place{call, unsafe.Slice(args, int(call.nop)),
		unsafe.Slice(steps, C.GB_GU_MAXARGS*(1+C.GB_GU_MAXCORE))}
	defer func() { *here = place{} }()
	block := Block{N: int(*dims), Status: unsafe.Slice((*uint8)(status), int(*dims)), place: here}
	for _, size := range unsafe.Slice((*int64)(&call.core[0]), int(call.ncore)) {
		block.Dims = append(block.Dims, int(size))
	}
	k := goKernels.get(uintptr(call.data))
	n, ok := guarded(k, block)
	if !ok {
		n = each(k, block)
	}
	return C.intptr_t(n)
}

func each(k GoKernel, block Block) int {
	failed := 0
	clear(block.Status)
	for i := range block.N {
		one := block
		one.N, one.Status = 1, block.Status[i:i+1]
		n, ok := guarded(k, one)
		if !ok {
			one.Status[0], n = CodePanic, 1
		}
		failed += n
		at := block.place
		for o := range at.args {
			at.args[o] = (*C.char)(unsafe.Add(unsafe.Pointer(at.args[o]), int(at.steps[o])))
		}
	}
	return failed
}

// guarded calls a kernel; false when it panicked.
func guarded(k GoKernel, b Block) (failed int, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			lastPanic.Store(message.Panic(r))
		}
	}()
	return k(b), true
}

// growing is a list that only grows; readers see one that does not change under them.
type growing[T any] struct {
	mu  sync.RWMutex
	all []T
}

// add gives the number of what it adds.
func (l *growing[T]) add(item T) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all[:len(l.all):len(l.all)], item)
	return len(l.all) - 1
}

// numbered are items by numbers that are never used again.
type numbered[T any] struct {
	mu       sync.RWMutex
	last     uintptr
	byNumber map[uintptr]T
}

func (l *numbered[T]) add(item T) uintptr {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.byNumber[l.last] = item
	return l.last
}

func (l *numbered[T]) get(number uintptr) T {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.byNumber[number]
}

func (l *numbered[T]) remove(number uintptr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byNumber, number)
}

func (l *growing[T]) list() []T {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.all
}
