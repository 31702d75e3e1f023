package grid

import (
	"iter"
	"unsafe"

	"gridbuf/alloc"
)

// Rows walks the array in the order of memory: each row is the Go slice of the elements along the
// dimension whose neighbours lie side by side, which may be written. Rows have one element where no
// dimension is so. A slice is valid until the array is freed; read-only memory must not be written.
func (a *Array[T]) Rows() iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for _, row := range a.walk {
			if !yield(row) {
				return
			}
		}
	}
}

// IndexedRows is Rows with the index of each row's first element. The index list is used again for
// the next row.
func (a *Array[T]) IndexedRows() iter.Seq2[[]int, []T] { return a.walk }

func (a *Array[T]) walk(yield func([]int, []T) bool) {
	ndim := len(a.shape)
	if a.Len() == 0 {
		a.check()
		return
	}
	order, row := a.rowOrder()
	n := int64(1)
	if row >= 0 {
		n = a.shape[row]
	}
	var counters, room [alloc.MaxViewDims]int // the caller may write the list that it is shown
	index, shown := counters[:ndim], room[:ndim:ndim]
	data := a.data
	for {
		a.check()
		copy(shown, index)
		if !yield(shown, unsafe.Slice((*T)(data), n)) {
			return
		}
		k := len(order) - 1
		for ; k >= 0; k-- { // the next index along the loops, the innermost first
			d := order[k]
			index[d]++
			if int64(index[d]) < a.shape[d] {
				data = unsafe.Add(data, a.strides[d])
				break
			}
			data = unsafe.Add(data, -(a.shape[d]-1)*a.strides[d])
			index[d] = 0
		}
		if k < 0 {
			return
		}
	}
}

// rowOrder gives the dimensions around the rows, the largest stride first, and the dimension of the
// rows, or -1.
func (a *Array[T]) rowOrder() (order []int, row int) {
	var element T
	size := int64(unsafe.Sizeof(element))
	row = -1
	for d, n := range a.shape {
		if a.strides[d] == size && n > 1 && (row < 0 || n > a.shape[row]) {
			row = d
		}
	}
	for d, n := range a.shape {
		if d == row || n == 1 {
			continue
		}
		at := len(order)
		for at > 0 && distance(a.strides[order[at-1]]) < distance(a.strides[d]) {
			at--
		}
		order = append(order, 0)
		copy(order[at+1:], order[at:])
		order[at] = d
	}
	return order, row
}

func distance(stride int64) int64 { return max(stride, -stride) }

// check panics after Free.
func (a *Array[T]) check() {
	if a.memory.freed.Load() {
		panic("grid.Array: it is used after Free")
	}
}
