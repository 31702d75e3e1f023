package alloc_test

import (
	"testing"

	"gridbuf/alloc"
)

func field(b *testing.B) *alloc.Spec {
	b.Helper()
	preset, err := alloc.FindPreset("gt:cpu_ifirst")
	if err != nil {
		b.Fatal(err)
	}
	return &alloc.Spec{
		Shape: []int64{20, 10, 5}, ItemSize: 8, Preset: preset, AlignedIndex: []int64{2, 2, 0},
	}
}

func BenchmarkNewPlan(b *testing.B) {
	spec := field(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := alloc.NewPlan(spec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFindPreset(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := alloc.FindPreset("gt:cpu_ifirst"); err != nil {
			b.Fatal(err)
		}
	}
}

// 8 kB, to compare with make([]float64, 1000).
func BenchmarkNewAndFree(b *testing.B) {
	plan, err := alloc.NewPlan(field(b))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		buffer, err := alloc.New(plan)
		if err != nil {
			b.Fatal(err)
		}
		buffer.Free()
	}
}

func BenchmarkMake(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sink = make([]float64, 1000)
	}
}

var sink []float64
