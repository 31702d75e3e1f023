package arrayinterface_test

import (
	"fmt"

	"gridbuf/alloc"
	"gridbuf/arrayinterface"
)

// Check a dictionary that some Python object offers.
func ExampleParse() {
	d, err := arrayinterface.Parse(arrayinterface.Interface{
		Shape: []int64{2, 3}, Typestr: "<f4", Data: 0x1000, ReadOnly: true, Version: 3,
	})
	fmt.Println(d.Strides, d.Type.Typestr(), d.ReadOnly, err)
	_, err = arrayinterface.Parse(arrayinterface.Interface{
		Shape: []int64{2, 3}, Typestr: "<f4", Data: 0x1000, Strides: []int64{4}, Version: 3,
	})
	fmt.Println(err)
	// Output:
	// [12 4] <f4 true <nil>
	// strides: 1 entries for a shape of 2 dimensions; they must be as many
}

// The __array_interface__ of a buffer laid out for gt4py's gt:cpu_ifirst.
func ExampleDescribe() {
	preset, _ := alloc.FindPreset("gt:cpu_ifirst")
	plan, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 3, 2}, ItemSize: 8, Preset: preset})
	buffer, err := alloc.New(plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer buffer.Free()
	float64s, _ := arrayinterface.ParseTypestr("<f8")
	description, _ := arrayinterface.DescribePlan(plan, float64s, uintptr(buffer.Data()))
	dict, err := arrayinterface.Describe(description)
	fmt.Println(dict.Shape, dict.Typestr, dict.Strides, dict.Version,
		dict.Data == uintptr(buffer.Data()), err)
	// Output: [4 3 2] <f8 [8 32 96] 3 true <nil>
}

func ExampleParseTypestr() {
	for _, s := range []string{"<f8", "<U5", "<M8[25us]", "|O8"} {
		t, err := arrayinterface.ParseTypestr(s)
		fmt.Println(t.ItemSize, t.Unit, err)
	}
	// Output:
	// 8  <nil>
	// 20  <nil>
	// 8 25us <nil>
	// 0  typestr: "|O8" holds Python objects, which cannot be shared as memory
}
