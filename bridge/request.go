package bridge

import (
	"gridbuf/alloc"
	"gridbuf/gufunc"
)

// A request crosses the border as a list of 64-bit integers, which is also the key under
// which the extension keeps the answer:
//
//	kernel, operands | mask<<8 | sizes<<9 | axis<<10 | its name<<11 | axes<<12 | keepdims<<13, then per operand (and the mask)
//	type | swapped<<8 | misaligned<<9 | absent<<10 | named<<11 | ndim<<16,
//	shape, strides, names where there are any; then the axis, or its name, or how many entries axes has and how many axes each,
//	and which; then the known sizes.

// reader takes integers off the front; short is set when there are not enough.
type reader struct {
	encoding []int64
	short    bool
}

func (r *reader) take(n int64) []int64 {
	if n < 0 || n > int64(len(r.encoding)) {
		r.short = true
		return make([]int64, max(min(n, alloc.MaxDims+gufunc.MaxCore), 0))
	}
	taken := r.encoding[:n:n]
	r.encoding = r.encoding[n:]
	return taken
}

func (r *reader) operand() gufunc.Operand {
	head := r.take(1)[0]
	o := gufunc.Operand{Type: gufunc.Type(head & 0xff), Swapped: head>>8&1 != 0, Misaligned: head>>9&1 != 0, Absent: head>>10&1 != 0}
	ndim := head >> 16 & 0xff
	o.Shape, o.Strides = r.take(ndim), r.take(ndim)
	if head>>11&1 != 0 {
		o.Dims = []alloc.Dim{}
		for _, d := range r.take(ndim) {
			o.Dims = append(o.Dims, alloc.Dim(d))
		}
	}
	return o
}

func (r *reader) axes(q *gufunc.Request, flags int64) {
	q.KeepDims = flags>>13&1 != 0
	if flags>>10&1 != 0 {
		q.Axis = &r.take(1)[0]
	}
	if flags>>11&1 != 0 {
		name := alloc.Dim(r.take(1)[0])
		q.AxisName = &name
	}
	if flags>>12&1 != 0 {
		q.Axes = [][]int64{}
		for n := r.take(1)[0]; n > 0 && !r.short; n-- {
			q.Axes = append(q.Axes, r.take(r.take(1)[0]))
		}
	}
}

func readRequest(encoding []int64) (*gufunc.Request, error) {
	r := reader{encoding: encoding}
	head := r.take(2)
	q := &gufunc.Request{Kernel: int(head[0])}
	for range head[1] & 0xff {
		q.Operands = append(q.Operands, r.operand())
	}
	if head[1]>>8&1 != 0 {
		mask := r.operand()
		q.Where = &mask
	}
	r.axes(q, head[1])
	if head[1]>>9&1 != 0 {
		q.Sizes = r.take(int64(len(r.encoding)))
	}
	if r.short {
		return nil, refused("a request of %d integers ends too early", len(encoding))
	}
	return q, nil
}
