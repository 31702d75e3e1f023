package exact_test

import (
	"fmt"
	"syscall"
	"unsafe"

	"gridbuf/exact"
	"gridbuf/transfer"
)

// In floating point 1e16 + 1 - 1e16 is 0.
func ExampleSum() {
	memory, _ := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	defer func() { _ = syscall.Munmap(memory) }()
	x := unsafe.Slice((*float64)(unsafe.Pointer(&memory[0])), 4)
	copy(x, []float64{1e16, 1, -1e16, 0.5})
	all := transfer.View{Data: unsafe.Pointer(&x[0]), Type: transfer.Float64, Shape: []int64{4}, Strides: []int64{8}}
	var sum, squares exact.Sum
	err := sum.Add(all)
	fmt.Println(sum.Float64(), err)
	err = squares.AddProducts(all, all)
	fmt.Println(squares.Float64() == 2e32, squares.Int(), err)
	// Output:
	// 1.5 <nil>
	// true 200000000000000000000000000000001 <nil>
}
