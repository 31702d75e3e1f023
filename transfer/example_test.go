package transfer_test

import (
	"fmt"
	"syscall"
	"unsafe"

	"gridbuf/transfer"
)

// A C-ordered array copied into Fortran order, converted on the way.
func ExampleCopy() {
	memory, _ := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	defer func() { _ = syscall.Munmap(memory) }()
	from := unsafe.Slice((*float32)(unsafe.Pointer(&memory[0])), 6)
	to := unsafe.Slice((*float64)(unsafe.Pointer(&memory[2048])), 6)
	copy(from, []float32{1, 2, 3, 4, 5, 6})

	src := transfer.View{Data: unsafe.Pointer(&from[0]), Type: transfer.Float32, Shape: []int64{2, 3}, Strides: []int64{12, 4}}
	dst := transfer.View{Data: unsafe.Pointer(&to[0]), Type: transfer.Float64, Shape: []int64{2, 3}, Strides: []int64{8, 16}}
	err := transfer.Copy(dst, src, transfer.Options{})
	fmt.Println(to, err)
	// Output: [1 4 2 5 3 6] <nil>
}

func ExampleFill() {
	memory, _ := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	defer func() { _ = syscall.Munmap(memory) }()
	every := unsafe.Slice((*int32)(unsafe.Pointer(&memory[0])), 6)
	odd := transfer.View{Data: unsafe.Pointer(&every[1]), Type: transfer.Int32, Shape: []int64{3}, Strides: []int64{8}}
	err := transfer.Fill(odd, 7, transfer.Options{})
	fmt.Println(every, err)
	// Output: [0 7 0 7 0 7] <nil>
}
