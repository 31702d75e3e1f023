package transfer

// #cgo noescape gb_copy_plan
// #cgo nocallback gb_copy_plan
// #cgo noescape gb_copy_plan_fill
// #cgo nocallback gb_copy_plan_fill
// #cgo noescape gb_copy_done
// #cgo nocallback gb_copy_done
// #cgo noescape new_task
// #cgo nocallback new_task
// #cgo noescape free
// #cgo nocallback free
// #include <stdlib.h>
// #include "transfer.h"
//
// /* Zeros where Go writes pointers, which its collector looks at before; planning writes the rest. */
// static gb_copy_task *new_task(void) {
//     gb_copy_task *task = malloc(sizeof *task);
//     if (!task) return NULL;
//     task->copy.jobs = 0;
//     task->copy.temporary = NULL;
//     task->dst = task->src = (gb_copy_view){0};
//     return task;
// }
import "C"

import (
	"errors"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/handle"
	"gridbuf/internal/work"
)

// Job is a copy or a fill that can be run a little at a time. Free gives back what it holds.
type Job struct {
	task handle.Handle // a gb_copy_task
}

const jobName = "transfer.Job"

var errNoMemory = alloc.ErrNoMemory.Errorf("no memory for the temporary that overlapping views " +
	"need")

func newJob(dst *alloc.View) (*Job, *C.gb_copy_task, error) {
	task := C.new_task()
	if task == nil {
		return nil, nil, errNoMemory
	}
	n := len(dst.Shape)
	copy(unsafe.Slice((*int64)(&task.shape[0]), n), dst.Shape)
	copy(unsafe.Slice((*int64)(&task.dst_strides[0]), n), dst.Strides)
	task.dst = side(task, dst, &task.dst_strides[0])
	job := &Job{}
	job.task.Hold(unsafe.Pointer(task))
	return job, task, nil
}

func side(task *C.gb_copy_task, v *alloc.View, strides *C.int64_t) C.gb_copy_view {
	return C.gb_copy_view{
		data: (*C.char)(v.Data), itemsize: C.int64_t(v.ElementSize()), _type: typeOf(v.Type),
		ndim: C.int32_t(len(v.Shape)), shape: &task.shape[0], strides: strides,
	}
}

func planned(job *Job, rc C.int, arg string, dst, src alloc.Type) (*Job, error) {
	if rc == C.GB_COPY_OK {
		return job, nil
	}
	job.Free()
	switch rc {
	case C.GB_COPY_NO_MEMORY:
		return nil, errNoMemory
	case C.GB_COPY_NO_CAST:
		return nil, noCast(arg, dst, src)
	}
	return nil, alloc.ErrInvalid.Errorf("dst: the shape has more elements than 64 bits can count")
}

func noCast(arg string, dst, src alloc.Type) error {
	return alloc.ErrInvalid.Errorf("%s: elements of type %v do not convert to %v of dst", arg, src,
		dst)
}

// PlanCopy prepares the copying of src into dst, which have the same shape.
func PlanCopy(dst, src alloc.View) (*Job, error) {
	if err := errors.Join(dst.Check("dst"), src.Check("src")); err != nil {
		return nil, err
	}
	if !slices.Equal(dst.Shape, src.Shape) {
		return nil, alloc.ErrInvalid.Errorf("src: shape %v; dst has %v (give repeated indices a "+
			"stride of 0)",
			src.Shape, dst.Shape)
	}
	if typeOf(dst.Type) == typeOf(src.Type) && dst.Type != src.Type {
		return nil, noCast("src", dst.Type, src.Type)
	}
	job, task, err := newJob(&dst)
	if err != nil {
		return nil, err
	}
	copy(unsafe.Slice((*int64)(&task.src_strides[0]), len(src.Strides)), src.Strides)
	task.src = side(task, &src, &task.src_strides[0])
	rc := C.gb_copy_plan(&task.copy, &task.dst, &task.src)
	return planned(job, rc, "src", dst.Type, src.Type)
}

// PlanFill prepares setting every element of dst to value: a bool or any number of Go's, also of a
// named type, or the bytes of an element of dst.
func PlanFill(dst alloc.View, value any) (*Job, error) {
	if err := dst.Check("dst"); err != nil {
		return nil, err
	}
	element, kind, err := elementOf(&dst, value)
	if err != nil {
		return nil, err
	}
	job, task, err := newJob(&dst)
	if err != nil {
		return nil, err
	}
	at := unsafe.Pointer(&task.value[0])
	if len(element) > len(task.value) {
		at = C.CBytes(element)
		defer C.free(at)
	} else {
		copy(unsafe.Slice((*byte)(at), len(task.value)), element)
	}
	rc := C.gb_copy_plan_fill(&task.copy, &task.dst, at, C.int(typeOf(kind)),
		C.int64_t(len(element)))
	return planned(job, rc, "value", dst.Type, kind)
}

// elementOf is a value as an element in memory, and its type.
func elementOf(dst *alloc.View, value any) ([]byte, alloc.Type, error) {
	v := reflect.ValueOf(value)
	switch v.Kind() {
	case reflect.Bool:
		return bytesOf(v.Bool()), alloc.Bool, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return bytesOf(v.Int()), alloc.Int64, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Uintptr:
		return bytesOf(v.Uint()), alloc.Uint64, nil
	case reflect.Float32, reflect.Float64:
		return bytesOf(v.Float()), alloc.Float64, nil
	case reflect.Complex64, reflect.Complex128:
		return bytesOf(v.Complex()), alloc.Complex128, nil
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			break
		}
		if n := int64(v.Len()); n != dst.ElementSize() {
			return nil, 0, alloc.ErrInvalid.Errorf("value: %d bytes; an element of dst has %d",
				n, dst.ElementSize())
		}
		return v.Bytes(), dst.Type, nil
	}
	name := "nil"
	if v.IsValid() {
		name = v.Type().String()
	}
	return nil, 0, alloc.ErrType.Errorf("value: expected a number, or the bytes of an element of "+
		"dst; got %s", name)
}

func bytesOf[T bool | int64 | uint64 | float64 | complex128](x T) []byte {
	return slices.Clone(unsafe.Slice((*byte)(unsafe.Pointer(&x)), unsafe.Sizeof(x)))
}

// Run goes on with the job for about as long as the budget says, on as many threads
// as it is worth, and reports whether it is done.
func (j *Job) Run(budget time.Duration) (done bool, err error) {
	if fault := j.task.Fault(); fault != "" {
		return false, alloc.ErrInvalid.Errorf("%s: %s", jobName, fault)
	}
	c := j.copy()
	for i := range int(c.jobs) {
		if !work.Resume(unsafe.Pointer(&c.work[i]), budget.Nanoseconds()) {
			return false, nil
		}
	}
	return true, nil
}

func (j *Job) copy() *C.gb_copy { return &(*C.gb_copy_task)(j.task.Address(jobName)).copy }

// Progress is how much of the job is done, from 0 to 1.
func (j *Job) Progress() float64 {
	c, done := j.copy(), 0.0
	for i := range int(c.jobs) {
		done += float64(c.work[i].at) / float64(max(c.work[i].pieces, 1)) / float64(c.jobs)
	}
	if c.jobs == 0 {
		return 1
	}
	return done
}

// Free gives back what the job holds. A second Free does nothing, nor does that of the zero Job.
func (j *Job) Free() {
	if task := (*C.gb_copy_task)(j.task.Take(jobName)); task != nil {
		C.gb_copy_done(&task.copy)
		C.free(unsafe.Pointer(task))
	}
}
