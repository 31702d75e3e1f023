package gufunc

// #include "call.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/alloc"
)

// Outcome says how a run went.
type Outcome struct {
	Elements int64   // that were asked for; where leaves some out
	Failed   int64   // how many of them failed
	Codes    []uint8 // one per element of the outer shape in C order; nil when nothing failed
}

// AllGood, SomeFailed and AllFailed tell the three outcomes apart.
func (o *Outcome) AllGood() bool    { return o.Failed == 0 }
func (o *Outcome) SomeFailed() bool { return o.Failed > 0 && o.Failed < o.Elements }
func (o *Outcome) AllFailed() bool  { return o.Failed > 0 && o.Failed == o.Elements }

// Outcome of a job that is done.
func (j *Job) Outcome() (*Outcome, error) {
	if j.job.no_memory != 0 {
		return nil, alloc.ErrNoMemory.Errorf("no memory left for the scratch space of a worker")
	}
	o := &Outcome{Elements: int64(j.job.nselected), Failed: int64(j.job.nfailed)}
	if o.Failed == 0 {
		return o, nil
	}
	rank := int(j.call.outer_ndim)
	shape := slices.Clone(unsafe.Slice((*int64)(&j.call.outer_shape[0]), rank))
	steps := unsafe.Slice((*int64)(&j.call.code_strides[0]), rank)
	codes := unsafe.Slice((*uint8)(j.job.codes), int(j.call.n))
	o.Codes = make([]uint8, 0, len(codes))
	gatherCodes(&o.Codes, codes, shape, steps, 0)
	return o, nil
}

func gatherCodes(to *[]uint8, codes []uint8, shape, steps []int64, at int64) {
	if len(shape) == 0 {
		*to = append(*to, codes[at])
		return
	}
	for i := range shape[0] {
		gatherCodes(to, codes, shape[1:], steps[1:], at+i*steps[0])
	}
}
