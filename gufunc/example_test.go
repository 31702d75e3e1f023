package gufunc_test

import (
	"fmt"
	"gridbuf/alloc"
	"unsafe"

	"gridbuf/grid"
	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels"
)

// elements of an output in C order.
func elements(a gufunc.Array) []float64 {
	n := int64(1)
	for _, size := range a.Shape {
		n *= size
	}
	return unsafe.Slice((*float64)(a.Data), n)
}

// A panic costs the element it happens in; the other results are there.
func ExampleGUFunc_Call() {
	g, _ := gufunc.New("half", "()->()", nil, gufunc.AllFlags)
	_, _ = g.Add(gufunc.Kernel{Form: gufunc.GoLoop, Types: []alloc.Type{alloc.Float64,
		alloc.Float64}, Go: func(b gufunc.Block) int {
		for i := range b.N {
			if *b.Float64(0, i) < 0 {
				panic("negative")
			}
			*b.Float64(1, i) = *b.Float64(0, i) / 2
		}
		return 0
	}})
	a, _ := grid.Of([]float64{2, -1, 6}, 3)
	x := gufunc.FromView(a.View())

	r, _ := g.Call([]gufunc.Array{x}, nil, gufunc.Options{})
	defer r.Free()
	halves := elements(r.Outputs[0])
	fmt.Println(r.SomeFailed(), r.Codes[1] == gufunc.CodePanic, halves[0], halves[2])
	// Output: true true 1 3
}

// The mean and the variance of each column, in one pass; then the sum of everything.
func ExampleGUFunc_Reduce() {
	a, _ := grid.Of([]float64{1, 2, 3, 5, 2, 7}, 2, 3)
	x := gufunc.FromView(a.View())

	moments, _ := kernels.New("moments")
	columns, _ := moments.Reduce(x, gufunc.ReduceOptions{Axes: []int{0}})
	defer columns.Free()
	fmt.Println(elements(columns.Outputs[0]), elements(columns.Outputs[1]))

	add, _ := kernels.New("add")
	zero := new(float64)
	total, _ := add.Reduce(x, gufunc.ReduceOptions{Identity: unsafe.Pointer(zero)})
	defer total.Free()
	fmt.Println(elements(total.Outputs[0]))
	// Output:
	// [3 2 5] [4 0 4]
	// [20]
}

// The largest item of each row: a kernel on vectors, over memory of the heap.
func ExampleBlock_Float64At() {
	g, _ := gufunc.New("largest", "(n)->()", nil, gufunc.AllFlags)
	_, _ = g.Add(gufunc.Kernel{Form: gufunc.GoLoop, Types: []alloc.Type{alloc.Float64,
		alloc.Float64}, Go: func(b gufunc.Block) int {
		for e := range b.N {
			best := *b.Float64At(0, e, 0)
			for i := range b.Dims[0] {
				best = max(best, *b.Float64At(0, e, i))
			}
			*b.Float64At(1, e) = best
		}
		return 0
	}})
	a, _ := grid.Of([]float64{1, 7, 3, 5, 2, 4}, 2, 3)
	x := gufunc.FromView(a.View())

	r, _ := g.Call([]gufunc.Array{x}, nil, gufunc.Options{})
	defer r.Free()
	fmt.Println(elements(r.Outputs[0]))
	// Output: [7 5]
}

// sqrt(x) / y + x in one pass, without memory for what is between.
func ExampleFuse() {
	sqrt, _ := kernels.New("sqrt")
	divide, _ := kernels.New("divide")
	add, _ := kernels.New("add")
	fused, err := gufunc.Fuse([]alloc.Type{alloc.Float64, alloc.Float64}, []gufunc.Step{
		sqrt.Step(0),      // gives value 2: x and y are 0 and 1
		divide.Step(2, 1), // value 3
		add.Step(3, 0),    // value 4
	}, []int{4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fused.Free()
	g, _ := gufunc.New("step", "(),()->()", []gufunc.Kernel{fused.Kernel()}, gufunc.AllFlags)
	x, _ := grid.Of([]float64{4, 9, 16}, 3)
	y, _ := grid.Of([]float64{1, 2, 4}, 3)

	r, _ := g.Call([]gufunc.Array{gufunc.FromView(x.View()), gufunc.FromView(y.View())}, nil,
		gufunc.Options{})
	defer r.Free()
	fmt.Println(elements(r.Outputs[0]))
	// Output: [6 10.5 17]
}

// A kernel that is registered can be had by its name from everywhere, Python included.
func ExampleRegister() {
	gufunc.Register(gufunc.Registered{Name: "mine.double", Signature: "()->()", Types: "d->d",
		Kernel: func(b gufunc.Block) int {
			for i := range b.N {
				*b.Float64(1, i) = 2 * *b.Float64(0, i)
			}
			return 0 // how many elements it marked in b.Status
		}})
	found, err := gufunc.Lookup("mine.double")
	fmt.Println(found.Signature, found.Types, err)
	// Output: ()->() d->d <nil>
}

func ExampleParseSignature() {
	_, err := gufunc.ParseSignature("(m,n),(n->(m)")
	fmt.Println(err)
	// Output:
	// signature: expected ',' or ')' after a dimension
	//     (m,n),(n->(m)
	//             ^
}
