package exact_test

import (
	"fmt"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/exact"
	"gridbuf/transfer"
)

// In floating point 1e16 + 1 - 1e16 is 0.
func ExampleSum() {
	plan, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{4}, ItemSize: 8})
	b, _ := alloc.New(plan)
	defer b.Free()
	copy(unsafe.Slice((*float64)(b.Data()), 4), []float64{1e16, 1, -1e16, 0.5})
	all, _ := b.View(alloc.Float64)
	var sum, squares exact.Sum
	err := sum.Add(all, transfer.Options{})
	fmt.Println(sum.Float64(), err)
	err = squares.AddProducts(all, all, transfer.Options{})
	fmt.Println(squares.Float64() == 2e32, squares.Int(), err)
	// Output:
	// 1.5 <nil>
	// true 200000000000000000000000000000001 <nil>
}
