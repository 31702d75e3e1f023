package gufunc

import "slices"

// loopNest is the loops of a call in the order in which they run: outermost first,
// neighbours joined wherever every operand allows it.
type loopNest struct {
	shape   []int64
	strides [][]int64 // per operand, then where
	codes   []int64   // per outer dimension: its step in the codes, which lie in loop order
}

// newLoopNest orders the loops by the strides of the outputs, then of the inputs, so that
// memory is walked forwards, and joins them.
func newLoopNest(l *outerLoops, inputs int) *loopNest {
	tracks := slices.Clone(l.strides)
	if l.where != nil {
		tracks = append(tracks, l.where)
	}
	priority := append(slices.Clone(l.strides[inputs:]), l.strides[:inputs]...)
	var order []int
	for d := range l.shape {
		if l.shape[d] == 1 {
			continue
		}
		at := len(order)
		for at > 0 && runsOutside(priority, d, order[at-1]) {
			at--
		}
		order = append(order, d)
		copy(order[at+1:], order[at:])
		order[at] = d
	}
	n := &loopNest{codes: make([]int64, len(l.shape)), strides: make([][]int64, len(tracks))}
	step := int64(1)
	for i := len(order) - 1; i >= 0; i-- {
		n.codes[order[i]] = step
		step *= l.shape[order[i]]
	}
	for _, d := range order {
		n.push(l.shape[d], tracks, d)
	}
	if len(n.shape) == 0 {
		n.shape = []int64{l.n}
		for i := range n.strides {
			n.strides[i] = []int64{0}
		}
	}
	return n
}

// runsOutside reports whether dimension d should be a loop outside of e: the first
// operand that moves along both decides.
func runsOutside(priority [][]int64, d, e int) bool {
	for _, s := range priority {
		if s[d] != 0 && s[e] != 0 && abs(s[d]) != abs(s[e]) {
			return abs(s[d]) > abs(s[e])
		}
	}
	return false
}

// push adds a loop inside the others, or joins it to the innermost.
func (n *loopNest) push(size int64, tracks [][]int64, d int) {
	last := len(n.shape) - 1
	join := last >= 0
	for i, s := range tracks {
		join = join && n.strides[i][last] == s[d]*size
	}
	if join {
		n.shape[last] *= size
		for i, s := range tracks {
			n.strides[i][last] = s[d]
		}
		return
	}
	n.shape = append(n.shape, size)
	for i, s := range tracks {
		n.strides[i] = append(n.strides[i], s[d])
	}
}
