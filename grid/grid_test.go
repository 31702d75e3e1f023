package grid_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/dlpack"
	"gridbuf/grid"
	"gridbuf/transfer"
)

type Kelvin float64

func made[T grid.Element](
	t testing.TB, backend string, halo []int64, shape ...int64,
) *grid.Array[T] {
	t.Helper()
	spec := &alloc.Spec{Shape: shape}
	if backend != "" {
		preset, err := alloc.FindPreset(backend)
		require.NoError(t, err)
		spec.Preset = preset
	}
	a, err := grid.New[T](spec, halo...)
	require.NoError(t, err)
	t.Cleanup(a.Free)
	return a
}

// numbered sets every element to the number of its index in C order.
func numbered[T ~float64 | ~int32](a *grid.Array[T]) {
	shape := a.Shape()
	for index, row := range a.IndexedRows() {
		for k := range row {
			at := slices.Clone(index)
			if d := rowDim(a); d >= 0 {
				at[d] += k
			}
			n := 0
			for d, i := range at {
				n = n*int(shape[d]) + i
			}
			row[k] = T(n)
		}
	}
}

func rowDim[T grid.Element](a *grid.Array[T]) int {
	best := -1
	for d, s := range a.Strides() {
		n := a.Shape()[d]
		if s == grid.TypeOf[T]().Size() && n > 1 && (best < 0 || n > a.Shape()[best]) {
			best = d
		}
	}
	return best
}

func TestElementsByIndexAndByRows(t *testing.T) {
	alloc.Check(t)
	for _, backend := range []string{"", "gt:cpu_ifirst", "gt:cpu_kfirst", "gtmc"} {
		a := made[Kelvin](t, backend, []int64{2, 1, 0}, 7, 6, 5)
		assert.Equal(t, []int64{7, 6, 5}, a.Shape())
		assert.EqualValues(t, 210, a.Len())
		numbered(a)
		for i := range 7 {
			for j := range 6 {
				for k := range 5 {
					require.Equal(t, Kelvin((i*6+j)*5+k), a.At(i, j, k), "%s %d %d %d", backend,
						i, j, k)
				}
			}
		}
		a.Set(-1, 6, 5, 4)
		assert.Equal(t, Kelvin(-1), a.At(6, 5, 4))
		rows := 0
		for row := range a.Rows() {
			rows += len(row)
		}
		assert.Equal(t, 210, rows)
	}
}

// Views are compared with an index worked out by hand, on random chains of them.
func TestViewsAreThoseElements(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a := made[float64](t, "gt:cpu_ifirst", nil, 6, 5, 4, 3)
	numbered(a)
	for range 300 {
		v, index := a, make([]func([]int) []int, 0)
		for range r.IntN(4) {
			dims := len(v.Shape())
			if dims == 0 {
				break
			}
			d := r.IntN(dims)
			n := int(v.Shape()[d])
			switch r.IntN(3) {
			case 0:
				at := r.IntN(n)
				v = v.Index(d, at)
				index = append(index, func(i []int) []int {
					return slices.Insert(slices.Clone(i), d, at)
				})
			case 1:
				from := r.IntN(n)
				v = v.Slice(d, from, from+1+r.IntN(n-from))
				index = append(index, func(i []int) []int {
					i = slices.Clone(i)
					i[d] += from
					return i
				})
			case 2:
				order := r.Perm(dims)
				v = v.Transpose(order...)
				index = append(index, func(i []int) []int {
					old := make([]int, len(i))
					for to, from := range order {
						old[from] = i[to]
					}
					return old
				})
			}
		}
		at := make([]int, len(v.Shape()))
		for d, n := range v.Shape() {
			at[d] = r.IntN(int(n))
		}
		original := at
		for _, back := range slices.Backward(index) {
			original = back(original)
		}
		require.Equal(t, a.At(original...), v.At(at...))
		total := 0.0
		for row := range v.Rows() {
			for _, x := range row {
				total += x
			}
		}
		sum, err := v.Sum()
		require.NoError(t, err)
		require.Equal(t, sum, total)
	}
}

func TestDomainLeavesTheHaloOut(t *testing.T) {
	a := made[int32](t, "gt:cpu_ifirst", []int64{3, 2, 0}, 10, 9, 4)
	require.NoError(t, a.Fill(-1))
	d := a.Domain()
	assert.Equal(t, []int64{4, 5, 4}, d.Shape())
	assert.Nil(t, d.Halo())
	require.NoError(t, d.Fill(1))
	sum, err := a.Sum()
	require.NoError(t, err)
	assert.Equal(t, float64(80-(360-80)), sum)
	assert.Equal(t, int32(1), a.At(3, 2, 0))
	assert.Equal(t, int32(-1), a.At(2, 2, 0))
	assert.Zero(t, uintptr(d.View().Data)%64, "the domain starts a boundary")
	one, err := a.WithHalo(grid.Halo{Before: 1, After: 2}, grid.Halo{}, grid.Halo{})
	require.NoError(t, err)
	assert.Equal(t, []int64{7, 9, 4}, one.Domain().Shape())
	assert.Equal(t, []grid.Halo{{}, {Before: 1, After: 2}, {}}, one.Transpose(1, 0, 2).Halo())
	_, err = a.WithHalo(grid.Halo{Before: 5, After: 6}, grid.Halo{}, grid.Halo{})
	assert.ErrorIs(t, err, alloc.ErrInvalid)
	_, err = grid.New[float64](&alloc.Spec{Shape: []int64{3}}, 2)
	assert.ErrorContains(t, err, "halo: widths 2 and 2 do not fit 3 elements along dimension 0")
	_, err = grid.New[float64](&alloc.Spec{Shape: []int64{3, 4}}, 1)
	assert.ErrorContains(t, err, "halo: 1 widths for 2 dimensions")
}

func TestARowsIndexIsTheCallersToChange(t *testing.T) {
	a := made[float64](t, "", nil, 3, 4, 5)
	seen := make([][]int, 0)
	for index := range a.IndexedRows() {
		seen = append(seen, slices.Clone(index))
		index[0], index[1] = -1000000, 7
	}
	assert.Len(t, seen, 12)
	assert.Equal(t, []int{0, 1, 0}, seen[1])
	assert.Equal(t, []int{2, 3, 0}, seen[11])
}

// An array without elements may be without memory: no view of it has an address that is none.
func TestViewsOfNothingHaveNoAddress(t *testing.T) {
	empty := alloc.View{Type: alloc.Float64, Shape: []int64{0, 5}, Strides: []int64{40, 8}}
	a, err := grid.FromView[float64](empty, false)
	require.NoError(t, err)
	for _, v := range []*grid.Array[float64]{
		a.Index(1, 4), a.Slice(1, 2, 5), a.Transpose().Index(0, 3), a.Slice(0, 0, 0),
	} {
		assert.Nil(t, v.View().Data)
		assert.NoError(t, v.Fill(1))
	}
}

func TestCopiesConvertAndMayOverlap(t *testing.T) {
	a, b := made[float64](t, "", nil, 5, 4), made[int32](t, "gt:cpu_ifirst", nil, 5, 4)
	numbered(a)
	require.NoError(t, grid.Copy(b, a))
	assert.Equal(t, int32(11), b.At(2, 3))
	require.NoError(t, grid.Copy(a.Slice(0, 1, 5), a.Slice(0, 0, 4)))
	assert.Equal(t, 0.0, a.At(1, 0))
	assert.Equal(t, 15.0, a.At(4, 3))
	assert.ErrorIs(t, grid.Copy(b, a.Transpose()), alloc.ErrInvalid)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, a.Fill(7, transfer.Options{Context: ctx}), context.Canceled)
	assert.NotEqual(t, 7.0, a.At(0, 0))
	var none *grid.Array[float64]
	assert.ErrorContains(t, grid.Copy(none, a), "dst: it is nil")
	assert.ErrorContains(t, grid.Copy(a, none), "src: it is nil")
}

func TestGoSlicesAreWrapped(t *testing.T) {
	memory := make([]float64, 12)
	a, err := grid.Of(memory, 3, 4)
	require.NoError(t, err)
	require.NoError(t, a.Transpose().Fill(2))
	memory[5] = 40
	assert.Equal(t, 40.0, a.At(1, 1))
	sum, err := a.Sum()
	require.NoError(t, err)
	assert.Equal(t, 62.0, sum)
	host := made[float64](t, "gt:cpu_ifirst", nil, 3, 4)
	require.NoError(t, grid.Copy(host, a))
	assert.Equal(t, 40.0, host.At(1, 1))
	_, err = a.Export()
	assert.ErrorContains(t, err, "array: its memory is of a Go slice")
	for _, shape := range [][]int64{{3, 5}, {11}, {-3, -4}, {math.MaxInt64, 2}, {0}, {}} {
		_, err = grid.Of(memory, shape...)
		assert.ErrorIs(t, err, alloc.ErrInvalid, shape)
	}
	nothing, err := grid.Of([]float64{}, 0, 1<<40)
	require.NoError(t, err)
	for range nothing.Rows() {
		t.Error("a row of nothing")
	}
	scalar, err := grid.Of([]bool{true})
	require.NoError(t, err)
	assert.True(t, scalar.At())
	count, err := scalar.Sum()
	require.NoError(t, err)
	assert.Equal(t, 1.0, count)
	most := slices.Repeat([]int64{1}, alloc.MaxViewDims)
	_, err = grid.Of(memory[:1], most...)
	assert.NoError(t, err)
	_, err = grid.Of(memory[:1], append(most, 1)...)
	assert.ErrorContains(t, err, "shape: 65 dimensions; at most 64 are allowed")
}

func TestTensorsThereAndBack(t *testing.T) {
	alloc.Check(t)
	a := made[float64](t, "gt:cpu_ifirst", []int64{1, 1, 0}, 6, 5, 4)
	numbered(a)
	tensor, err := a.Domain().Tensor()
	require.NoError(t, err)
	assert.Equal(t, []int64{4, 3, 4}, tensor.Shape)
	m, err := a.Domain().Export()
	require.NoError(t, err)
	b, err := grid.FromTensor[float64](m)
	require.NoError(t, err)
	assert.Equal(t, a.At(1, 1, 0), b.At(0, 0, 0))
	b.Set(-5, 3, 2, 3)
	assert.Equal(t, -5.0, a.At(4, 3, 3))
	a.Free()
	assert.Equal(t, -5.0, b.At(3, 2, 3), "the consumer's share keeps the memory")
	b.Free()
	b.Free()
}

func TestTensorsAreChecked(t *testing.T) {
	a := made[float64](t, "", nil, 3)
	m, err := a.Export()
	require.NoError(t, err)
	defer m.Free()
	_, err = grid.FromTensor[int64](m)
	assert.ErrorIs(t, err, alloc.ErrType)
	_, err = grid.FromTensor[float64](nil)
	assert.ErrorContains(t, err, "tensor: it is nil")
	_, err = grid.FromTensor[float64](dlpack.FromPointer(nil))
	assert.ErrorIs(t, err, alloc.ErrInvalid)
	tensor, err := a.Tensor()
	require.NoError(t, err)
	tensor.Flags = dlpack.ReadOnly
	locked, err := dlpack.ExportShared(tensor, a.Buffer())
	require.NoError(t, err)
	b, err := grid.FromTensor[float64](locked)
	require.NoError(t, err)
	defer b.Free()
	const readOnly = "grid.Array: Set on read-only memory"
	assert.PanicsWithValue(t, readOnly, func() { b.Set(1, 0) })
	assert.ErrorIs(t, b.Fill(1), alloc.ErrInvalid)
	assert.ErrorIs(t, grid.Copy(b, a), alloc.ErrInvalid)
	tensor.Data += 4
	tensor.Shape = []int64{2}
	misaligned, err := dlpack.ExportShared(tensor, a.Buffer())
	require.NoError(t, err)
	defer misaligned.Free()
	_, err = grid.FromTensor[float64](misaligned)
	assert.ErrorContains(t, err, "tensor: its elements are not aligned to 8 bytes")
}

func TestWrongUsePanicsWithASentence(t *testing.T) {
	a := made[float64](t, "", nil, 3, 4)
	const outside = "grid.Array: index [3 0] is outside of shape [3 4]"
	assert.PanicsWithValue(t, outside, func() { a.At(3, 0) })
	assert.Panics(t, func() { a.At(0, -1) })
	assert.Panics(t, func() { a.At(0) })
	assert.Panics(t, func() { a.Slice(2, 0, 1) })
	assert.Panics(t, func() { a.Slice(0, 2, 1) })
	assert.Panics(t, func() { a.Slice(0, 0, 4) })
	assert.Panics(t, func() { a.Index(1, 4) })
	assert.Panics(t, func() { a.Transpose(0, 0) })
	assert.Panics(t, func() { a.Transpose(0) })
	v := a.Index(0, 1)
	a.Free()
	const freed = "grid.Array: it is used after Free"
	for _, use := range []func(){
		func() { a.At(0, 0) }, func() { v.Set(1, 0) }, func() { _ = v.Fill(1) },
		func() { _, _ = v.Sum() }, func() { v.View() }, func() { v.Transpose() },
		func() { _, _ = v.Export() },
		func() {
			for range v.Rows() {
			}
		},
	} {
		assert.PanicsWithValue(t, freed, use)
	}
}

func TestSpecsAreChecked(t *testing.T) {
	_, err := grid.New[float64](nil)
	assert.ErrorContains(t, err, "spec: it is nil")
	_, err = grid.New[float64](&alloc.Spec{Shape: []int64{3}, ItemSize: 4})
	assert.ErrorContains(t, err, "spec: ItemSize is 4; float64 has 8 bytes")
	_, err = grid.New[float64](&alloc.Spec{Shape: []int64{-3}})
	assert.ErrorIs(t, err, alloc.ErrInvalid)
	_, err = grid.New[float64](&alloc.Spec{Shape: []int64{3}, Device: alloc.GPU})
	assert.ErrorIs(t, err, alloc.ErrUnavailable)
	_, err = made[complex128](t, "", nil, 3).Sum()
	assert.ErrorIs(t, err, alloc.ErrInvalid)
}

// FuzzOf holds shapes against the elements there are.
func FuzzOf(f *testing.F) {
	f.Add(12, int64(3), int64(4))
	f.Add(0, int64(1)<<62, int64(0))
	f.Add(1, int64(math.MaxInt64), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, n int, rows, columns int64) {
		a, err := grid.Of(make([]int16, uint(n)%1000), rows, columns)
		if err != nil {
			return
		}
		count := 0
		for row := range a.Transpose().Rows() {
			count += len(row)
		}
		assert.Equal(t, int(uint(n)%1000), count)
	})
}
