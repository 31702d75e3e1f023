package gufunc_test

import (
	"fmt"
	"gridbuf/alloc"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/gufunc"
)

func TestSignaturesThatParse(t *testing.T) {
	cases := map[string]struct {
		inputs, outputs int
		dims            []string
	}{
		"()->()":                          {1, 1, nil},
		"->()":                            {0, 1, nil},
		"(m,n),(n)->(m)":                  {2, 1, []string{"m", "n"}},
		" ( n? , k ) , (k,m?)->(n?,m?)  ": {2, 1, []string{"n", "k", "m"}},
		"(m),(n)->((m+n)/2,(m)+1)":        {2, 1, []string{"m", "n", "(m+n)/2", "m+1"}},
		"(3),(3)->(3)":                    {2, 1, []string{"3"}},
		"(n|1),(n)->()":                   {2, 1, []string{"n"}},
		"(m),(n)->(m+n-1)":                {2, 1, []string{"m", "n", "m+n-1"}},
		"(n)->(),() ; k:i64, tol:f64":     {1, 2, []string{"n"}},
	}
	for text, want := range cases {
		s, err := gufunc.ParseSignature(text)
		require.NoError(t, err, text)
		assert.Equal(t, want.inputs, s.Inputs, text)
		assert.Equal(t, want.outputs, s.Outputs(), text)
		var dims []string
		for _, d := range s.Dims {
			dims = append(dims, d.Name)
		}
		assert.Equal(t, want.dims, dims, text)
	}
}

func TestErrorsPointAtThePlace(t *testing.T) {
	for text, at := range map[string]int{"(n": 2, "(n)(m)->()": 3, "(n)->": 5, "(n)->() ; k": 11,
		"(n+1)->()": 1, "(n?),(n)->()": 6, "(0)->()": 1,
		"((n))->()": 1, "(n)->((n))": 6, "((3))->()": 1, "(n ?)->()": 3, "(n)\n->()": 3,
		"((n+1))->()": 1, "(((n)))->()": 1} {
		_, err := gufunc.ParseSignature(text)
		var known *gufunc.SignatureError
		require.ErrorAs(t, err, &known, text)
		assert.Equal(t, at, known.At, "%s: %s", text, known.Message)
		assert.True(t, strings.HasSuffix(err.Error(), "^"), text)
	}
}

// A signature parses or is refused with a place inside it; one that parses does so
// again from its own text, to the same dimensions.
func FuzzParseSignature(f *testing.F) {
	for _, seed := range []string{"(m,n),(n)->(m)", "(n?,k),(k,m?)->(n?,m?)", "(n,d)->(n*(n-1)/2)",
		"(3|1)->() ; k:i64", "((", "->", "(n)->(n-)", "(9999999999999999999)->()"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := gufunc.ParseSignature(text)
		if err != nil {
			known, ok := err.(*gufunc.SignatureError)
			if !ok || known.At < 0 || known.At > len(text)+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := gufunc.ParseSignature(s.String())
		if err != nil || names(again) != names(s) || len(again.Operands) != len(s.Operands) {
			t.Fatalf("%q: %v, %v and %v", text, err, s.Dims, again)
		}
		if len(s.Operands) > gufunc.MaxOperands || len(s.Dims) > gufunc.MaxCore {
			t.Fatalf("%q: %d operands, %d dimensions", text, len(s.Operands), len(s.Dims))
		}
	})
}

// Types of a kernel are read as many as the signature has, or refused without a panic.
func FuzzParseTypes(f *testing.F) {
	for _, seed := range []string{"dd->d", "", "->", "d->", "e->\xff", "ddd->d", "d->d->d"} {
		f.Add(seed, 2, 1)
	}
	f.Fuzz(func(t *testing.T, text string, inputs, outputs int) {
		types, err := gufunc.ParseTypes(text, inputs, outputs)
		if err != nil {
			return
		}
		if len(types) != inputs+outputs {
			t.Fatalf("%q: %v for %d and %d operands", text, types, inputs, outputs)
		}
		for _, each := range types {
			if !each.Known() {
				t.Fatalf("%q: %v", text, types)
			}
		}
	})
}

func names(s *gufunc.Signature) string {
	var b strings.Builder
	for _, d := range s.Dims {
		fmt.Fprintf(&b, "%s %d %v,", d.Name, d.Size, d.Optional)
	}
	return b.String()
}

func selectable(t *testing.T, types ...string) *gufunc.GUFunc {
	g, err := gufunc.New("g", "(),()->()", nil, gufunc.AllFlags)
	require.NoError(t, err)
	for _, text := range types {
		parsed, err := gufunc.ParseTypes(text, 2, 1)
		require.NoError(t, err)
		_, err = g.Add(gufunc.Kernel{Form: gufunc.NumPyLoop, Types: parsed, Function: 1})
		require.NoError(t, err)
	}
	return g
}

func TestTheFirstKernelWithinSafeCastsIsTaken(t *testing.T) {
	g := selectable(t, "ff->f", "dd->d", "DD->D")
	strong := func(x, y alloc.Type) []gufunc.TypeArg {
		return []gufunc.TypeArg{{Type: x},
			{Type: y}}
	}
	for want, args := range map[int][][]gufunc.TypeArg{
		0: {strong(alloc.Float32, alloc.Int16), {{Type: alloc.Float32},
			{Weak: gufunc.WeakFloat}}, strong(alloc.Bool, alloc.Bool)},
		1: {strong(alloc.Float32, alloc.Int32), strong(alloc.Float64, alloc.Float32),
			{{Weak: gufunc.WeakInt}, {Weak: gufunc.WeakFloat}}},
		2: {strong(alloc.Complex64, alloc.Float64), {{Type: alloc.Float64},
			{Weak: gufunc.WeakComplex}}},
	} {
		for _, a := range args {
			n, err := g.SelectKernel(a)
			require.NoError(t, err)
			assert.Equal(t, want, n, "%v", a)
		}
	}
	_, err := g.SelectKernel(strong(alloc.CLongDouble, alloc.Float32))
	assert.ErrorContains(t, err, "no kernel takes (clongdouble, float32)")
}

func TestShapesThatDoNotFit(t *testing.T) {
	_, err := kernel(t, "solve").Call([]gufunc.Array{float64s(t, []int64{4, 3, 3}),
		float64s(t, []int64{4, 2})}, nil, gufunc.Options{})
	assert.ErrorContains(t, err, "input 1 has size 2 in core dimension n, which is 3")
	_, err = kernel(t, "divide").Call([]gufunc.Array{float64s(t, []int64{4}),
		float64s(t, []int64{3})}, nil, gufunc.Options{})
	assert.Error(t, err)
	_, err = kernel(t, "inv").Call([]gufunc.Array{float64s(t, []int64{3})}, nil, gufunc.Options{})
	assert.ErrorContains(t, err, "needs 2")
}

func TestWordsOfNumbers(t *testing.T) {
	assert.Equal(t, "Go loop, Form(7)", fmt.Sprintf("%v, %v", gufunc.GoLoop, gufunc.Form(7)))
}
