package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/transfer"
)

// doubles is memory that Go does not manage.
func doubles(t *testing.T, n int) []float64 {
	memory, err := syscall.Mmap(-1, 0, 8*n+8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	return unsafe.Slice((*float64)(unsafe.Pointer(&memory[0])), n)
}

func row(x []float64, step int) transfer.View {
	n := (len(x) + step - 1) / step
	return transfer.View{Data: unsafe.Pointer(unsafe.SliceData(x)), Type: transfer.Float64, Shape: []int64{int64(n)}, Strides: []int64{int64(8 * step)}}
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
		for _, spread := range [][2]int{{0, 1}, {-40, 40}, {-300, 300}, {-1074, 1000}, {-1074, -1010}, {-540, -480}, {480, 520}} {
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
						products.Add(products, new(big.Float).SetPrec(4400).Mul(precise(x[i]), precise(y[i])))
					}
					var s, p Sum
					require.NoError(t, s.Add(row(x, step)))
					require.NoError(t, p.AddProducts(row(x, step), row(y, step)))
					require.Equal(t, bitsOf(sum), math.Float64bits(s.Float64()), "%s: sum of %d with exponents %v", name, n, spread)
					require.Equal(t, bitsOf(products), math.Float64bits(p.Float64()), "%s: products of %d with exponents %v", name, n, spread)
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
		{nil, 0}, {[]float64{inf, 1}, inf}, {[]float64{-inf, 1}, -inf}, {[]float64{math.MaxFloat64, math.MaxFloat64}, inf},
		{[]float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64}, math.MaxFloat64}, {[]float64{math.SmallestNonzeroFloat64}, math.SmallestNonzeroFloat64},
	} {
		x := doubles(t, len(c.values))
		copy(x, c.values)
		var s Sum
		require.NoError(t, s.Add(row(x, 1)))
		assert.Equal(t, c.want, s.Float64())
	}
	x := doubles(t, 2)
	copy(x, []float64{inf, -inf})
	var s Sum
	require.NoError(t, s.Add(row(x, 1)))
	assert.True(t, math.IsNaN(s.Float64()))
}

func TestWhatCannotBeSummed(t *testing.T) {
	x := doubles(t, 4)
	var s Sum
	bad := row(x, 1)
	bad.Type = transfer.Complex64
	assert.ErrorContains(t, s.Add(bad), "x: elements of type")
	bad = row(x, 1)
	bad.Strides = nil
	assert.ErrorContains(t, s.Add(bad), "x: 1 sizes and 0 strides")
	whole := row(x, 1)
	whole.Type = transfer.Int64
	assert.ErrorContains(t, s.AddProducts(row(x, 1), whole), "both floats or both integers")
	assert.ErrorContains(t, s.AddProducts(row(x, 1), row(x[:2], 1)), "y: shape [2]; x has [4]")
	bad = row(x, 1)
	bad.Shape = []int64{-1}
	assert.ErrorContains(t, s.Add(bad), "negative sizes")
	assert.Equal(t, Sum{}, s)
}

func TestSumsOfProcessesAddUpWordByWord(t *testing.T) {
	x := doubles(t, 1000)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = math.Ldexp(2*rng.Float64()-1, rng.IntN(2000)-1000)
	}
	var whole, words Sum
	require.NoError(t, whole.Add(row(x, 1)))
	for i := 0; i < len(x); i += 7 {
		var part Sum
		require.NoError(t, part.Add(row(x[i:min(i+7, len(x))], 1)))
		for k := range words {
			words[k] += part[k]
		}
	}
	words.Merge(new(Sum))
	assert.Equal(t, whole, words)
}
