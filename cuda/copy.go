package cuda

// #include "cuda.h"
import "C"

import (
	"fmt"
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

// Copy moves bytes, in the order of the queue. Host memory must not be Go's.
func (q Queue) Copy(d Direction, dst, src uintptr, bytes int64) error {
	var e C.gb_cuda_error
	return check(C.gb_cuda_copy(C.int(d), C.uint64_t(dst), C.uint64_t(src), C.int64_t(bytes), q.c(), &e), &e)
}

// CopyRows moves rows of width bytes that lie a pitch apart.
func (q Queue) CopyRows(d Direction, dst uintptr, dstPitch int64, src uintptr, srcPitch, width, rows int64) error {
	var e C.gb_cuda_error
	return check(C.gb_cuda_copy_rows(C.int(d), C.uint64_t(dst), C.int64_t(dstPitch), C.uint64_t(src), C.int64_t(srcPitch),
		C.int64_t(width), C.int64_t(rows), q.c(), &e), &e)
}

// CopyPeer moves bytes from another GPU to the queue's.
func (q Queue) CopyPeer(dst, src uintptr, srcDevice int, bytes int64) error {
	var e C.gb_cuda_error
	return check(C.gb_cuda_copy_peer(C.uint64_t(dst), C.uint64_t(src), C.int(srcDevice), C.int64_t(bytes), q.c(), &e), &e)
}

// Set writes count values of 1, 2 or 4 bytes.
func (q Queue) Set(dst uintptr, width int, value uint32, count int64) error {
	var e C.gb_cuda_error
	return check(C.gb_cuda_set(C.uint64_t(dst), C.int(width), C.uint32_t(value), C.int64_t(count), q.c(), &e), &e)
}

// View is strided device memory; strides in bytes, of any sign.
type View struct {
	Data    uintptr
	Strides []int64
}

func view(v View, shape []int64) (out C.gb_cuda_view, err error) {
	if len(v.Strides) != len(shape) || len(shape) > C.GB_CUDA_AXES {
		return out, &Error{Text: fmt.Sprintf("%d strides for %d axes, of which there may be %d", len(v.Strides), len(shape), C.GB_CUDA_AXES), status: C.GB_CUDA_ARGUMENT}
	}
	out.data = C.uint64_t(v.Data)
	for i, s := range v.Strides {
		out.strides[i] = C.int64_t(s)
	}
	return out, nil
}

// Relayout copies elements between any two layouts on one GPU.
func (q Queue) Relayout(dst, src View, shape []int64, itemsize int) error {
	to, err := view(dst, shape)
	if err != nil {
		return err
	}
	from, err := view(src, shape)
	if err != nil {
		return err
	}
	var e C.gb_cuda_error
	return check(C.gb_cuda_relayout(&to, &from, extents(shape), C.int(len(shape)), C.int(itemsize), q.c(), &e), &e)
}

// Fill sets every element to value, whose length is the element's size.
func (q Queue) Fill(dst View, shape []int64, value []byte) error {
	to, err := view(dst, shape)
	if err != nil {
		return err
	}
	var e C.gb_cuda_error
	return check(C.gb_cuda_fill(&to, extents(shape), C.int(len(shape)), unsafe.Pointer(unsafe.SliceData(value)), C.int(len(value)),
		q.c(), &e), &e)
}

func extents(shape []int64) *C.int64_t {
	return (*C.int64_t)(unsafe.SliceData(append(shape[:len(shape):len(shape)], 0)))
}
