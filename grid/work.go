package grid

import (
	"runtime"
	"slices"

	"gridbuf/alloc"
	"gridbuf/dlpack"
	"gridbuf/exact"
	"gridbuf/transfer"
)

// View describes the array for the packages that work on views: transfer, exact, gufunc and cuda.
// Functions of transfer, exact and gufunc pin memory of Go's while they work on it; a transfer.Job
// does not.
func (a *Array[T]) View() alloc.View {
	a.check()
	return alloc.View{
		Data: a.data, Type: TypeOf[T](), ItemSize: TypeOf[T]().Size(),
		Shape: slices.Clone(a.shape), Strides: slices.Clone(a.strides),
	}
}

// borrowed is View without copies, for calls that keep nothing.
func (a *Array[T]) borrowed() alloc.View {
	a.check()
	t := TypeOf[T]()
	return alloc.View{Data: a.data, Type: t, ItemSize: t.Size(), Shape: a.shape, Strides: a.strides}
}

func (a *Array[T]) checkWrite(arg string) error {
	if a.memory.readOnly {
		return alloc.ErrInvalid.Errorf("%s: its memory is read-only", arg)
	}
	return nil
}

func first(opts []transfer.Options) transfer.Options {
	if len(opts) == 0 {
		return transfer.Options{}
	}
	return opts[0]
}

// Fill sets every element. Options may name a context that ends it, and a function that hears of
// the progress.
func (a *Array[T]) Fill(value T, opts ...transfer.Options) error {
	if err := a.checkWrite("array"); err != nil {
		return err
	}
	err := transfer.Fill(a.borrowed(), value, first(opts))
	runtime.KeepAlive(a)
	return err
}

// Copy copies src into dst, which has the same shape, and converts elements as NumPy's
// casting="unsafe" does. Memory of both may overlap.
func Copy[D, S Element](dst *Array[D], src *Array[S], opts ...transfer.Options) error {
	if dst == nil || src == nil {
		name := "dst"
		if dst != nil {
			name = "src"
		}
		return alloc.ErrInvalid.Errorf("%s: it is nil; give an array", name)
	}
	if err := dst.checkWrite("dst"); err != nil {
		return err
	}
	err := transfer.Copy(dst.borrowed(), src.borrowed(), first(opts))
	runtime.KeepAlive(dst)
	runtime.KeepAlive(src)
	return err
}

// Sum is the sum of all elements, rounded once: the same for every order of the elements. That of
// bools is how many are true, complex elements have none; package exact has sums beyond float64 and
// of products.
func (a *Array[T]) Sum(opts ...transfer.Options) (float64, error) {
	var sum exact.Sum
	if err := sum.Add(a.borrowed(), first(opts)); err != nil {
		return 0, err
	}
	runtime.KeepAlive(a)
	return sum.Float64(), nil
}

// Tensor describes the array as a DLPack tensor of host memory.
func (a *Array[T]) Tensor() (dlpack.Tensor, error) {
	a.check()
	t := TypeOf[T]()
	item, err := dlpack.TypeOf(t.Kind(), t.Size())
	if err != nil {
		return dlpack.Tensor{}, err
	}
	tensor := dlpack.Tensor{
		Data: uintptr(a.data), Device: dlpack.Device{Type: dlpack.CPU}, DataType: item,
		Shape: slices.Clone(a.shape), Strides: slices.Clone(a.strides),
	}
	if a.memory.readOnly {
		tensor.Flags = dlpack.ReadOnly
	}
	return tensor, nil
}

// Export makes a DLPack tensor for a consumer in C or Python, which shares the memory: the array
// may be freed before or after the consumer is done. Only arrays of New can be exported, and their
// views.
func (a *Array[T]) Export() (*dlpack.Managed, error) {
	tensor, err := a.Tensor()
	if err != nil {
		return nil, err
	}
	if a.memory.buffer == nil {
		return nil, alloc.ErrInvalid.Errorf("array: its memory is of a Go slice or of another " +
			"owner; copy it into an array of New to export it")
	}
	return dlpack.ExportShared(tensor, a.memory.buffer)
}

// FromTensor takes a tensor of a producer: the array has its memory until Free. The tensor's
// elements are of T's type, in memory of the host, and aligned. After an error the tensor is still
// the caller's.
func FromTensor[T Element](m *dlpack.Managed) (*Array[T], error) {
	if m == nil {
		return nil, alloc.ErrInvalid.Errorf("tensor: it is nil; give one of package dlpack")
	}
	tensor, err := dlpack.Import(m)
	if err != nil {
		return nil, err
	}
	view, err := tensor.View()
	if err != nil {
		return nil, err
	}
	if view.Type != TypeOf[T]() {
		return nil, alloc.ErrType.Errorf("tensor: its elements are %s; the array's are %s",
			tensor.DataType, TypeOf[T]())
	}
	if !tensor.Aligned() {
		return nil, alloc.ErrInvalid.Errorf("tensor: its elements are not aligned to %d bytes",
			TypeOf[T]().Size())
	}
	held := dlpack.FromPointer(m.HandOver())
	return &Array[T]{
		memory: &memory{tensor: held, readOnly: tensor.Flags&dlpack.ReadOnly != 0},
		data:   view.Data, shape: view.Shape, strides: view.Strides,
	}, nil
}
