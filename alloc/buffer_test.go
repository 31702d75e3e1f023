package alloc

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A Buffer that was freed, the zero Buffer and a copy say so; the memory is not touched.
func TestABufferIsUsedByItsHolderUntilFree(t *testing.T) {
	freed, err := New(plan(t, 100))
	require.NoError(t, err)
	held, err := New(plan(t, 100))
	require.NoError(t, err)
	defer held.Free()
	freed.Free()
	freed.Free()
	copied := &Buffer{plan: held.plan}
	type bytes = [unsafe.Sizeof(Buffer{})]byte
	*(*bytes)(unsafe.Pointer(copied)) = *(*bytes)(unsafe.Pointer(held))
	for why, b := range map[string]*Buffer{
		"alloc.Buffer: it is used after Free":                         freed,
		"alloc.Buffer: the zero value holds nothing":                  {},
		"alloc.Buffer: it is a copy; keep the pointer that was given": copied,
	} {
		for _, use := range []func(){
			func() { b.Data() }, func() { b.ID() }, func() { b.Bytes() }, b.Zero,
			func() { b.Share() },
		} {
			assert.PanicsWithValue(t, why, use)
		}
		_, err := b.View(Raw)
		require.ErrorIs(t, err, ErrInvalid)
		assert.EqualError(t, err, why)
	}
	assert.NotPanics(t, new(Buffer).Free)
	assert.Panics(t, copied.Free)
}

func TestFreeFromManyGoroutines(t *testing.T) {
	before := Statistics()
	for range 200 {
		b, err := New(plan(t, 1000))
		require.NoError(t, err)
		var group sync.WaitGroup
		for range 4 {
			group.Go(b.Free)
		}
		group.Wait()
	}
	assert.Equal(t, before.LiveBuffers, Statistics().LiveBuffers)
}

// A plan that reserves nothing for the heap: a block of its size would have no room for a header.
func TestOnlyPlansOfNewPlanGetMemory(t *testing.T) {
	found, err := Describe([]int64{100}, []int64{8}, nil, 8, 4096)
	require.NoError(t, err)
	for _, p := range []*Plan{nil, {}, found} {
		_, err := New(p)
		require.ErrorIs(t, err, ErrInvalid)
		assert.ErrorContains(t, err, "give one of NewPlan")
	}
	for _, p := range []*Plan{{}, found} {
		assert.NotPanics(t, func() { _, _ = p.Explain().String(), p.String() })
	}
}

func TestDescribeWantsAnEntryForEachIndex(t *testing.T) {
	for _, err := range []error{
		second(Describe([]int64{2, 3}, []int64{8}, nil, 8, 0)),
		second(Describe([]int64{2}, []int64{8}, []Dim{I, J}, 8, 0)),
		second(Describe([]int64{2}, nil, nil, 8, 0)),
	} {
		require.ErrorIs(t, err, ErrInvalid)
		assert.ErrorContains(t, err, "give one for each")
	}
	assert.ErrorContains(t, second(Describe([]int64{2}, []int64{8}, nil, -8, 0)), "itemSize: -8")
}

func second[T any](_ T, err error) error { return err }

func TestABufferAsAView(t *testing.T) {
	p, err := NewPlan(&Spec{Shape: []int64{3, 4}, ItemSize: 4})
	require.NoError(t, err)
	b, err := New(p)
	require.NoError(t, err)
	defer b.Free()
	v, err := b.View(Float32)
	require.NoError(t, err)
	assert.Equal(t, View{b.Data(), Float32, 4, []int64{3, 4}, []int64{16, 4}}, v)
	assert.NoError(t, v.Check("v"))
	v, err = b.View(Raw)
	require.NoError(t, err)
	assert.EqualValues(t, 4, v.ElementSize())
	assert.ErrorContains(t, second(b.View(Float64)),
		"t: an element of type float64 has 8 bytes, one of the plan 4")
	assert.ErrorContains(t, second(b.View(77)), "t: unknown element type 77")
}

func TestUnknownTypesHaveNoFacts(t *testing.T) {
	for _, typ := range []Type{-1, typeCount, 77, -1 << 31} {
		assert.False(t, typ.Known())
		assert.Contains(t, typ.String(), "Type(")
		assert.Zero(t, typ.Size())
		assert.Zero(t, typ.Kind())
		assert.Zero(t, typ.Char())
	}
	assert.Equal(t, "float64 8 d f",
		Float64.String()+" 8 "+string(Float64.Char())+" "+string(Float64.Kind()))
}
