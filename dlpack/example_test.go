package dlpack_test

import (
	"fmt"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/dlpack"
)

// A Go producer: allocate a field, fill it, hand it over. What the consumer gets is
// an ordinary DLManagedTensorVersioned; its deleter gives the memory back.
func ExampleExportBuffer() {
	preset, _ := alloc.FindPreset("gt:cpu_ifirst")
	plan, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 3, 2}, ItemSize: 8, Preset: preset})
	buffer, err := alloc.New(plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	elements := unsafe.Slice((*float64)(buffer.Data()), plan.Size())
	for i := range elements {
		elements[i] = float64(i) / 2
	}
	float64s, _ := dlpack.TypeOf('f', 8)
	managed, err := dlpack.ExportBuffer(buffer, float64s)
	if err != nil {
		fmt.Println(err)
		return
	}
	buffer.Free() // the tensor has a share of its own

	// From here on it is the consumer's, who calls its deleter.
	consumer := dlpack.FromPointer(managed.HandOver())
	defer consumer.Free()
	tensor, err := dlpack.Import(consumer)
	fmt.Println(tensor.DataType, tensor.Device, tensor.Shape, tensor.Strides, err)
	fmt.Println(tensor.Data == uintptr(unsafe.Pointer(&elements[0])), elements[5])
	// Output:
	// float64 cpu:0 [4 3 2] [8 32 96] <nil>
	// true 2.5
}

// A layout that DLPack has no words for is refused with the reason.
func ExampleExport() {
	_, err := dlpack.Export(dlpack.Tensor{
		Data: 4096, Device: dlpack.Device{Type: dlpack.CPU},
		DataType: dlpack.DataType{Code: dlpack.Float, Bits: 64, Lanes: 1},
		Shape:    []int64{10}, Strides: []int64{12}, // a column of a packed record
	}, dlpack.Owner{})
	fmt.Println(err)
	// Output: strides: entry 0 is 12 bytes, no multiple of the 8 bytes of float64; DLPack counts in items
}

func ExampleTypeOfTypestr() {
	for _, typestr := range []string{"<f8", "|b1", "<c16", "|V12"} {
		t, err := dlpack.TypeOfTypestr(typestr)
		fmt.Println(t, err)
	}
	// Output:
	// float64 <nil>
	// bool <nil>
	// complex128 <nil>
	// code 0, 0 bits, 0 lanes dtype: kind 'V' has no DLPack type; exportable are b, i, u, f and c, and the types of ml_dtypes by name
}

func ExampleTypeNamed() {
	t, err := dlpack.TypeNamed("bfloat16")
	fmt.Println(t, t.Bits, t.ItemSize(), err)
	// Output: bfloat16 16 2 <nil>
}
