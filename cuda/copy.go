package cuda

// #include "strided.h"
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Direction says which side of a copy is where.
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
	return check(C.gb_cuda_copy(C.int(d), C.uint64_t(dst), C.uint64_t(src), C.int64_t(bytes), q.c(), &e), &e)
}

// CopyRows moves rows of width bytes that lie a pitch apart.
func (q Queue) CopyRows(d Direction, dst uintptr, dstPitch int64, src uintptr, srcPitch, width, rows int64) error {
	if d < Upload || d > Within || width < 0 || rows < 0 || rows > 1 && min(dstPitch, srcPitch) < width {
		return refuse("%v of %d rows of %d bytes, %d and %d bytes apart", d, rows, width, dstPitch, srcPitch)
	}
	to, from := q.side(View{dst, []int64{dstPitch, 1}}, 1), q.side(View{src, []int64{srcPitch, 1}}, 1)
	switch d {
	case Upload:
		from.Kind = Pinned
	case Download:
		to.Kind = Pinned
	}
	return CopyStrided(to, from, []int64{rows, width})
}

// CopyPeer moves bytes from another GPU to the queue's.
func (q Queue) CopyPeer(dst, src uintptr, srcDevice int, bytes int64) error {
	if err := somewhere(bytes, dst, src); err != nil {
		return err
	}
	var e C.gb_cuda_error
	return check(C.gb_cuda_copy_peer(C.uint64_t(dst), C.uint64_t(src), C.int(srcDevice), C.int64_t(bytes), q.c(), &e), &e)
}

// Set writes count values of 1, 2 or 4 bytes.
func (q Queue) Set(dst uintptr, width int, value uint32, count int64) error {
	if err := somewhere(count, dst, dst); err != nil {
		return err
	}
	var e C.gb_cuda_error
	return check(C.gb_cuda_set(C.uint64_t(dst), C.int(width), C.uint32_t(value), C.int64_t(count), q.c(), &e), &e)
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
	return CopyStrided(q.side(dst, itemsize), q.side(src, itemsize), shape)
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
	return check(C.gb_cuda_fill_strided(&to, C.int(len(shape)), extents(shape), unsafe.Pointer(unsafe.SliceData(value)), &e), &e)
}

func extents(shape []int64) *C.int64_t {
	return (*C.int64_t)(unsafe.SliceData(append(shape[:len(shape):len(shape)], 0)))
}
