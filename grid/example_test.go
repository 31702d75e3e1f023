package grid_test

import (
	"fmt"

	"gridbuf/alloc"
	"gridbuf/grid"
)

func Example() {
	preset, err := alloc.FindPreset("gt:cpu_ifirst")
	if err != nil {
		fmt.Println(err)
		return
	}
	salt, err := grid.New[float64](&alloc.Spec{Shape: []int64{8, 6, 3}, Preset: preset}, 2, 1, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer salt.Free()
	if err := salt.Fill(34.5); err != nil {
		fmt.Println(err)
	}
	salt.Set(35, 2, 1, 0)
	fmt.Println(salt.Domain().Shape(), salt.Domain().At(0, 0, 0), salt.At(0, 0, 0))
	sum, err := salt.Domain().Sum()
	fmt.Println(sum, err)
	// Output:
	// [4 4 3] 35 34.5
	// 1656.5 <nil>
}

// Rows are Go slices, along the index whose neighbours lie side by side.
func ExampleArray_Rows() {
	heights, _ := grid.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for row := range heights.Slice(1, 1, 3).Rows() {
		fmt.Println(row)
	}
	// Output:
	// [2 3]
	// [5 6]
}

func ExampleArray_Transpose() {
	a, _ := grid.Of([]int32{1, 2, 3, 4, 5, 6}, 2, 3)
	fmt.Println(a.Transpose().Shape(), a.Transpose().At(2, 0), a.Index(0, 1).At(2))
	// Output: [3 2] 3 6
}

// A consumer in C or Python shares the memory; both sides free what they hold.
func ExampleFromTensor() {
	a, err := grid.New[float64](&alloc.Spec{Shape: []int64{2, 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Free()
	a.Set(7, 1, 1)
	tensor, err := a.Export() // HandOver gives it to C
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := grid.FromTensor[float64](tensor)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Free()
	fmt.Println(b.At(1, 1))
	// Output: 7
}
