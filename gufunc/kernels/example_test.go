package kernels_test

import (
	"fmt"
	"log"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels"
)

func ExampleNew() {
	moments, err := kernels.New("moments")
	if err != nil {
		log.Fatal(err)
	}
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{4}, ItemSize: 8})
	if err != nil {
		log.Fatal(err)
	}
	x, err := alloc.New(plan)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Free()
	copy(unsafe.Slice((*float64)(x.Data()), 4), []float64{1, 2, 3, 6})
	array, _ := gufunc.ArrayOf(x, alloc.Float64)
	found, err := moments.Reduce(array, gufunc.ReduceOptions{Axes: []int{0}})
	if err != nil {
		log.Fatal(err)
	}
	defer found.Free()
	fmt.Println(*(*float64)(found.Outputs[0].Data), *(*float64)(found.Outputs[1].Data))
	// Output: 3 3.5
}
