// Package allocators_test measures gridbuf's heap beside other ways of a Go program to memory:
//
//	make bench-go
//
// It is a module of its own, so that gridbuf's has no dependency on those others.
package allocators_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"

	"gridbuf/alloc"
	"gridbuf/exact"
	"gridbuf/grid"
	"gridbuf/transfer"
)

// allocator takes memory for doubles, and gives back what was taken last.
type allocator interface {
	take() []float64
	give()
}

type ofGridbuf struct {
	plan   *alloc.Plan
	buffer *alloc.Buffer
}

func (g *ofGridbuf) take() []float64 {
	g.buffer, _ = alloc.New(g.plan)
	return doubles(g.buffer.Data(), g.plan.Size())
}

func (g *ofGridbuf) give() { g.buffer.Free() }

type ofMake struct{ n int }

func (m ofMake) take() []float64 { return make([]float64, m.n) }
func (ofMake) give()             {}

type ofArrow struct {
	memory.Allocator
	n     int
	bytes []byte
}

func (a *ofArrow) take() []float64 {
	a.bytes = a.Allocate(8 * a.n)
	return doubles(unsafe.Pointer(unsafe.SliceData(a.bytes)), int64(a.n))
}

func (a *ofArrow) give() { a.Free(a.bytes) }

func doubles(at unsafe.Pointer, n int64) []float64 { return unsafe.Slice((*float64)(at), n) }

var sizes = []int{1_000, 1_000_000} // 8 kB and 8 MB

// BenchmarkAllocate takes memory and gives it back. The others zero theirs; gridbuf's contents are
// undefined.
func BenchmarkAllocate(b *testing.B) { each(b, func(elements []float64) { sink = elements }) }

// BenchmarkAllocateAndWrite writes every element as well, as a program does.
func BenchmarkAllocateAndWrite(b *testing.B) {
	each(b, func(elements []float64) {
		for i := range elements {
			elements[i] = 1
		}
		sink = elements
	})
}

func each(b *testing.B, use func(elements []float64)) {
	for _, n := range sizes {
		plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{int64(n)}, ItemSize: 8})
		if err != nil {
			b.Fatal(err)
		}
		for _, from := range []struct {
			name string
			allocator
		}{
			{"gridbuf", &ofGridbuf{plan: plan}},
			{"make", ofMake{n}},
			{"arrow.GoAllocator", &ofArrow{Allocator: memory.NewGoAllocator(), n: n}},
			{"arrow.Mallocator", &ofArrow{Allocator: mallocator.NewMallocator(), n: n}},
		} {
			b.Run(fmt.Sprintf("%dkB/%s", n/125, from.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					use(from.take())
					from.give()
				}
			})
		}
	}
	sink = nil
}

var (
	sink []float64
	sum  float64
)

// BenchmarkPlan works out a layout.
func BenchmarkPlan(b *testing.B) {
	preset, err := alloc.FindPreset("gt:cpu_ifirst")
	if err != nil {
		b.Fatal(err)
	}
	spec := &alloc.Spec{
		Shape: []int64{20, 10, 5}, ItemSize: 8, Preset: preset, AlignedIndex: []int64{2, 2, 0},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := alloc.NewPlan(spec); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWork has calls over 1 000 and 1 000 000 doubles beside plain loops of Go.
func BenchmarkWork(b *testing.B) {
	for _, n := range sizes {
		from, to := view(b, n), view(b, n)
		source, target := make([]float64, n), make([]float64, n)
		for _, work := range []struct {
			name string
			run  func() error
		}{
			{"copy/gridbuf", func() error {
				return transfer.Copy(to, from, transfer.Options{})
			}},
			{"copy/go", func() error { copy(target, source); return nil }},
			{"fill/gridbuf", func() error { return transfer.Fill(to, 2.0, transfer.Options{}) }},
			{"fill/go", func() error {
				for i := range target {
					target[i] = 2
				}
				return nil
			}},
			{"sum/gridbuf, rounded once", func() error {
				var s exact.Sum
				err := s.Add(from, transfer.Options{})
				sum = s.Float64()
				return err
			}},
			{"sum/go", func() error {
				sum = 0
				for _, x := range source {
					sum += x
				}
				return nil
			}},
		} {
			b.Run(fmt.Sprintf("%dkB/%s", n/125, work.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := work.run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// view is an array of ones.
func view(b *testing.B, n int) alloc.View {
	a, err := grid.New[float64](&alloc.Spec{Shape: []int64{int64(n)}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(a.Free)
	if err := a.Fill(1); err != nil {
		b.Fatal(err)
	}
	return a.View()
}
