package transfer_test

import (
	"fmt"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/transfer"
)

// An array in C order is copied into one in Fortran order, and converted on the way.
func ExampleCopy() {
	fortran, _ := alloc.FindPreset("F")
	from, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{2, 3}, ItemSize: 4})
	to, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{2, 3}, ItemSize: 8, Preset: fortran})
	a, _ := alloc.New(from)
	defer a.Free()
	b, _ := alloc.New(to)
	defer b.Free()
	copy(unsafe.Slice((*float32)(a.Data()), 6), []float32{1, 2, 3, 4, 5, 6})

	src, _ := a.View(alloc.Float32)
	dst, _ := b.View(alloc.Float64)
	err := transfer.Copy(dst, src, transfer.Options{})
	fmt.Println(unsafe.Slice((*float64)(b.Data()), 6), err)
	// Output: [1 4 2 5 3 6] <nil>
}

func ExampleFill() {
	plan, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{6}, ItemSize: 4})
	b, _ := alloc.New(plan)
	defer b.Free()
	b.Zero()
	odd, _ := b.View(alloc.Int32)
	odd.Data, odd.Shape, odd.Strides = unsafe.Add(odd.Data, 4), []int64{3}, []int64{8}
	err := transfer.Fill(odd, int32(7), transfer.Options{})
	fmt.Println(unsafe.Slice((*int32)(b.Data()), 6), err)
	// Output: [0 7 0 7 0 7] <nil>
}
