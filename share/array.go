package share

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/grid"
	"gridbuf/internal/handle"
)

// Array is a strided array in memory that processes share: one that New made, or that Attach found.
// Use the pointer that they gave, until Free.
type Array struct {
	memory   handle.Handle // element 0
	mapping  []byte
	view     alloc.View // without Data
	dims     []alloc.Dim
	halo     []Halo
	offset   int64
	writable bool
	release  func() // further work of Free; nil: none

	mu           sync.Mutex // of what follows
	file         int        // the memfd; -1 after Free, and of an array that is attached
	sealed       bool       // clientsWrite is for good
	clientsWrite Access
}

// Halo is the width of the halo on the two sides of an index.
type Halo = grid.Halo

// New makes memory for a plan, filled with zeros; no page of it is touched. The halo, where there
// is one, has its widths for each index. Free gives the memory back.
func New(p *alloc.Plan, t alloc.Type, halo ...Halo) (*Array, error) {
	if err := checkPlan(p, t); err != nil {
		return nil, err
	}
	a := &Array{
		view: alloc.View{Type: t, ItemSize: p.ItemSize(), Shape: p.Shape(), Strides: p.Strides()},
		dims: p.Dims(), halo: slices.Clone(halo), offset: p.Offset(), writable: true, file: -1,
	}
	if err := checkHalo(a.halo, a.view.Shape); err != nil {
		return nil, err
	}
	file, err := createMemory(roundUp(max(p.Offset()+p.Span(), 1), pageSize))
	if err != nil {
		return nil, err
	}
	if err := a.hold(file, roundUp(max(p.Offset()+p.Span(), 1), pageSize)); err != nil {
		closeFile(file)
		return nil, err
	}
	a.file = file
	return a, nil
}

func checkPlan(p *alloc.Plan, t alloc.Type) error {
	if p == nil || p.AllocBytes() <= p.Span() {
		return alloc.ErrInvalid.Errorf("plan: it is nil, empty, or describes memory that exists; " +
			"give one of alloc.NewPlan")
	}
	if p.Device() == alloc.GPU || p.Memory() != alloc.Plain {
		return alloc.ErrUnavailable.Errorf("plan: it is for %v memory of the %v; "+
			"processes share plain memory of the host", p.Memory(), p.Device())
	}
	if p.ByteAlignment() > pageSize {
		return alloc.ErrInvalid.Errorf(
			"plan: a boundary of %d bytes; mappings of shared memory begin "+
				"at pages of %d", p.ByteAlignment(), int(pageSize))
	}
	if !t.Known() || (t != alloc.Raw && t.Size() != p.ItemSize()) {
		return alloc.ErrInvalid.Errorf("t: elements of type %v have %d bytes, those of the plan %d",
			t, t.Size(), p.ItemSize())
	}
	if p.ItemSize() > math.MaxInt32 { // as typeOf reads it
		return alloc.ErrInvalid.Errorf("plan: elements of %d bytes; clients attach those of at most %d",
			p.ItemSize(), int64(math.MaxInt32))
	}
	return nil
}

func checkHalo(halo []Halo, shape []int64) error {
	if len(halo) == 0 {
		return nil
	}
	if len(halo) != len(shape) {
		return alloc.ErrInvalid.Errorf("halo: %d widths for %d indices", len(halo), len(shape))
	}
	for i, h := range halo {
		if h.Before < 0 || h.After < 0 || h.Before > shape[i] || h.After > shape[i]-h.Before {
			return alloc.ErrInvalid.Errorf("halo: %d and %d elements around index %d, which has %d",
				h.Before, h.After, i, shape[i])
		}
	}
	return nil
}

// hold maps a descriptor, which stays the caller's.
func (a *Array) hold(file int, size int64) error {
	access := syscall.PROT_READ
	if a.writable {
		access |= syscall.PROT_WRITE
	}
	mapping, err := syscall.Mmap(file, 0, int(size), access, syscall.MAP_SHARED)
	if err != nil {
		return alloc.ErrNoMemory.Errorf("cannot map %d bytes of shared memory: %v", size, err)
	}
	a.mapping = mapping
	a.memory.Hold(unsafe.Pointer(unsafe.SliceData(mapping[a.offset:])))
	return nil
}

// View describes the array for copies, sums and kernels. A write where Writable is false ends the
// process.
func (a *Array) View() alloc.View {
	v := a.view
	v.Data = a.memory.Address("share.Array")
	v.Shape, v.Strides = slices.Clone(v.Shape), slices.Clone(v.Strides)
	return v
}

// Grid is the array with its elements in Go: At, Set, Rows, Domain. It is valid until Free.
func Grid[T grid.Element](a *Array) (*grid.Array[T], error) {
	if a == nil {
		return nil, alloc.ErrInvalid.Errorf("array: it is nil; give one of share.New")
	}
	return grid.FromView[T](a.View(), !a.writable, a.halo...)
}

// Dims names the indices.
func (a *Array) Dims() []alloc.Dim { return slices.Clone(a.dims) }

// Halo is the halo of each index; nil where there is none.
func (a *Array) Halo() []Halo { return slices.Clone(a.halo) }

// Writable says whether this process may write.
func (a *Array) Writable() bool { return a.writable }

// Free ends this process's use of the memory: one that others hold, or that is offered, lives on.
// A second Free does nothing.
func (a *Array) Free() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.memory.Take("share.Array") == nil {
		return
	}
	_ = syscall.Munmap(a.mapping) // fails for no mapping of ours
	if a.file >= 0 {
		closeFile(a.file)
		a.file = -1
	}
	if a.release != nil {
		a.release()
	}
}

// typestr is how NumPy writes an element type.
func typestr(v *alloc.View) string {
	order := byte('<')
	if littleEndian := *(*byte)(unsafe.Pointer(&[1]int16{1})) == 1; !littleEndian {
		order = '>'
	}
	kind, size := v.Type.Kind(), v.ElementSize()
	if kind == 0 {
		kind = 'V'
	}
	if kind == 'V' || size == 1 {
		order = '|'
	}
	return string([]byte{order, kind}) + strconv.FormatInt(size, 10)
}

// typeOf is the element type that a typestr names: raw bytes where it is none of alloc's.
func typeOf(text string) (alloc.Type, int64, error) {
	if len(text) < 3 {
		return 0, 0, alloc.ErrInvalid.Errorf("typestr: %q; expected such as \"<f8\"", text)
	}
	size, err := strconv.ParseInt(text[2:], 10, 32)
	if err != nil || size < 0 || text[2:] != strconv.FormatInt(size, 10) {
		return 0, 0, alloc.ErrInvalid.Errorf("typestr: %q; expected such as \"<f8\"", text)
	}
	for t := alloc.Bool; t.Known(); t++ {
		if typestr(&alloc.View{Type: t}) == text {
			return t, size, nil
		}
	}
	return alloc.Raw, size, nil
}

const pageSize = 4096

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
