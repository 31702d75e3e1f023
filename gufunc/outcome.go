package gufunc

// #include "call.h"
import "C"

import (
	"unsafe"

	"gridbuf/alloc"
)

// Outcome says how a run went.
type Outcome struct {
	Elements int64   // that were asked for; where leaves some out
	Failed   int64   // how many of them failed
	Codes    []uint8 // one per element of the outer shape in C order; nil when nothing failed
}

// AllGood, SomeFailed and AllFailed tell the three outcomes apart. Nothing failed where nothing ran.
func (o *Outcome) AllGood() bool    { return o == nil || o.Failed == 0 }
func (o *Outcome) SomeFailed() bool { return !o.AllGood() && o.Failed < o.Elements }
func (o *Outcome) AllFailed() bool  { return !o.AllGood() && o.Failed == o.Elements }

// outcome of a job that is done.
func (j *job) outcome() (*Outcome, error) {
	if j.run.no_memory != 0 {
		return nil, alloc.ErrNoMemory.Errorf("no memory left for the scratch space of a worker")
	}
	o := &Outcome{Elements: int64(j.run.nselected), Failed: int64(j.run.nfailed)}
	if o.Failed == 0 {
		return o, nil
	}
	c := j.call
	o.Codes = codesOf(j.run.codes, c.n, &c.outer_shape[0], &c.code_strides[0], int(c.outer_ndim))
	return o, nil
}

// codesOf brings n codes, which lie in the order of the loops, into C order.
func codesOf(codes *C.uint8_t, n C.int64_t, shape, steps *C.int64_t, ndim int) []uint8 {
	all := make([]uint8, 0, int(n))
	gatherCodes(&all, unsafe.Slice((*uint8)(codes), int(n)), unsafe.Slice((*int64)(shape), ndim), unsafe.Slice((*int64)(steps), ndim), 0)
	return all
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
