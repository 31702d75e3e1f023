package exact

// #cgo noescape new_task
// #cgo nocallback new_task
// #cgo noescape end_task
// #cgo nocallback end_task
// #cgo noescape gb_exact_merge
// #cgo nocallback gb_exact_merge
// #include <stdlib.h>
// #include <string.h>
// #include "../transfer/transfer.h"
// #include "exact.h"
//
// static void place(gb_copy_view *v, int64_t *shape, int64_t *room, const int64_t *strides) {
//     for (int i = 0; i < v->ndim; i++) room[i] = strides[i];
//     v->shape = shape, v->strides = room;
// }
//
// // A planned sum of x, or of products with y, with copies of Go's lists. Without one rc says why.
// static gb_exact_task *new_task(gb_copy_view x, const int64_t *shape, const int64_t *x_strides,
//                                int products, gb_copy_view y, const int64_t *y_strides, int *rc) {
//     gb_exact_task *task = malloc(sizeof *task);
//     *rc = GB_COPY_NO_MEMORY;
//     if (!task) return NULL;
//     memset(&task->total, 0, sizeof task->total);
//     for (int i = 0; i < x.ndim; i++) task->shape[i] = shape[i];
//     task->a = x, task->b = y;
//     place(&task->a, task->shape, task->a_strides, x_strides);
//     if (products) place(&task->b, task->shape, task->b_strides, y_strides);
//     *rc = gb_exact_plan(&task->job, &task->total, &task->a, products ? &task->b : NULL, 0);
//     task->work = gb_exact_work(&task->job);
//     if (*rc == GB_COPY_OK) return task;
//     free(task);
//     return NULL;
// }
//
// // Frees a task, and adds its total where there is a sum.
// static void end_task(gb_exact_task *task, gb_exact *sum) {
//     if (sum) gb_exact_merge(sum, &task->total);
//     free(task);
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

func view(v *alloc.View) C.gb_copy_view {
	return C.gb_copy_view{
		data: (*C.char)(v.Data), itemsize: C.int64_t(v.ElementSize()), _type: C.int32_t(v.Type),
		ndim: C.int32_t(len(v.Shape)),
	}
}

func list(of []int64) *C.int64_t { return (*C.int64_t)(unsafe.SliceData(of)) }

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
	var pins runtime.Pinner // memory of Go's stays in place, C's is not touched
	defer pins.Unpin()
	pins.Pin(x.Data)
	var second C.gb_copy_view
	var strides []int64
	products := C.int(0)
	if y != nil {
		pins.Pin(y.Data)
		products, second, strides = 1, view(y), y.Strides
	}
	var rc C.int
	task := C.new_task(view(&x), list(x.Shape), list(x.Strides), products, second, list(strides),
		&rc)
	switch rc {
	case C.GB_COPY_OK:
	case C.GB_COPY_NO_MEMORY:
		return alloc.ErrNoMemory.Errorf("no memory for a sum")
	case C.GB_COPY_NO_CAST:
		return refused(&x, y)
	default:
		return alloc.ErrInvalid.Errorf("x: the shape has more elements than 64 bits can count")
	}
	if err := run(&task.work, opts); err != nil {
		C.end_task(task, nil)
		return err
	}
	C.end_task(task, (*C.gb_exact)(unsafe.Pointer(s)))
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
