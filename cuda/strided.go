package cuda

// #include "strided.h"
import "C"

import (
	"runtime"

	"gridbuf/transfer"
)

// Host is pageable memory of the host, as the side of a copy.
const Host Kind = -1

// Side is one side of a [CopyStrided]. Strides are bytes, of any sign.
type Side struct {
	View
	Kind     Kind
	Type     transfer.Type
	ItemSize int64  // of Raw elements; other types know theirs
	Block    *Block // that it lies in: its work in flight is waited for; nil: memory of somebody else
	Queue    Queue  // memory of a GPU: where that one's part of the work goes
}

func (s *Side) c(shape []int64, pin *runtime.Pinner) (out C.gb_cuda_side, err error) {
	if len(s.Strides) != len(shape) || len(shape) > C.GB_COPY_DIMS {
		return out, refuse("%d strides for %d axes, of which there may be %d", len(s.Strides), len(shape), int(C.GB_COPY_DIMS))
	}
	for i, n := range shape {
		if n < 0 {
			return out, refuse("shape[%d] is %d", i, n)
		}
	}
	out = C.gb_cuda_side{
		data: C.uint64_t(s.Data), strides: extents(s.Strides), itemsize: C.int64_t(s.ItemSize), _type: C.int32_t(s.Type), kind: C.int32_t(s.Kind), on: s.Queue.c(),
	}
	if size := s.Type.Size(); size > 0 {
		out.itemsize = C.int64_t(size)
	}
	if s.Block != nil {
		out.block = s.Block.c
	}
	pin.Pin(out.strides)
	return out, nil
}

// CopyStrided copies elements from any layout to any other, where at least one side is memory of a GPU: within a GPU, from one
// to another, between host and GPU, there also from one type to another. It returns once the work is queued; record an [Event]
// on the queue and wait for it before the host's side is used again. Host memory must not be Go's.
func CopyStrided(dst, src Side, shape []int64) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	var job C.gb_cuda_job
	var err error
	if job.dst, err = dst.c(shape, &pin); err != nil {
		return err
	}
	if job.src, err = src.c(shape, &pin); err != nil {
		return err
	}
	job.ndim, job.shape = C.int32_t(len(shape)), extents(shape)
	pin.Pin(job.shape)
	var e, ignored C.gb_cuda_error
	err = check(C.gb_cuda_copy_strided(&job, &e), &e)
	for i, block := range job.blocks[:job.n_blocks] {
		if C.gb_cuda_record_use(block, job.used_on[i], &ignored) != 0 {
			C.gb_cuda_synchronize(C.int(job.used_on[i].device), &ignored)
		}
		C.gb_cuda_release(block)
	}
	return err
}
