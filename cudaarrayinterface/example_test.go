package cudaarrayinterface_test

import (
	"fmt"

	"gridbuf/alloc"
	"gridbuf/arrayinterface"
	"gridbuf/cudaarrayinterface"
)

func ExampleParse() {
	d, err := cudaarrayinterface.Parse(cudaarrayinterface.Interface{
		Shape: []int64{2, 3}, Typestr: "<f4", Data: 0x7f0000000000, HasStream: true, Stream: 1,
		Version: 3,
	})
	fmt.Println(d.Strides, d.Stream == cudaarrayinterface.LegacyDefault, err)
	_, err = cudaarrayinterface.Parse(cudaarrayinterface.Interface{
		Shape: []int64{2, 3}, Typestr: "<f4", Data: 0x7f0000000000, HasStream: true, Stream: 0,
		Version: 3,
	})
	fmt.Println(err)
	// Output:
	// [12 4] true <nil>
	// stream: 0 is ambiguous; allowed are None, 1 (legacy default), 2 (per-thread default) and a pointer
}

// The __cuda_array_interface__ of device memory laid out for gt4py's gt:gpu.
func ExampleDescribe() {
	preset, _ := alloc.FindPreset("gt:gpu")
	plan, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 3, 2}, ItemSize: 8, Preset: preset})
	float64s, _ := arrayinterface.ParseTypestr("<f8")
	description, _ := cudaarrayinterface.DescribePlan(plan, float64s, 0x7f0000000000,
		cudaarrayinterface.NoStream)
	dict, err := cudaarrayinterface.Describe(description)
	fmt.Println(dict.Shape, dict.Typestr, dict.Strides, dict.HasStream, dict.Version, err)
	// Output: [4 3 2] <f8 [8 256 768] false 3 <nil>
}
