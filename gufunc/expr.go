package gufunc

import (
	"math"
	"math/bits"
	"strconv"
)

// expr is a computed dimension: sums, products and exact quotients of names and
// integers.
type expr struct {
	op          byte // opName, opNumber, or one of + - * /
	name        string
	number      int64
	dim         int // of opName, once bound
	left, right *expr
	at          int
}

const (
	opName   = 'n'
	opNumber = '#'
	maxDepth = 100 // of parentheses
)

func (e *expr) String() string {
	switch e.op {
	case opName:
		return e.name
	case opNumber:
		return strconv.FormatInt(e.number, 10)
	}
	l, r := e.left.String(), e.right.String()
	if e.op == '*' || e.op == '/' {
		if e.left.op == '+' || e.left.op == '-' {
			l = "(" + l + ")"
		}
	}
	if simple := e.right.op == opName || e.right.op == opNumber; !simple && (e.op != '+' && !(e.op == '-' && (e.right.op == '*' || e.right.op == '/'))) {
		r = "(" + r + ")"
	}
	return l + string(e.op) + r
}

func (p *parser) sum() (*expr, error) { return p.chain("+-", 0, (*parser).product) }

func (p *parser) product(depth int) (*expr, error) { return p.chain("*/", depth, (*parser).atom) }

// chain reads operands joined by left-associative operators.
func (p *parser) chain(operators string, depth int, operand func(*parser, int) (*expr, error)) (*expr, error) {
	e, err := operand(p, depth)
	for err == nil {
		c := p.next()
		if c == 0 || c != operators[0] && c != operators[1] || c == '-' && p.at+1 < len(p.text) && p.text[p.at+1] == '>' {
			break
		}
		at := p.at
		p.at++
		var right *expr
		right, err = operand(p, depth)
		e = &expr{op: c, left: e, right: right, at: at}
	}
	return e, err
}

func (p *parser) atom(depth int) (*expr, error) {
	p.skip()
	at := p.at
	if p.next() == '(' {
		if depth == maxDepth {
			return nil, p.fail("signature: parentheses nest deeper than %d", maxDepth)
		}
		p.at++
		e, err := p.chain("+-", depth+1, (*parser).product)
		if err == nil && !p.accept(")") {
			err = p.fail("signature: expected ')' in a computed dimension")
		}
		return e, err
	}
	if name := p.word(); name != "" {
		return &expr{op: opName, name: name, at: at}, nil
	}
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	if p.at == at {
		return nil, p.fail("signature: expected a name or an integer")
	}
	n, err := strconv.ParseInt(p.text[at:p.at], 10, 64)
	if err != nil {
		return nil, p.s.errorAt(at, "signature: %s does not fit in 64 bits", p.text[at:p.at])
	}
	return &expr{op: opNumber, number: n, at: at}, nil
}

// bind resolves names against the dimensions that inputs and outputs mention.
func (e *expr) bind(s *Signature) error {
	if e.op == opNumber {
		return nil
	}
	if e.op != opName {
		if err := e.left.bind(s); err != nil {
			return err
		}
		return e.right.bind(s)
	}
	for i := range s.Dims {
		if d := &s.Dims[i]; d.Name == e.name && !d.Computed() {
			e.dim = i
			return nil
		}
	}
	return s.errorAt(e.at, "signature: %s is in no operand, so a dimension cannot be computed from it", e.name)
}

// value computes a size; sizes[i] < 0 is a dimension that is not bound.
func (e *expr) value(s *Signature, sizes []int64) (int64, error) {
	switch e.op {
	case opNumber:
		return e.number, nil
	case opName:
		if sizes[e.dim] < 0 {
			return 0, s.errorAt(e.at, "no operand binds the core dimension %s", e.name)
		}
		return sizes[e.dim], nil
	}
	l, err := e.left.value(s, sizes)
	if err != nil {
		return 0, err
	}
	r, err := e.right.value(s, sizes)
	if err != nil {
		return 0, err
	}
	v, ok := compute(e.op, l, r)
	if !ok {
		if e.op == '/' {
			return 0, s.errorAt(e.at, "%d/%d in a computed dimension is not a whole number", l, r)
		}
		return 0, s.errorAt(e.at, "%d%c%d in a computed dimension does not fit in 64 bits", l, e.op, r)
	}
	return v, nil
}

// compute is exact arithmetic; false when there is no exact result.
func compute(op byte, l, r int64) (int64, bool) {
	switch op {
	case '+':
		v := l + r
		return v, (v > l) == (r > 0)
	case '-':
		v := l - r
		return v, (v < l) == (r > 0)
	case '*':
		hi, lo := bits.Mul64(magnitude(l), magnitude(r))
		if hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		return l * r, true
	}
	if r == 0 || l%r != 0 || l == math.MinInt64 && r == -1 {
		return 0, false
	}
	return l / r, true
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}
