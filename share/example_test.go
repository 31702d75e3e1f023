package share_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"gridbuf/alloc"
	"gridbuf/share"
)

// A server offers a field; a client, most often of another process, writes into it and frees it.
func Example() {
	folder, err := os.MkdirTemp("", "ocean")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	address := "unix:" + filepath.Join(folder, "s")
	server, err := share.Listen(context.Background(), address, share.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	heat, err := field("gt:cpu_ifirst", 12, 10, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer heat.Free()
	if err := server.Offer("heat", heat, share.ReadWrite); err != nil {
		fmt.Println(err)
		return
	}
	if err := client(address); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(server.Wait(context.Background(), "heat")) // the client has freed the array
	seen, err := share.Grid[float64](heat)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(seen.At(3, 4, 5))
	// Output:
	// <nil>
	// 34.5
}

func field(backend string, shape ...int64) (*share.Array, error) {
	preset, err := alloc.FindPreset(backend)
	if err != nil {
		return nil, err
	}
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: shape, ItemSize: 8, Preset: preset})
	if err != nil {
		return nil, err
	}
	return share.New(plan, alloc.Float64)
}

func client(address string) error {
	heat, err := share.Attach(context.Background(), address, "heat", share.ReadWrite)
	if err != nil {
		return err
	}
	defer heat.Free()
	points, err := share.Grid[float64](heat)
	if err != nil {
		return err
	}
	return points.Fill(34.5)
}
