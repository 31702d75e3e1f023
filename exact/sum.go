package exact

// #cgo noescape gb_exact_plan
// #cgo nocallback gb_exact_plan
// #cgo noescape gb_exact_work
// #cgo nocallback gb_exact_work
// #cgo noescape gb_exact_merge
// #cgo nocallback gb_exact_merge
// #cgo noescape new_task
// #cgo nocallback new_task
// #cgo noescape free
// #cgo nocallback free
// #include <stdlib.h>
// #include <string.h>
// #include "../transfer/transfer.h"
// #include "exact.h"
//
// /* Zeros where Go writes pointers, which its collector looks at before; planning writes the rest. */
// static gb_exact_task *new_task(void) {
//     gb_exact_task *task = malloc(sizeof *task);
//     if (!task) return NULL;
//     task->work = (gb_work){0};
//     task->a = task->b = (gb_copy_view){0};
//     memset(&task->total, 0, sizeof task->total);
//     return task;
// }
import "C"

import (
	"math"
	"math/big"
	"runtime"
	"slices"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/stop"
	"gridbuf/internal/work"
	"gridbuf/transfer"
)

// Words is how many 64-bit integers a Sum has.
const Words = C.GB_EXACT_WORDS

// Sum holds the sum of the numbers added so far; the zero Sum is that of none. Sums of several
// processes add up word by word, by any reduction of integers, if [Sum.Merge] with a zero Sum
// follows.
type Sum [Words]int64

// Add adds every element of an array of real numbers. After an error, that of a context that ended
// included, the sum is what it was.
func (s *Sum) Add(x alloc.View, opts transfer.Options) error { return s.add(x, nil, opts) }

// AddProducts adds the product of every element of x with that of y at the same index. Both are of
// floats, or both of integers.
func (s *Sum) AddProducts(x, y alloc.View, opts transfer.Options) error {
	return s.add(x, &y, opts)
}

// Merge adds another sum.
func (s *Sum) Merge(other *Sum) {
	C.gb_exact_merge((*C.gb_exact)(unsafe.Pointer(s)), (*C.gb_exact)(unsafe.Pointer(other)))
}

func view(v *alloc.View, shape, strides *[C.GB_COPY_DIMS]C.int64_t) C.gb_copy_view {
	for i := range v.Shape {
		shape[i], strides[i] = C.int64_t(v.Shape[i]), C.int64_t(v.Strides[i])
	}
	return C.gb_copy_view{
		data: (*C.char)(v.Data), itemsize: C.int64_t(v.ElementSize()), _type: C.int32_t(v.Type),
		ndim: C.int32_t(len(v.Shape)), shape: &shape[0], strides: &strides[0],
	}
}

func check(x, y *alloc.View) error {
	if err := x.Check("x"); err != nil || y == nil {
		return err
	}
	if err := y.Check("y"); err != nil {
		return err
	}
	if !slices.Equal(x.Shape, y.Shape) {
		return alloc.ErrInvalid.Errorf("y: shape %v; x has %v", y.Shape, x.Shape)
	}
	return nil
}

func (s *Sum) add(x alloc.View, y *alloc.View, opts transfer.Options) error {
	if err := stop.Asked(opts.Context); err != nil {
		return err
	}
	if err := check(&x, y); err != nil {
		return err
	}
	task := C.new_task()
	if task == nil {
		return alloc.ErrNoMemory.Errorf("no memory for a sum")
	}
	defer C.free(unsafe.Pointer(task))
	var pins runtime.Pinner // memory of Go's stays in place, C's is not touched
	defer pins.Unpin()
	pins.Pin(x.Data)
	if y != nil {
		pins.Pin(y.Data)
	}
	task.a = view(&x, &task.shape, &task.a_strides)
	var b *C.gb_copy_view
	if y != nil {
		task.b = view(y, &task.shape, &task.b_strides)
		b = &task.b
	}
	switch C.gb_exact_plan(&task.job, &task.total, &task.a, b, 0) {
	case C.GB_COPY_OK:
	case C.GB_COPY_NO_CAST:
		return refused(&x, y)
	default:
		return alloc.ErrInvalid.Errorf("x: the shape has more elements than 64 bits can count")
	}
	task.work = C.gb_exact_work(&task.job)
	if err := run(&task.work, opts); err != nil {
		return err
	}
	s.Merge((*Sum)(unsafe.Pointer(&task.total)))
	return nil
}

func refused(x, y *alloc.View) error {
	if y == nil {
		return alloc.ErrInvalid.Errorf("x: elements of type %v cannot be summed; give real "+
			"numbers of at most 8 bytes", x.Type)
	}
	return alloc.ErrInvalid.Errorf("x, y: products of elements of type %v and %v cannot be "+
		"summed; give both floats or both integers, of at most 8 bytes", x.Type, y.Type)
}

// run does the work of a sum in slices, between which the context is asked.
func run(w *C.gb_work, opts transfer.Options) error {
	for {
		done := work.Resume(unsafe.Pointer(w), work.Slice)
		if opts.Progress != nil {
			opts.Progress(float64(w.at) / float64(max(w.pieces, 1)))
		}
		if done {
			return nil
		}
		if err := stop.Asked(opts.Context); err != nil {
			return err
		}
	}
}

// scaled is the finite part times 2^GB_EXACT_BIAS.
func (s *Sum) scaled() *big.Int {
	total := new(big.Int)
	for i := C.GB_EXACT_CHUNKS - 1; i >= 0; i-- {
		total.Add(total.Lsh(total, 32), big.NewInt(s[i]))
	}
	return total
}

// Float64 is the sum, rounded once: beyond the range an infinity, of infinities of both signs NaN.
func (s *Sum) Float64() float64 {
	nans, infinities, negative := s[C.GB_EXACT_CHUNKS], s[C.GB_EXACT_CHUNKS+1],
		s[C.GB_EXACT_CHUNKS+2]
	switch {
	case nans > 0 || infinities > 0 && negative > 0:
		return math.NaN()
	case infinities > 0:
		return math.Inf(1)
	case negative > 0:
		return math.Inf(-1)
	}
	total := new(big.Float).SetInt(s.scaled())
	value, _ := total.SetMantExp(total, -C.GB_EXACT_BIAS).Float64()
	return value
}

// Int is the sum of integers.
func (s *Sum) Int() *big.Int {
	total := s.scaled()
	return total.Rsh(total, C.GB_EXACT_BIAS)
}

// useKernels chooses another instruction set, for transfer too, and says whether this processor has
// it; for tests.
func useKernels(name string) bool {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return C.gb_copy_kernels_use(text) == 0
}

func kernelsInUse() string { return C.GoString(C.gb_copy_kernels_name()) }
