package kernels

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/gufunc"
)

func array[T float32 | float64](t *testing.T, kind alloc.Type, shape ...int64) (gufunc.Array,
	[]T) {
	t.Helper()
	var zero T
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: shape, ItemSize: int64(unsafe.Sizeof(zero))})
	require.NoError(t, err)
	b, err := alloc.New(plan)
	require.NoError(t, err)
	t.Cleanup(b.Free)
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	a, err := gufunc.ArrayOf(b, kind)
	require.NoError(t, err)
	return a, unsafe.Slice((*T)(a.Data), n)
}

// Both sets of loops give inverses, for every size that has a loop of its own and
// beyond; matrix by matrix the same bits wherever it stands in the stack.
func testInverses[T float32 | float64](t *testing.T, kind alloc.Type, base bool,
	tolerance float64) {
	inv, err := newOf("inv", base)
	require.NoError(t, err)
	for n := int64(1); n <= 10; n++ {
		const count = 21
		a, in := array[T](t, kind, count, n, n)
		size := int(n * n)
		for i := range size {
			in[i] = T(rand.New(rand.NewSource(n + int64(i))).NormFloat64())
			if i%int(n+1) == 0 {
				in[i] += 4
			}
		}
		for e := 1; e < count; e++ {
			copy(in[e*size:(e+1)*size], in[:size])
		}
		r, err := inv.Call([]gufunc.Array{a}, nil, gufunc.Options{})
		require.NoError(t, err)
		require.True(t, r.AllGood())
		out := unsafe.Slice((*T)(r.Outputs[0].Data), count*size)
		for e := 1; e < count; e++ {
			require.Equal(t, out[:size], out[e*size:(e+1)*size], "n %d, matrix %d", n, e)
		}
		for i := range int(n) {
			for j := range int(n) {
				sum, unit := 0.0, 0.0
				for k := range int(n) {
					sum += float64(in[i*int(n)+k]) * float64(out[k*int(n)+j])
				}
				if i == j {
					unit = 1
				}
				require.InDelta(t, unit, sum, tolerance, "n %d", n)
			}
		}
		clear(in[size : 2*size])
		r.Free()
		r, err = inv.Call([]gufunc.Array{a}, nil, gufunc.Options{})
		require.NoError(t, err)
		assert.EqualValues(t, 1, r.Failed)
		assert.Equal(t, uint8(gufunc.CodeStatus), r.Codes[1])
		assert.True(t, math.IsNaN(float64(unsafe.Slice((*T)(r.Outputs[0].Data), count*size)[size])))
		r.Free()
	}
}

func TestBothSetsOfLoopsInvert(t *testing.T) {
	for _, base := range []bool{false, true} {
		t.Run(fmt.Sprint("base ", base), func(t *testing.T) {
			testInverses[float64](t, alloc.Float64, base, 1e-12)
			testInverses[float32](t, alloc.Float32, base, 1e-4)
		})
	}
}

// values are those of a packed array, as float64.
func values(t *testing.T, a gufunc.Array) []float64 {
	t.Helper()
	n := int64(1)
	for _, s := range a.Shape {
		n *= s
	}
	if a.Type == alloc.Float64 {
		return append([]float64(nil), unsafe.Slice((*float64)(a.Data), n)...)
	}
	require.Equal(t, alloc.Int64, a.Type)
	var all []float64
	for _, v := range unsafe.Slice((*int64)(a.Data), n) {
		all = append(all, float64(v))
	}
	return all
}

// Every loop of one set gives what that of the other gives, up to rounding: all that there are.
func TestTheSetsAgree(t *testing.T) {
	for _, name := range Names() {
		for n := int64(1); n <= 9; n++ {
			var results [2][][]float64
			for i, base := range []bool{false, true} {
				g, err := newOf(name, base)
				require.NoError(t, err)
				var inputs []gufunc.Array
				for k, core := range g.Signature.Operands[:g.Signature.Inputs] {
					shape := []int64{13}
					for _, u := range core.Dims {
						size := n
						if fixed := g.Signature.Dims[u.Dim].Size; fixed >= 0 {
							size = fixed
						}
						shape = append(shape, size)
					}
					a, items := array[float64](t, alloc.Float64, shape...)
					source := rand.New(rand.NewSource(n))
					for at := range items {
						items[at] = 0.1 + source.Float64()/10
						if len(shape) == 3 && at%int(n*n)%int(n+1) == 0 || name == "tridiagonal" &&
							k == 1 {
							items[at] += 3
						}
					}
					inputs = append(inputs, a)
				}
				r, err := g.Call(inputs, nil, gufunc.Options{})
				require.NoError(t, err)
				require.True(t, r.AllGood(), "%s %d", name, n)
				for _, out := range r.Outputs {
					results[i] = append(results[i], values(t, out))
				}
				r.Free()
			}
			for o := range results[0] {
				assert.InDeltaSlice(t, results[0][o], results[1][o], 1e-11, "%s %d", name, n)
			}
		}
	}
}

func TestThePageNamesEveryKernel(t *testing.T) {
	page, err := os.ReadFile("../../docs/gufuncs.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "## Built-in gufuncs")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	for _, name := range Names() {
		assert.Regexp(t, "`[a-z ]*\\b"+name+"\\b[a-z ]*`", table,
			"docs/gufuncs.md has no row for %s", name)
	}
}
