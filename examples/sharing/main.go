// Command sharing allocates a field as gt4py's backend gt:cpu_ifirst wants it, fills it, offers it
// to a model in Python (model.py), and reads the result when the model has ended.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"

	"gridbuf/alloc"
	"gridbuf/share"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: sharing unix:PATH")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(address string) (err error) {
	heat, err := allocate()
	if err != nil {
		return err
	}
	defer heat.Free()
	server, err := share.Listen(context.Background(), address, share.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := server.Offer("heat", heat, share.ReadWrite); err != nil {
		return err
	}
	fmt.Println("offered at", address)
	if err := server.Wait(context.Background(), "heat"); err != nil { // until the model has ended
		return err
	}
	value, err := largest(heat)
	fmt.Printf("largest value: %.3f\n", value)
	return err
}

// allocate is a field of zeros with a hot column in the middle, and a halo of one point in I and J.
func allocate() (*share.Array, error) {
	preset, err := alloc.FindPreset("gt:cpu_ifirst")
	if err != nil {
		return nil, err
	}
	plan, err := alloc.NewPlan(&alloc.Spec{
		Shape: []int64{66, 66, 20}, ItemSize: 8, Preset: preset, AlignedIndex: []int64{1, 1, 0},
	})
	if err != nil {
		return nil, err
	}
	one := share.Halo{Before: 1, After: 1}
	heat, err := share.New(plan, alloc.Float64, one, one, share.Halo{})
	if err != nil {
		return nil, err
	}
	points, err := share.Grid[float64](heat)
	if err != nil {
		return nil, err
	}
	return heat, points.Index(0, 33).Index(0, 33).Fill(100)
}

func largest(heat *share.Array) (float64, error) {
	points, err := share.Grid[float64](heat)
	if err != nil {
		return 0, err
	}
	found := 0.0
	for row := range points.Domain().Rows() { // along I, where neighbours lie side by side
		found = max(found, slices.Max(row))
	}
	return found, nil
}
