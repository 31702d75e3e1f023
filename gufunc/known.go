package gufunc

import (
	"slices"
	"sync"

	"gridbuf/alloc"
)

// recentCalls are the resolved calls that GUFunc.Call keeps for operands of the same types, shapes,
// strides and names.
type recentCalls struct {
	mu    sync.Mutex
	calls [4]*knownCall
	next  int // the oldest, which goes first
}

// knownCall is a resolved call with the operands that led to it.
type knownCall struct {
	call      *Call
	signature *Signature
	flags     Flags
	operands  []Operand // of the request: the given ones, then the absent ones
	given     int
	where     *Operand
	plans     []*alloc.Plan // of the absent ones
	holders   int           // runs, and recentCalls
}

// known is the resolved call of these operands, to be dropped: a recent one or a new one.
func (g *GUFunc) known(operands []Array, where *Array) (*knownCall, error) {
	if k := g.recent.find(g, operands, where); k != nil {
		return k, nil
	}
	k := &knownCall{signature: g.Signature, flags: g.Flags, given: len(operands), holders: 2}
	for i := range g.Signature.Operands {
		o := Operand{Absent: true}
		if i < len(operands) {
			o = operands[i].clone()
		}
		k.operands = append(k.operands, o)
	}
	if where != nil {
		mask := where.clone()
		k.where = &mask
	}
	if err := k.resolve(g); err != nil {
		return nil, err
	}
	g.recent.add(k)
	return k, nil
}

func (k *knownCall) resolve(g *GUFunc) error {
	types := make([]TypeArg, g.Signature.Inputs)
	for i := range types {
		types[i].Type = k.operands[i].Type
	}
	n, err := g.SelectKernel(types)
	if err != nil {
		return err
	}
	k.call, err = g.Resolve(&Request{Kernel: n, Operands: k.operands, Where: k.where})
	if err != nil {
		return err
	}
	for i := k.given; i < len(k.operands); i++ {
		p, err := k.call.OutputPlan(i)
		if err != nil {
			k.call.Free()
			return err
		}
		k.plans = append(k.plans, p)
	}
	return nil
}

func (r *recentCalls) find(g *GUFunc, operands []Array, where *Array) *knownCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.calls {
		if k != nil && k.fits(g, operands, where) {
			k.holders++
			return k
		}
	}
	return nil
}

func (r *recentCalls) add(k *knownCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if oldest := r.calls[r.next]; oldest != nil {
		oldest.release()
	}
	r.calls[r.next] = k
	r.next = (r.next + 1) % len(r.calls)
}

// drop ends one holding.
func (r *recentCalls) drop(k *knownCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k.release()
}

// release is called with the lock held.
func (k *knownCall) release() {
	if k.holders--; k.holders == 0 {
		k.call.Free()
	}
}

// free ends the calls of a GUFunc that was collected.
func (r *recentCalls) free() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, k := range r.calls {
		if k != nil {
			k.release()
		}
		r.calls[i] = nil
	}
}

// fits says whether resolving these operands would give the same call.
func (k *knownCall) fits(g *GUFunc, operands []Array, where *Array) bool {
	if k.signature != g.Signature || k.flags != g.Flags || k.given != len(operands) ||
		(k.where == nil) != (where == nil) {
		return false
	}
	for i := range operands {
		if !k.operands[i].equals(&operands[i].Operand) {
			return false
		}
	}
	return where == nil || k.where.equals(&where.Operand)
}

func (o *Operand) equals(other *Operand) bool {
	return o.Type == other.Type && o.Swapped == other.Swapped &&
		o.Misaligned == other.Misaligned && o.Absent == other.Absent &&
		slices.Equal(o.Shape, other.Shape) && slices.Equal(o.Strides, other.Strides) &&
		(o.Dims == nil) == (other.Dims == nil) && slices.Equal(o.Dims, other.Dims)
}

func (o *Operand) clone() Operand {
	made := *o
	made.Shape, made.Strides = slices.Clone(o.Shape), slices.Clone(o.Strides)
	made.Dims = slices.Clone(o.Dims)
	return made
}
