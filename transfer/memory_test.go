package transfer

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

// mapped is memory outside the Go heap that ends where a page begins that must not
// be touched: a byte too far ends the test.
func mapped(t testing.TB, size int) []byte {
	t.Helper()
	page := os.Getpagesize()
	body := (size + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, body+2*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	require.NoError(t, syscall.Mprotect(memory[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(memory[page+body:], syscall.PROT_NONE))
	t.Cleanup(func() { _ = syscall.Munmap(memory) })
	return memory[page+body-size : page+body]
}

func base(memory []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(memory)) }

// dense is a view of memory with the last index fastest.
func dense(memory []byte, kind alloc.Type, shape ...int64) alloc.View {
	v := alloc.View{Data: base(memory), Type: kind, ItemSize: kind.Size(), Shape: shape,
		Strides: make([]int64, len(shape))}
	step := v.ItemSize
	for i := len(shape) - 1; i >= 0; i-- {
		v.Strides[i] = step
		step *= shape[i]
	}
	return v
}

// transposed is the same memory with the indices in reverse order.
func transposed(v alloc.View) alloc.View {
	n := len(v.Shape)
	w := v
	w.Shape, w.Strides = make([]int64, n), make([]int64, n)
	for i := range n {
		w.Shape[i], w.Strides[i] = v.Shape[n-1-i], v.Strides[n-1-i]
	}
	return w
}
