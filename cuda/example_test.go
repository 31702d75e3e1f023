package cuda_test

import (
	"context"
	"fmt"

	"gridbuf/alloc"
	"gridbuf/cuda"
	"gridbuf/grid"
)

// A grid laid out for the GPU, filled from one of the host on a stream of its own.
func Example() {
	host, err := grid.New[float64](&alloc.Spec{Shape: []int64{4, 3, 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Free()
	host.Set(7, 3, 2, 1)
	stream, err := cuda.NewStream(0)
	if err != nil {
		fmt.Println(err) // "there is no CUDA driver on this machine: ..."
		return
	}
	defer cuda.FreeStream(0, stream)
	queue := cuda.Queue{Stream: stream}
	gpu, err := onGPU("gt:gpu", host.Shape(), queue)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gpu.Block.Free()

	fmt.Println(cuda.CopyStrided(context.Background(), gpu, cuda.HostSide(host.View()), host.Shape()))
	event, err := queue.Record()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer event.Free()
	fmt.Println(event.Wait(context.Background())) // host may be written again

	host.Set(0, 3, 2, 1)
	fmt.Println(cuda.CopyStrided(context.Background(), cuda.HostSide(host.View()), gpu, host.Shape()))
	fmt.Println(cuda.Synchronize(context.Background(), 0), host.At(3, 2, 1))
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// <nil> 7
}

func onGPU(preset string, shape []int64, queue cuda.Queue) (cuda.Side, error) {
	backend, err := alloc.FindPreset(preset)
	if err != nil {
		return cuda.Side{}, err
	}
	plan, err := alloc.NewPlan(&alloc.Spec{
		Shape: shape, ItemSize: 8, Preset: backend, Device: alloc.GPU,
	})
	if err != nil {
		return cuda.Side{}, err
	}
	return cuda.AllocPlan(plan, alloc.Float64, queue)
}

// Elements change places within the GPU, here from C order into Fortran order.
func ExampleQueue_Relayout() {
	shape := []int64{2, 3}
	host, _ := grid.Of([]float64{1, 2, 3, 4, 5, 6}, shape...)
	queue := cuda.Queue{}
	a, err := onGPU("C", shape, queue)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Block.Free()
	b, err := onGPU("F", shape, queue)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Block.Free()

	here, _ := grid.New[float64](&alloc.Spec{Shape: shape}) // memory of C, which copies may keep
	defer here.Free()
	_ = grid.Copy(here, host)
	_ = cuda.CopyStrided(context.Background(), a, cuda.HostSide(here.View()), shape)
	fmt.Println(queue.Relayout(b.View, a.View, shape, 8))
	_ = here.Fill(0)
	_ = cuda.CopyStrided(context.Background(), cuda.HostSide(here.View()), b, shape)
	fmt.Println(cuda.Synchronize(context.Background(), 0), b.Strides, here.At(0, 2), here.At(1, 0))
	// Output:
	// <nil>
	// <nil> [8 16] 3 4
}
