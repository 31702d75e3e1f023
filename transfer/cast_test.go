package transfer

import (
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

// eachKernel runs a test with every set of kernels that this processor has.
func eachKernel(t *testing.T, test func(t *testing.T)) {
	before := kernels()
	defer func() { _ = useKernels(before) }()
	for _, name := range []string{"plain", "avx2", "avx512"} {
		if useKernels(name) == nil {
			t.Run(name, test)
		}
	}
}

// numbers are the types that copies convert.
var numbers = func() (all []alloc.Type) {
	for kind := alloc.Raw + 1; kind < 32; kind++ {
		if typeOf(kind) != 0 {
			all = append(all, kind)
		}
	}
	return all
}()

func typeNamed(t *testing.T, name string) alloc.Type {
	i := slices.IndexFunc(numbers, func(kind alloc.Type) bool { return kind.String() == name })
	require.GreaterOrEqual(t, i, 0, name)
	return numbers[i]
}

// testdata/casts.py wrote down what NumPy makes of each value.
func TestConversionsAreNumPys(t *testing.T) {
	text, err := os.ReadFile("testdata/casts.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 14*13)
	eachKernel(t, func(t *testing.T) {
		for _, line := range lines {
			fields := strings.Fields(line)
			from, to, cells := typeNamed(t, fields[0]), typeNamed(t, fields[1]), fields[2:]
			n := int64(len(cells))
			const repeat = 9 // so that vectors are filled whatever the number of values
			src, dst := mapped(t, int(repeat*n*from.Size())), mapped(t, int(repeat*n*to.Size()))
			want := make([][]byte, n)
			for i, cell := range cells {
				before, after, _ := strings.Cut(cell, ">")
				value, err := hex.DecodeString(before)
				require.NoError(t, err)
				want[i], err = hex.DecodeString(after)
				require.NoError(t, err)
				for r := range int64(repeat) {
					copy(src[(r*n+int64(i))*from.Size():], value)
				}
			}
			require.NoError(t, Copy(dense(dst, to, repeat*n), dense(src, from, repeat*n),
				Options{}))
			for i := range repeat * n {
				got := dst[i*to.Size() : (i+1)*to.Size()]
				assert.True(t, sameValue(to, want[i%n], got), "%v to %v: %s gave %x", from, to,
					cells[i%n], got)
			}
		}
	})
}

// A bool that is neither 0 nor 1, as a view of other memory can have, counts as true.
func TestBoolsAreTrueOrFalse(t *testing.T) {
	src, dst := mapped(t, 3), mapped(t, 12)
	copy(src, []byte{0, 2, 255})
	require.NoError(t, Copy(dense(dst, alloc.Int32, 3), dense(src, alloc.Bool, 3), Options{}))
	assert.Equal(t, []byte{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, dst)
}

func TestUnknownConversionsAreRefused(t *testing.T) {
	memory := mapped(t, 64)
	dst, src := dense(memory, alloc.Float64, 2), alloc.View{Data: base(memory[32:]), Type: alloc.Raw,
		ItemSize: 8, Shape: []int64{2}, Strides: []int64{8}}
	assert.ErrorContains(t, Copy(dst, src, Options{}),
		"src: elements of type raw do not convert to float64 of dst")
	src.ItemSize = -1
	assert.ErrorContains(t, Copy(dst, src, Options{}), "src: ItemSize -1")
	assert.ErrorContains(t, Copy(alloc.View{Type: 99}, src, Options{}), "dst: unknown element type 99")
	assert.ErrorContains(t, Copy(dst, dense(memory, alloc.Float64, 3), Options{}),
		"src: shape [3]; dst has [2]")
	assert.ErrorContains(t, Copy(alloc.View{Shape: []int64{-1}, Strides: []int64{8}, Type: alloc.Int8},
		src, Options{}), "dst: Shape[0] is -1")
	assert.ErrorContains(t, Fill(dst, "x", Options{}),
		"value: expected a number, or the bytes of an element of dst; got string")
	assert.ErrorContains(t, Fill(dst, []byte{1}, Options{}),
		"value: 1 bytes; an element of dst has 8")
}
