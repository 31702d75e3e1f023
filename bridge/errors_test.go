package bridge_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"gridbuf/alloc"
	"gridbuf/arrayinterface"
	"gridbuf/cuda"
	"gridbuf/cudaarrayinterface"
	"gridbuf/dlpack"
	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels"
	"gridbuf/transfer"
)

// One errors.Is asks all rooms.
func TestOneFamilyOfErrors(t *testing.T) {
	_, invalid := alloc.NewPlan(&alloc.Spec{Shape: []int64{-1}})
	_, dtype := dlpack.TypeOf('V', 7)
	_, nothing := dlpack.Import(dlpack.FromPointer(nil))
	_, signature := gufunc.ParseSignature("(")
	_, unknown := kernels.New("square root")
	_, typestr := arrayinterface.ParseTypestr("<y8")
	_, stream := cudaarrayinterface.ParseStream(true, 0)
	var number float64
	view := alloc.View{Data: unsafe.Pointer(&number), Type: alloc.Float64}
	fill := transfer.Fill(view, []byte("text"), transfer.Options{})
	for name, err := range map[string]error{
		"alloc": invalid, "dlpack.TypeOf": dtype, "dlpack.Import": nothing, "gufunc": signature,
		"transfer": fill,
		"kernels":  unknown, "typestr": typestr, "stream": stream,
		"cuda": cuda.ErrArgument,
	} {
		assert.ErrorIs(t, err, alloc.ErrInvalid, name)
		assert.NotErrorIs(t, err, alloc.ErrNoMemory, name)
	}
	defer alloc.SetLimit(-1)
	alloc.SetLimit(1)
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{10}, ItemSize: 8})
	assert.NoError(t, err)
	_, full := alloc.New(plan)
	for name, err := range map[string]error{"alloc": full, "cuda": cuda.ErrNoMemory,
		"cuda, limit": cuda.ErrOverLimit} {
		assert.ErrorIs(t, err, alloc.ErrNoMemory, name)
		assert.NotErrorIs(t, err, alloc.ErrInvalid, name)
	}
	plan, err = alloc.NewPlan(&alloc.Spec{Device: alloc.GPU})
	assert.NoError(t, err)
	_, device := alloc.New(plan)
	assert.ErrorIs(t, device, alloc.ErrUnavailable)
	assert.ErrorIs(t, cuda.ErrNoDriver, alloc.ErrUnavailable)
	assert.Equal(t, "invalid argument, no memory left, error of kind 99",
		alloc.ErrInvalid.Error()+", "+alloc.ErrNoMemory.Error()+", "+alloc.Kind(99).Error())
}
