package grid_test

import (
	"testing"

	"gridbuf/alloc"
	"gridbuf/grid"
)

func BenchmarkNewAndFree(b *testing.B) {
	spec := &alloc.Spec{Shape: []int64{10, 10, 10}}
	b.ReportAllocs()
	for b.Loop() {
		a, err := grid.New[float64](spec)
		if err != nil {
			b.Fatal(err)
		}
		a.Free()
	}
}

func BenchmarkAt(b *testing.B) {
	a := made[float64](b, "gt:cpu_ifirst", nil, 10, 10, 10)
	b.ReportAllocs()
	sum, n := 0.0, 0
	for b.Loop() {
		sum += a.At(n%10, 3, 4)
		n++
	}
	_ = sum
}

func BenchmarkRows(b *testing.B) {
	a := made[float64](b, "gt:cpu_ifirst", []int64{2, 2, 0}, 64, 64, 16)
	d := a.Domain()
	b.SetBytes(8 * d.Len())
	b.ReportAllocs()
	for b.Loop() {
		for row := range d.Rows() {
			for i := range row {
				row[i] = 1
			}
		}
	}
}

func BenchmarkFill1000(b *testing.B) {
	a := made[float64](b, "", nil, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Fill(1); err != nil {
			b.Fatal(err)
		}
	}
}
