package exact

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/internal/work"
	"gridbuf/transfer"
)

var none transfer.Options

// doubles is memory that Go does not manage.
func doubles(t *testing.T, n int) []float64 {
	memory, err := syscall.Mmap(-1, 0, 8*n+8, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	return unsafe.Slice((*float64)(unsafe.Pointer(&memory[0])), n)
}

func row(x []float64, step int) alloc.View {
	n := (len(x) + step - 1) / step
	return alloc.View{Data: unsafe.Pointer(unsafe.SliceData(x)), Type: alloc.Float64,
		Shape: []int64{int64(n)}, Strides: []int64{int64(8 * step)}}
}

// precise is a big.Float in which sums and products of doubles are exact.
func precise(x float64) *big.Float { return new(big.Float).SetPrec(4400).SetFloat64(x) }

func bitsOf(x *big.Float) uint64 {
	value, _ := x.Float64()
	return math.Float64bits(value)
}

func TestEverySetOfKernelsIsExact(t *testing.T) {
	before := kernelsInUse()
	defer useKernels(before)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"plain", "avx2", "avx512"} {
		if !useKernels(name) {
			continue
		}
		for _, spread := range [][2]int{{0, 1}, {-40, 40}, {-300, 300}, {-1074, 1000},
			{-1074, -1010}, {-540, -480}, {480, 520}} {
			for _, n := range []int{1, 31, 700, 2048, 5000} {
				x, y := doubles(t, n), doubles(t, n)
				for i := range x {
					x[i] = math.Ldexp(2*rng.Float64()-1, spread[0]+rng.IntN(spread[1]-spread[0]))
					y[i] = math.Ldexp(2*rng.Float64()-1, spread[0]+rng.IntN(spread[1]-spread[0]))
				}
				for _, step := range []int{1, 3} {
					sum, products := precise(0), precise(0)
					for i := 0; i < n; i += step {
						sum.Add(sum, precise(x[i]))
						products.Add(products, new(big.Float).SetPrec(4400).Mul(precise(x[i]),
							precise(y[i])))
					}
					var s, p Sum
					require.NoError(t, s.Add(row(x, step), none))
					require.NoError(t, p.AddProducts(row(x, step), row(y, step), none))
					require.Equal(t, bitsOf(sum), math.Float64bits(s.Float64()),
						"%s: sum of %d with exponents %v", name, n, spread)
					require.Equal(t, bitsOf(products), math.Float64bits(p.Float64()),
						"%s: products of %d with exponents %v", name, n, spread)
				}
			}
		}
	}
}

func TestSpecialValues(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{inf, 1}, inf}, {[]float64{-inf, 1}, -inf},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, inf},
		{[]float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64}, math.MaxFloat64},
		{[]float64{math.SmallestNonzeroFloat64}, math.SmallestNonzeroFloat64},
	} {
		x := doubles(t, len(c.values))
		copy(x, c.values)
		var s Sum
		require.NoError(t, s.Add(row(x, 1), none))
		assert.Equal(t, c.want, s.Float64())
	}
	x := doubles(t, 2)
	copy(x, []float64{inf, -inf})
	var s Sum
	require.NoError(t, s.Add(row(x, 1), none))
	assert.True(t, math.IsNaN(s.Float64()))
}

func TestWhatCannotBeSummed(t *testing.T) {
	x := doubles(t, 4)
	var s Sum
	bad := row(x, 1)
	bad.Type = alloc.Complex64
	assert.ErrorContains(t, s.Add(bad, none), "x: elements of type")
	bad = row(x, 1)
	bad.Strides = nil
	assert.ErrorContains(t, s.Add(bad, none), "x: 1 dimensions and 0 strides")
	whole := row(x, 1)
	whole.Type = alloc.Int64
	assert.ErrorContains(t, s.AddProducts(row(x, 1), whole, none), "both floats or both integers")
	assert.ErrorContains(t, s.AddProducts(row(x, 1), row(x[:2], 1), none),
		"y: shape [2]; x has [4]")
	bad = row(x, 1)
	bad.Shape = []int64{-1}
	assert.ErrorContains(t, s.Add(bad, none), "x: Shape[0] is -1")
	bad = row(x, 1)
	bad.Data = nil
	assert.ErrorContains(t, s.Add(bad, none), "x: Data is nil, and shape [4] has elements")
	assert.ErrorContains(t, s.AddProducts(row(x, 1), bad, none), "y: Data is nil")
	bad = row(x, 1)
	bad.Type = 77
	assert.ErrorContains(t, s.Add(bad, none), "x: unknown element type 77")
	assert.Equal(t, Sum{}, s)
}

// A context is asked before the first piece and after every slice; the sum stays what it was.
func TestASumIsCancelled(t *testing.T) {
	x := doubles(t, 1<<20)
	for i := range x {
		x[i] = 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer func(before int64) { work.Slice = before }(work.Slice)
	work.Slice = 0
	var s Sum
	var seen []float64
	opts := transfer.Options{Context: ctx, Progress: func(done float64) {
		seen = append(seen, done)
		cancel()
	}}
	assert.ErrorIs(t, s.Add(row(x, 1), opts), context.Canceled)
	require.Len(t, seen, 1)
	assert.Less(t, seen[0], 1.0)
	assert.ErrorIs(t, s.AddProducts(row(x, 1), row(x, 1), opts), context.Canceled)
	assert.Len(t, seen, 1, "nothing has begun")
	assert.Equal(t, Sum{}, s)
}

func TestSumsOfProcessesAddUpWordByWord(t *testing.T) {
	x := doubles(t, 1000)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = math.Ldexp(2*rng.Float64()-1, rng.IntN(2000)-1000)
	}
	var whole, words Sum
	require.NoError(t, whole.Add(row(x, 1), none))
	for i := 0; i < len(x); i += 7 {
		var part Sum
		require.NoError(t, part.Add(row(x[i:min(i+7, len(x))], 1), none))
		for k := range words {
			words[k] += part[k]
		}
	}
	words.Merge(new(Sum))
	assert.Equal(t, whole, words)
}

func TestMemoryOfGo(t *testing.T) {
	numbers := []float64{1e16, 1, -1e16}
	view := alloc.View{
		Data: unsafe.Pointer(&numbers[0]), Type: alloc.Float64, ItemSize: 8,
		Shape: []int64{3}, Strides: []int64{8},
	}
	var sum, squares Sum
	require.NoError(t, sum.Add(view, transfer.Options{}))
	require.NoError(t, squares.AddProducts(view, view, transfer.Options{}))
	assert.Equal(t, 1.0, sum.Float64())
	assert.Equal(t, 2e32, squares.Float64())
}
