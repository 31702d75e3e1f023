package transfer

// #include <stdlib.h>
// #include "transfer.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/work"
)

// Job is a copy or a fill that can be run a little at a time. It must be closed.
type Job struct {
	task *C.gb_copy_task
}

var errNoMemory = alloc.ErrNoMemory.Errorf("no memory for the temporary that overlapping views need")

func newJob(dst *View) (*Job, error) {
	task := (*C.gb_copy_task)(C.calloc(1, C.sizeof_gb_copy_task))
	if task == nil {
		return nil, errNoMemory
	}
	n := len(dst.Shape)
	copy(unsafe.Slice((*int64)(&task.shape[0]), n), dst.Shape)
	copy(unsafe.Slice((*int64)(&task.dst_strides[0]), n), dst.Strides)
	task.dst = C.gb_copy_view{
		data: (*C.char)(dst.Data), itemsize: C.int64_t(dst.itemSize()), _type: C.int32_t(dst.Type), ndim: C.int32_t(n),
		shape: &task.shape[0], strides: &task.dst_strides[0],
	}
	return &Job{task}, nil
}

func planned(job *Job, rc C.int, dst, src Type) (*Job, error) {
	if rc == C.GB_COPY_OK {
		return job, nil
	}
	job.Close()
	switch rc {
	case C.GB_COPY_NO_MEMORY:
		return nil, errNoMemory
	case C.GB_COPY_NO_CAST:
		return nil, alloc.ErrInvalid.Errorf("src: elements of type %v do not convert to %v of dst", src, dst)
	}
	return nil, alloc.ErrInvalid.Errorf("dst: the shape has more elements than 64 bits can count")
}

// PlanCopy prepares the copying of src into dst, which have the same shape.
func PlanCopy(dst, src View) (*Job, error) {
	if err := errors.Join(dst.check("dst"), src.check("src")); err != nil {
		return nil, err
	}
	if !slices.Equal(dst.Shape, src.Shape) {
		return nil, alloc.ErrInvalid.Errorf("src: shape %v; dst has %v (give repeated indices a stride of 0)", src.Shape, dst.Shape)
	}
	job, err := newJob(&dst)
	if err != nil {
		return nil, err
	}
	task := job.task
	copy(unsafe.Slice((*int64)(&task.src_strides[0]), len(src.Strides)), src.Strides)
	task.src = C.gb_copy_view{
		data: (*C.char)(src.Data), itemsize: C.int64_t(src.itemSize()), _type: C.int32_t(src.Type), ndim: task.dst.ndim,
		shape: &task.shape[0], strides: &task.src_strides[0],
	}
	return planned(job, C.gb_copy_plan(&task.copy, &task.dst, &task.src), dst.Type, src.Type)
}

// PlanFill prepares setting every element of dst to value: a bool, an integer, a
// float or a complex number, or the bytes of an element of dst.
func PlanFill(dst View, value any) (*Job, error) {
	if err := dst.check("dst"); err != nil {
		return nil, err
	}
	if raw, ok := value.([]byte); ok && int64(len(raw)) != dst.itemSize() {
		return nil, alloc.ErrInvalid.Errorf("value: %d bytes; an element of dst has %d", len(raw), dst.itemSize())
	}
	job, err := newJob(&dst)
	if err != nil {
		return nil, err
	}
	task := job.task
	kind, size, at := Raw, dst.itemSize(), unsafe.Pointer(&task.value[0])
	if raw, ok := value.([]byte); ok {
		kind = dst.Type
		at = C.CBytes(raw)
		defer C.free(at)
	} else if kind = scalar(at, value); kind == Raw {
		job.Close()
		return nil, alloc.ErrInvalid.Errorf("value: %s is not a number, and not the bytes of an element", fmt.Sprintf("%T", value))
	} else {
		size = kind.Size()
	}
	return planned(job, C.gb_copy_plan_fill(&task.copy, &task.dst, at, C.int(kind), C.int64_t(size)), dst.Type, kind)
}

// scalar writes a Go number and says what it is.
func scalar(at unsafe.Pointer, value any) Type {
	switch v := value.(type) {
	case bool:
		*(*bool)(at) = v
		return Bool
	case int:
		*(*int64)(at) = int64(v)
		return Int64
	case int64:
		*(*int64)(at) = v
		return Int64
	case uint64:
		*(*uint64)(at) = v
		return Uint64
	case float32:
		*(*float32)(at) = v
		return Float32
	case float64:
		*(*float64)(at) = v
		return Float64
	case complex128:
		*(*complex128)(at) = v
		return Complex128
	}
	return Raw
}

// Run goes on with the job for about as long as the budget says, on as many threads
// as it is worth, and reports whether it is done. After an error the contents of the
// target are undefined and the job cannot go on.
func (j *Job) Run(budget time.Duration) (done bool, err error) {
	for i := range int(j.task.copy.jobs) {
		if done, err = work.Resume(unsafe.Pointer(&j.task.copy.work[i]), budget.Nanoseconds()); err != nil || !done {
			return done, err
		}
	}
	return true, nil
}

// Progress is how much of the job is done, from 0 to 1.
func (j *Job) Progress() float64 {
	c, done := &j.task.copy, 0.0
	for i := range int(c.jobs) {
		done += float64(c.work[i].at) / float64(max(c.work[i].pieces, 1)) / float64(c.jobs)
	}
	if c.jobs == 0 {
		return 1
	}
	return done
}

// Close gives back what the job holds. The zero Job and a closed one may be closed.
func (j *Job) Close() {
	if j.task != nil {
		C.gb_copy_done(&j.task.copy)
		C.free(unsafe.Pointer(j.task))
		j.task = nil
	}
}
