package main

import (
	"fmt"
	"io"
	"runtime"

	"gridbuf/alloc"
	"gridbuf/cuda"
	"gridbuf/transfer"
)

func runPresets(arguments []string, out io.Writer) error {
	if err := none("presets", arguments); err != nil {
		return err
	}
	p := printer{out: out}
	for _, name := range alloc.Presets() {
		preset, err := alloc.FindPreset(name)
		if err != nil {
			return err
		}
		order := preset.Order.String()
		if preset.Order == alloc.ByName {
			order = preset.Axes + ", the largest stride first"
		}
		p.line("%-20s %-28s rows of %d items on %v", name, order, max(preset.Alignment, 1),
			max(preset.Device, alloc.CPU))
	}
	return p.err
}

func runDevices(arguments []string, out io.Writer) error {
	if err := none("devices", arguments); err != nil {
		return err
	}
	p := printer{out: out}
	p.line("cpu    %d cores may be used, %d threads share large work", runtime.NumCPU(),
		transfer.NumThreads())
	n, err := cuda.Devices()
	if err != nil {
		p.line("gpu    none: %v", err)
	}
	for i := range n {
		d, err := cuda.Describe(i)
		if err != nil {
			return fmt.Errorf("gpu %d: %w", i, err)
		}
		p.line("gpu %d  %s, compute capability %d.%d, %d of %d MiB free, CUDA %d.%d", i, d.Name,
			d.Major, d.Minor, d.Free>>20, d.Total>>20, d.DriverVersion/1000,
			d.DriverVersion%1000/10)
	}
	return p.err
}
