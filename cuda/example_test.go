package cuda_test

import (
	"fmt"

	"gridbuf/alloc"
	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
	"gridbuf/grid"
)

// Upload a pinned buffer, asynchronously, and learn when it may be written again.
func Example() {
	stream, err := cuda.NewStream(0)
	if err != nil {
		fmt.Println(err) // "there is no CUDA driver on this machine: ..."
		return
	}
	defer cuda.DestroyStream(0, stream)
	host, _ := cuda.Alloc(cuda.Request{Kind: cuda.Pinned, Span: 1 << 20})
	defer host.Free()
	device, _ := cuda.Alloc(cuda.Request{Kind: cuda.DeviceMemory, Span: 1 << 20, Boundary: 256,
		Stream: stream})
	defer device.Free()

	copy(faketest.Host(host.Address(), 1<<20), "hello")
	queue := cuda.Queue{Stream: stream}
	_ = queue.Copy(cuda.Upload, device.Address(), host.Address(), 1<<20)
	_ = host.RecordUse(queue) // its memory is not used again before the copy is done
	event, _ := queue.Record()
	defer event.Free()
	done, err := event.Wait(1e9)
	fmt.Println(done, err)
	fmt.Println(string(faketest.Look(device.Address(), 5)))
	// Output:
	// true <nil>
	// hello
}

func ExampleQueue_Relayout() {
	rows, columns := int64(2), int64(3)
	a, _ := cuda.Alloc(cuda.Request{Span: 48})
	defer a.Free()
	b, _ := cuda.Alloc(cuda.Request{Span: 48})
	defer b.Free()
	copy(faketest.Look(a.Address(), 6), "abcdef")
	c, f := []int64{columns, 1}, []int64{1, rows}
	err := cuda.Queue{}.Relayout(cuda.View{Data: b.Address(), Strides: f},
		cuda.View{Data: a.Address(), Strides: c}, []int64{rows, columns}, 1)
	fmt.Println(string(faketest.Look(b.Address(), 6)), err)
	// Output: adbecf <nil>
}

// A grid laid out for the GPU, filled from one of the host.
func ExampleAllocPlan() {
	host, err := grid.New[float64](&alloc.Spec{Shape: []int64{4, 3, 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Free()
	host.Set(7, 3, 2, 1)
	preset, _ := alloc.FindPreset("gt:gpu")
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: host.Shape(), ItemSize: 8, Preset: preset})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu, err := cuda.AllocPlan(plan, alloc.Float64, cuda.Queue{})
	if err != nil {
		fmt.Println(err) // "there is no CUDA driver on this machine: ..."
		return
	}
	defer gpu.Block.Free()
	fmt.Println(cuda.CopyStrided(gpu, cuda.HostSide(host.View()), host.Shape()))
	host.Set(0, 3, 2, 1)
	fmt.Println(cuda.CopyStrided(cuda.HostSide(host.View()), gpu, host.Shape()))
	fmt.Println(cuda.Synchronize(0), host.At(3, 2, 1))
	// Output:
	// <nil>
	// <nil>
	// <nil> 7
}
