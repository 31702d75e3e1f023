package cuda

// #include "strided.h"
import "C"

import (
	"math/bits"
	"runtime"
	"slices"

	"gridbuf/alloc"
)

// Host is pageable memory of the host, as the side of a copy.
const Host Kind = C.GB_CUDA_HOST

// Side is one side of a [CopyStrided]. Strides are bytes, of any sign.
type Side struct {
	View
	Kind     Kind
	Type     alloc.Type
	ItemSize int64  // of Raw elements; other types know theirs
	Block    *Block // that it lies in, whose work in flight is waited for; nil: no block of ours
	Queue    Queue  // memory of a GPU: where that one's part of the work goes
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
		return refuse("%s: memory of kind %d; give Host, DeviceMemory, Pinned or Managed", arg, int(s.Kind))
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
		return refuse("dst and src are memory of the host; one must be of a GPU (package transfer copies on the host)")
	}
	if dst.Type == src.Type && dst.itemSize() == src.itemSize() {
		return nil
	}
	converts := func(s *Side) bool { return C.gb_copy_converts(C.int(s.Type)) != 0 }
	if !dst.onHost() && !src.onHost() || !converts(dst) || !converts(src) {
		return refuse("src: elements of type %v (%d bytes) do not convert to %v (%d bytes) of dst; "+
			"numbers do, between host and GPU", src.Type, src.itemSize(), dst.Type, dst.itemSize())
	}
	return nil
}

// CopyStrided copies elements from any layout to any other, where at least one side is memory of a
// GPU: within a GPU, from one to another, between host and GPU, there also from one type to another.
// It returns once the work is queued; record an [Event] on the queue and wait for it before the
// host's side is used again. Host memory must not be Go's.
func CopyStrided(dst, src Side, shape []int64) error {
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
	job := C.gb_cuda_job{dst: dst.c(&pin), src: src.c(&pin), ndim: C.int32_t(len(shape)), shape: extents(shape)}
	pin.Pin(job.shape)
	var e, ignored C.gb_cuda_error
	err := check(C.gb_cuda_copy_strided(&job, &e), &e)
	for i, block := range job.blocks[:job.n_blocks] {
		if C.gb_cuda_record_use(block, job.used_on[i], &ignored) != 0 {
			C.gb_cuda_synchronize(C.int(job.used_on[i].device), &ignored)
		}
		C.gb_cuda_release(block)
	}
	return err
}
