package alloc_test

import (
	"fmt"

	"gridbuf/alloc"
)

// The layout that gt4py's gt:cpu_ifirst backend wants: I is contiguous, and the
// first point inside the halo sits on a 64-byte boundary.
func ExampleNewPlan() {
	number, _ := alloc.PresetNumber("gt:cpu_ifirst")
	preset, _ := alloc.PresetByNumber(number)
	plan, err := alloc.NewPlan(&alloc.Spec{
		Shape: []int64{128, 128, 80}, ItemSize: 8, Preset: preset,
		AlignedIndex: []int64{3, 3, 0}, Padding: alloc.PadAsPreset,
	})
	fmt.Println(plan.Strides, plan.Offset, plan.ByteAlignment, err)
	// Output: [8 1024 131072] 40 64 <nil>
}

func ExampleNew() {
	number, _ := alloc.PresetNumber("F")
	preset, _ := alloc.PresetByNumber(number)
	plan, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 4}, ItemSize: 4, Preset: preset})
	buffer, err := alloc.New(plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer buffer.Free()
	buffer.Bytes()[0] = 1
	fmt.Println(plan.Strides, uintptr(buffer.Data())%64, len(buffer.Bytes()))
	// Output: [4 16] 0 64
}

func ExampleRegister() {
	alloc.Register(alloc.Preset{Name: "mine", Axes: "JIK", Alignment: 4})
	_, err := alloc.PresetNumber("yours")
	fmt.Println(err)
	// Output: backend: "yours" is not known; known are C, F, cuda, dace:cpu, dace:cpu_KJI, dace:cpu_kfirst, dace:gpu, dace:gpu_IJK, debug, gt:cpu_ifirst, gt:cpu_kfirst, gt:gpu, gtcuda, gtmc, gtx86, mine, numpy
}
