package alloc_test

import (
	"fmt"
	"strings"

	"gridbuf/alloc"
)

// The layout that gt4py's gt:cpu_ifirst backend wants: I is contiguous, and the
// first point inside the halo sits on a 64-byte boundary.
func ExampleNewPlan() {
	preset, _ := alloc.FindPreset("gt:cpu_ifirst")
	plan, err := alloc.NewPlan(&alloc.Spec{
		Shape: []int64{128, 128, 80}, ItemSize: 8, Preset: preset, AlignedIndex: []int64{3, 3, 0},
	})
	fmt.Println(plan, err)
	// Output: Plan(IJK [128 128 80] of 8 bytes, strides=[8 1024 131072], aligned_index=[3 3 0], byte_alignment=64, 10772480 bytes reserved, cpu) <nil>
}

func ExampleNew() {
	preset, _ := alloc.FindPreset("F")
	plan, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 4}, ItemSize: 4, Preset: preset})
	buffer, err := alloc.New(plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer buffer.Free()
	buffer.Bytes()[0] = 1
	fmt.Println(plan.Strides(), uintptr(buffer.Data())%64, len(buffer.Bytes()))
	// Output: [4 16] 0 64
}

// Whatever is not said has its default: C order on the host, without padding.
func ExampleSpec() {
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 3}, ItemSize: 8})
	fmt.Println(plan.Strides(), plan.ByteAlignment(), err)
	// Output: [24 8] 64 <nil>
}

func ExampleRegister() {
	err := alloc.Register(alloc.Preset{Name: "mine", Axes: "JIK", Alignment: 4})
	if err != nil {
		fmt.Println(err)
	}
	mine, _ := alloc.FindPreset("mine")
	_, err = alloc.FindPreset("yours")
	fmt.Println(mine.Axes,
		strings.Contains(err.Error(), `"yours" is not known; known are C, F, cuda,`))
	// Output: JIK true
}

// Print a layout as `python -m gridbuf plan` does.
func ExamplePlan_Explain() {
	preset, _ := alloc.FindPreset("gtmc")
	plan, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{12, 12, 70}, ItemSize: 8, Preset: preset,
		AlignedIndex: []int64{2, 2, 0}})
	fmt.Println(plan.Explain())
	// Output:
	// order      J, K, I from slowest to fastest: neighbours along I lie side by side
	// padding    4 at the end of each row along I: 16 elements = 128 bytes a row
	// alignment  element (2, 2, 0) starts on a 64-byte boundary; element (0, 0, 0) 48 bytes after one
	//            and so does that element of every row
	// bytes       80,640  elements (78.8 KiB)
	//             26,880  padding between them (33.3 %)
	//              7,168  around them, for alignment and rounding
	//            114,688  reserved
}
