package gufunc

// A reduction crosses the border as 64-bit integers, which are also the key under which the extension
// keeps the answer:
//
//	kernel | state<<32, flags | mask<<8 | results<<16 | axes<<24, the axes, then the array,
//	the mask and the results as operands of a call.
const (
	wordKeepDims = 1 << iota
	wordSequential
	wordOneByOne
	wordIdentity
)

// ParseReduceRequest reads a request from the extension.
func ParseReduceRequest(encoding []int64) (*ReduceRequest, error) {
	r := reader{encoding: encoding}
	head := r.take(2)
	flags := head[1]
	q := &ReduceRequest{
		Kernel: int(head[0] & 0xffffffff), State: head[0]>>32 != 0,
		KeepDims: flags&wordKeepDims != 0, Sequential: flags&wordSequential != 0,
		OneByOne: flags&wordOneByOne != 0, Identity: flags&wordIdentity != 0,
	}
	for _, a := range r.take(flags >> 24 & 0xff) {
		q.Axes = append(q.Axes, int(a))
	}
	q.Array = r.operand()
	if flags>>8&1 != 0 {
		mask := r.operand()
		q.Where = &mask
	}
	for range flags >> 16 & 0xff {
		q.Outs = append(q.Outs, r.operand())
	}
	if r.short {
		return nil, setupError("a request of %d integers ends too early", len(encoding))
	}
	return q, nil
}
