package cuda

// #include "strided.h"
import "C"

import (
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/stop"
)

// Direction is where a copy goes, and from where.
type Direction int

const (
	Upload   Direction = C.GB_CUDA_UPLOAD   // host to device
	Download Direction = C.GB_CUDA_DOWNLOAD // device to host
	Within   Direction = C.GB_CUDA_WITHIN   // device to device
)

func (d Direction) String() string {
	if d < Upload || d > Within {
		return fmt.Sprintf("Direction(%d)", int(d))
	}
	return [...]string{"upload", "download", "within"}[d]
}

// somewhere refuses the address 0 where there is something to move.
func somewhere(bytes int64, dst, src uintptr) error {
	if bytes > 0 && (dst == 0 || src == 0) {
		return refuse("the address of dst or src is 0, and there are %d bytes", bytes)
	}
	return nil
}

// Copy moves bytes, in the order of the queue. Host memory must not be Go's.
func (q Queue) Copy(d Direction, dst, src uintptr, bytes int64) error {
	if err := somewhere(bytes, dst, src); err != nil {
		return err
	}
	var e C.gb_cuda_error
	return check(C.gb_cuda_copy(C.int(d), C.uint64_t(dst), C.uint64_t(src), C.int64_t(bytes), q.c(),
		&e), &e)
}

// CopyRows moves rows of width bytes that lie a pitch apart.
func (q Queue) CopyRows(d Direction, dst uintptr, dstPitch int64, src uintptr, srcPitch, width,
	rows int64) error {
	if d < Upload || d > Within || width < 0 || rows < 0 || rows > 1 &&
		min(dstPitch, srcPitch) < width {
		return refuse("%v of %d rows of %d bytes, %d and %d bytes apart", d, rows, width, dstPitch,
			srcPitch)
	}
	to, from := q.side(View{dst, []int64{dstPitch, 1}}, 1), q.side(View{src, []int64{srcPitch, 1}},
		1)
	switch d {
	case Upload:
		from.Kind = Pinned
	case Download:
		to.Kind = Pinned
	}
	return CopyStrided(context.Background(), to, from, []int64{rows, width})
}

// CopyPeer moves bytes from another GPU to the queue's.
func (q Queue) CopyPeer(dst, src uintptr, srcDevice int, bytes int64) error {
	if err := somewhere(bytes, dst, src); err != nil {
		return err
	}
	var e C.gb_cuda_error
	return check(C.gb_cuda_copy_peer(C.uint64_t(dst), C.uint64_t(src), C.int(srcDevice),
		C.int64_t(bytes), q.c(), &e), &e)
}

// Set writes count values of 1, 2 or 4 bytes.
func (q Queue) Set(dst uintptr, width int, value uint32, count int64) error {
	if err := somewhere(count, dst, dst); err != nil {
		return err
	}
	var e C.gb_cuda_error
	return check(C.gb_cuda_set(C.uint64_t(dst), C.int(width), C.uint32_t(value), C.int64_t(count),
		q.c(), &e), &e)
}

// View is strided device memory; strides in bytes, of any sign.
type View struct {
	Data    uintptr
	Strides []int64
}

func (q Queue) side(v View, itemsize int) Side {
	return Side{View: v, Kind: DeviceMemory, ItemSize: int64(itemsize), Queue: q}
}

// checkApart refuses elements that lie on top of each other.
func checkApart(v View, shape []int64, itemsize int) error {
	for i, stride := range v.Strides[:min(len(v.Strides), len(shape))] {
		if shape[i] > 1 && max(stride, -stride) < int64(itemsize) {
			return refuse("the destination's elements overlap: stride %d along index %d", stride, i)
		}
	}
	return nil
}

// Relayout copies elements between any two layouts on one GPU.
func (q Queue) Relayout(dst, src View, shape []int64, itemsize int) error {
	if itemsize < 1 {
		return refuse("elements of %d bytes", itemsize)
	}
	if err := checkApart(dst, shape, itemsize); err != nil {
		return err
	}
	return CopyStrided(context.Background(), q.side(dst, itemsize), q.side(src, itemsize), shape)
}

// Fill sets every element to value, whose length is the element's size: 1, 2, 4, 8 or 16 bytes.
func (q Queue) Fill(dst View, shape []int64, value []byte) error {
	if n := len(value); n < 1 || n > 16 || n&(n-1) != 0 {
		return refuse("elements of %d bytes cannot be filled: 1, 2, 4, 8 or 16", n)
	}
	if err := checkApart(dst, shape, len(value)); err != nil {
		return err
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	side := q.side(dst, len(value))
	if err := side.check("dst", shape); err != nil {
		return err
	}
	to := side.c(&pin)
	var e C.gb_cuda_error
	return check(C.gb_cuda_fill_strided(&to, C.int(len(shape)), extents(shape),
		unsafe.Pointer(unsafe.SliceData(value)), &e), &e)
}

func extents(shape []int64) *C.int64_t {
	return (*C.int64_t)(unsafe.SliceData(append(shape[:len(shape):len(shape)], 0)))
}

// Host is pageable memory of the host, as the side of a copy.
const Host Kind = C.GB_CUDA_HOST

// Side is one side of a [CopyStrided]. Strides are bytes, of any sign.
type Side struct {
	View
	Kind     Kind
	Type     alloc.Type
	ItemSize int64  // of Raw elements; other types know theirs
	Block    *Block // the block, whose work in flight is waited for; nil: foreign memory
	Queue    Queue  // memory of a GPU: where that one's part of the work goes
}

// HostSide is pageable memory of the host as a side, such as the View of a grid.Array. The memory
// must not be Go's: it is read or written after the copy was queued.
func HostSide(v alloc.View) Side {
	return Side{
		View: View{uintptr(v.Data), v.Strides}, Kind: Host, Type: v.Type, ItemSize: v.ItemSize,
	}
}

// AllocPlan allocates memory that a plan lays out: of its GPU, or pinned or managed memory. The
// elements are of type t; the queue is the first to use them. The caller frees the side's Block.
func AllocPlan(p *alloc.Plan, t alloc.Type, q Queue) (Side, error) {
	if p == nil {
		return Side{}, refuse("p: it is nil")
	}
	if !t.Known() || t.Size() != p.ItemSize() && t != alloc.Raw {
		return Side{}, refuse("t: elements of type %d do not have the %d bytes of the plan",
			int32(t), p.ItemSize())
	}
	kind, ok := map[alloc.Memory]Kind{
		alloc.Plain: DeviceMemory, alloc.Pinned: Pinned, alloc.Managed: Managed,
	}[p.Memory()]
	if !ok || kind == DeviceMemory && p.Device() != alloc.GPU {
		return Side{}, refuse("p: its memory is plain memory of the host; alloc.New gives it")
	}
	if kind != Pinned && p.DeviceID() != q.Device {
		return Side{}, refuse("q: its device is %d; the plan's is %d", q.Device, p.DeviceID())
	}
	block, err := Alloc(Request{
		Kind: kind, Device: q.Device, Span: p.Span(), Boundary: p.ByteAlignment(),
		Offset: p.Offset(), Stream: q.Stream,
	})
	if err != nil {
		return Side{}, err
	}
	return Side{
		View: View{block.Address(), p.Strides()}, Kind: kind, Type: t, ItemSize: p.ItemSize(),
		Block: block, Queue: q,
	}, nil
}

func (s *Side) onHost() bool { return s.Kind == Host || s.Kind == Pinned }

func (s *Side) itemSize() int64 {
	if s.Type == alloc.Raw {
		return s.ItemSize
	}
	return s.Type.Size()
}

// check says what is wrong with a side, which the caller calls arg.
func (s *Side) check(arg string, shape []int64) error {
	if s.Kind < Host || s.Kind > Managed {
		return refuse("%s: memory of kind %d; give Host, DeviceMemory, Pinned or Managed", arg,
			int(s.Kind))
	}
	if !s.Type.Known() {
		return refuse("%s: unknown element type %d", arg, int(s.Type))
	}
	if s.itemSize() < 0 {
		return refuse("%s: elements of %d bytes", arg, s.ItemSize)
	}
	if len(s.Strides) != len(shape) || len(shape) > C.GB_COPY_DIMS {
		return refuse("%s: %d strides for %d axes, of which there may be %d",
			arg, len(s.Strides), len(shape), int(C.GB_COPY_DIMS))
	}
	size := uint64(max(s.itemSize(), 1))
	for i, n := range shape {
		if n < 0 {
			return refuse("shape[%d] is %d; give 0 or more", i, n)
		}
		high, low := bits.Mul64(size, uint64(n))
		if high != 0 || int64(low) < 0 {
			return refuse("shape: %v has more than 2^63 bytes", shape)
		}
		size = low
	}
	if s.Data == 0 && !slices.Contains(shape, 0) {
		return refuse("%s: its address is 0, and shape %v has elements", arg, shape)
	}
	if s.Block != nil {
		return s.Block.fault()
	}
	return nil
}

// c is a side that was checked.
func (s *Side) c(pin *runtime.Pinner) C.gb_cuda_side {
	out := C.gb_cuda_side{
		data: C.uint64_t(s.Data), strides: extents(s.Strides), itemsize: C.int64_t(s.itemSize()),
		kind: C.int32_t(s.Kind), on: s.Queue.c(),
	}
	if C.gb_copy_converts(C.int(s.Type)) != 0 {
		out._type = C.int32_t(s.Type)
	}
	if s.Block != nil {
		out.block = s.Block.c()
	}
	pin.Pin(out.strides)
	return out
}

// fits refuses two sides between which nothing can be copied.
func fits(dst, src *Side) error {
	if dst.onHost() && src.onHost() {
		return refuse("dst and src are memory of the host; one must be of a GPU (package " +
			"transfer copies on the host)")
	}
	if dst.Type == src.Type && dst.itemSize() == src.itemSize() {
		return nil
	}
	converts := func(s *Side) bool { return C.gb_copy_converts(C.int(s.Type)) != 0 }
	if !dst.onHost() && !src.onHost() || !converts(dst) || !converts(src) {
		return refuse("src: elements of type %v (%d bytes) do not convert to %v (%d bytes) of "+
			"dst; "+
			"numbers do, between host and GPU", src.Type, src.itemSize(), dst.Type, dst.itemSize())
	}
	return nil
}

// CopyStrided copies elements from any layout to any other, where at least one side is memory of a
// GPU: within a GPU, from one to another, between host and GPU, there also from one type to
// another. It returns once the work is queued; record an [Event] on the queue and wait for it
// before the host's side is used again. Host memory must not be Go's.
//
// Between a GPU and pageable memory it waits for staging buffers. The context ends that wait: what
// was copied by then stays in dst.
func CopyStrided(ctx context.Context, dst, src Side, shape []int64) error {
	if err := stop.Asked(ctx); err != nil {
		return err
	}
	if err := dst.check("dst", shape); err != nil {
		return err
	}
	if err := src.check("src", shape); err != nil {
		return err
	}
	if err := fits(&dst, &src); err != nil || dst.itemSize() == 0 {
		return err
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	job := C.gb_cuda_job{dst: dst.c(&pin), src: src.c(&pin), ndim: C.int32_t(len(shape)),
		shape: extents(shape)}
	pin.Pin(job.shape)
	asked := new(atomic.Int32)
	pin.Pin(asked)
	job.stop = (*C.int32_t)(unsafe.Pointer(asked))
	through := stop.When(ctx, func() { asked.Store(1) })
	var e, ignored C.gb_cuda_error
	err := check(C.gb_cuda_copy_strided(&job, &e), &e)
	if ended := through(); ended != nil {
		err = ended
	}
	for i, block := range job.blocks[:job.n_blocks] {
		if C.gb_cuda_record_use(block, job.used_on[i], &ignored) != 0 {
			C.gb_cuda_synchronize(C.int(job.used_on[i].device), &ignored)
		}
		C.gb_cuda_release(block)
	}
	return err
}
