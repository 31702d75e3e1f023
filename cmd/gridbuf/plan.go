package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gridbuf/alloc"
	"gridbuf/internal/explain"
)

func runPlan(arguments []string, out io.Writer) error {
	o := newOptions("plan", "SHAPE...")
	shape, options := split(arguments)
	r, err := o.parse(shape, options)
	if err != nil {
		return err
	}
	if len(shape) == 0 {
		return errors.New("shape: none was given; it goes first: plan 128 128 80 --halo 3 3 0")
	}
	plan, err := alloc.NewPlan(&r.spec)
	if err != nil {
		return err
	}
	p := printer{out: out}
	p.line("%s %s of %s on %s", alloc.DimsString(plan.Dims()), explain.Tuple(plan.Shape()), r.dtype,
		where(plan))
	p.line("")
	for _, row := range indexTable(plan, r.halo) {
		p.line("%s", row)
	}
	p.line("")
	for line := range strings.Lines(plan.Explain().String()) {
		p.line("  %s", strings.TrimSuffix(line, "\n"))
	}
	return p.err
}

func where(p *alloc.Plan) string {
	text := p.Device().String()
	if p.Device() == alloc.GPU {
		text += " " + strconv.Itoa(p.DeviceID())
	}
	if p.Memory() != alloc.Plain {
		text += fmt.Sprintf(" (%s memory)", p.Memory())
	}
	return text
}

// indexTable has a column for each index.
func indexTable(p *alloc.Plan, halo [][2]int64) []string {
	rows := []struct {
		title string
		cell  func(i int) string
	}{
		{"index", func(i int) string { return p.Dims()[i].String() }},
		{"elements", func(i int) string { return explain.Grouped(p.Shape()[i]) }},
		{"padded to", func(i int) string { return explain.Grouped(p.PaddedShape()[i]) }},
		{"stride in bytes", func(i int) string { return explain.Grouped(p.Strides()[i]) }},
		{"place in memory", func(i int) string { return rank(int(p.Layout()[i]), len(p.Shape())) }},
		{"aligned element", func(i int) string { return fmt.Sprint(p.AlignedIndex()[i]) }},
		{"halo low, high", func(i int) string {
			return fmt.Sprintf("%d, %d", halo[i][0], halo[i][1])
		}},
	}
	if halo == nil {
		rows = rows[:len(rows)-1]
	}
	lines := make([]string, len(rows))
	for k, row := range rows {
		lines[k] = fmt.Sprintf("  %-16s", row.title)
	}
	for i := range p.Shape() {
		width := 0
		for _, row := range rows {
			width = max(width, len(row.cell(i)))
		}
		for k, row := range rows {
			lines[k] += fmt.Sprintf("  %*s", width, row.cell(i))
		}
	}
	return lines
}

func rank(rank, ndim int) string {
	switch {
	case ndim == 1:
		return "only"
	case rank == ndim-1:
		return "fastest"
	case rank == 0:
		return "slowest"
	case rank < 3:
		return [...]string{1: "second", 2: "third"}[rank]
	}
	return fmt.Sprintf("%dth", rank+1)
}
