package gufunc

// #include "call.h"
import "C"

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"gridbuf/alloc"
)

// Limits of a gufunc; the C side has arrays of these sizes (call.h).
const (
	MaxOperands = C.GB_GU_MAXARGS // inputs and outputs together
	// core dimensions of one operand, and distinct ones of a signature
	MaxCore = C.GB_GU_MAXCORE
)

// Signature is a parsed signature: NumPy's grammar with "?" (the dimension may be
// missing), "|1" (size 1 broadcasts), integers, computed output dimensions such as
// "(m),(n)->(m+n-1)", and uniform parameters after a semicolon: "(n)->();k:i64".
type Signature struct {
	Text     string
	Operands []Core // inputs, then outputs
	Inputs   int
	// distinct core dimensions: names and integers in order of first use, then computed ones
	Dims     []CoreDim
	Uniforms []Uniform
	parsed   bool // by ParseSignature: its numbers fit each other
}

// Core is the core of one operand.
type Core struct {
	Dims []Use
	At   int // of its opening parenthesis
}

// Use is one core dimension as an operand mentions it.
type Use struct {
	Dim       int  // index into Signature.Dims
	Broadcast bool // "|1": size 1 stands for any size
	At        int
}

// CoreDim is one distinct core dimension.
type CoreDim struct {
	Name     string // "n", "3", or the text of a computed dimension
	Size     int64  // of an integer; else -1
	Optional bool   // "?"
	expr     *expr  // of a computed dimension; else nil
	At       int    // of its first use
}

// Computed reports whether the size follows from other dimensions.
func (d *CoreDim) Computed() bool { return d.expr != nil }

// Uniform is a parameter that is the same for every element of a call.
type Uniform struct {
	Name string
	Type alloc.Type
	At   int
}

// Outputs is how many results there are.
func (s *Signature) Outputs() int { return len(s.Operands) - s.Inputs }

// Scalar reports whether no operand has a core dimension.
func (s *Signature) Scalar() bool { return len(s.Dims) == 0 }

func (s *Signature) String() string { return s.Text }

// ParseSignature reads a signature. Its errors show the place.
func ParseSignature(text string) (*Signature, error) {
	p := parser{s: &Signature{Text: text}, text: text}
	if err := p.parse(); err != nil {
		return nil, err
	}
	p.s.parsed = true
	return p.s, nil
}

type parser struct {
	s    *Signature
	text string
	at   int
}

// skip passes over what NumPy takes for white space: blanks and tabs.
func (p *parser) skip() {
	for p.at < len(p.text) && strings.IndexByte(" \t", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next is the byte to come, 0 at the end.
func (p *parser) next() byte {
	p.skip()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) accept(token string) bool {
	p.skip()
	if !strings.HasPrefix(p.text[p.at:], token) {
		return false
	}
	p.at += len(token)
	return true
}

func (p *parser) fail(format string, args ...any) error {
	return p.s.errorAt(p.at, format, args...)
}

func (p *parser) parse() error {
	if p.text == "" {
		return &SignatureError{Message: "signature: it is empty; write for example \"(n),(n)->()\"",
			Signature: " "}
	}
	if !p.accept("->") {
		if err := p.operands(false); err != nil {
			return err
		}
		if !p.accept("->") {
			return p.fail("signature: expected ',' or '->' after an operand")
		}
	}
	p.s.Inputs = len(p.s.Operands)
	if p.next() != '(' {
		return p.fail("signature: expected an output, such as '()', after '->'")
	}
	if err := p.operands(true); err != nil {
		return err
	}
	if p.accept(";") {
		if err := p.uniforms(); err != nil {
			return err
		}
	}
	if p.next() != 0 {
		return p.fail("signature: expected ',', ';' or the end after an operand")
	}
	return p.finish()
}

func (p *parser) operands(outputs bool) error {
	for {
		if p.next() != '(' {
			return p.fail("signature: expected '(' at the start of an operand")
		}
		if len(p.s.Operands) == MaxOperands {
			return p.fail("signature: more than %d operands; at most that many are allowed",
				int(MaxOperands))
		}
		if err := p.core(outputs); err != nil {
			return err
		}
		if !p.accept(",") {
			return nil
		}
	}
}

func (p *parser) core(output bool) error {
	c := Core{At: p.at}
	p.at++
	for first := true; !p.accept(")"); first = false {
		if !first && !p.accept(",") {
			return p.fail("signature: expected ',' or ')' after a dimension")
		}
		p.skip()
		use := Use{At: p.at}
		if len(c.Dims) == MaxCore {
			return p.fail("signature: more than %d core dimensions in an operand; at most that "+
				"many are allowed", int(MaxCore))
		}
		if err := p.dim(&use, output); err != nil {
			return err
		}
		c.Dims = append(c.Dims, use)
	}
	p.s.Operands = append(p.s.Operands, c)
	return nil
}

// dim reads a name, an integer or, in an output, an expression; then "?" and "|1".
func (p *parser) dim(use *Use, output bool) error {
	e, err := p.sum()
	if err != nil {
		return err
	}
	d := CoreDim{Size: -1, At: use.At}
	switch e.op {
	case opName:
		d.Name = e.name
	case opNumber:
		d.Name, d.Size = strconv.FormatInt(e.number, 10), e.number
		if e.number < 1 {
			return p.s.errorAt(use.At, "signature: a fixed size must be 1 or more, got %d",
				e.number)
		}
	default:
		if !output {
			return p.s.errorAt(use.At,
				"signature: a computed dimension is allowed in an output only")
		}
		d.Name, d.expr = e.String(), e
	}
	if d.expr == nil && p.text[use.At] == '(' {
		return p.s.errorAt(use.At, "signature: expected %s without parentheses", d.Name)
	}
	end := len(strings.TrimRight(p.text[:p.at], " \t"))
	if p.next() == '?' {
		if d.expr != nil {
			return p.fail("signature: '?' belongs behind a name or an integer, not behind a " +
				"computed dimension")
		}
		if p.at != end {
			return p.fail("signature: '?' belongs directly behind %s", d.Name)
		}
		p.at++
		d.Optional = true
	}
	if p.next() == '|' {
		if !p.accept("|1") {
			return p.fail("signature: only '|1' may follow a dimension")
		}
		if output {
			return p.s.errorAt(p.at-2,
				"signature: '|1' is allowed in an input only; an output has the broadcast size")
		}
		use.Broadcast = true
	}
	use.Dim, err = p.intern(d)
	return err
}

// intern finds the dimension among those seen or adds it. A name is optional
// everywhere or nowhere, as in NumPy.
func (p *parser) intern(d CoreDim) (int, error) {
	for i := range p.s.Dims {
		known := &p.s.Dims[i]
		if known.Name != d.Name {
			continue
		}
		if known.Optional != d.Optional {
			return 0, p.s.errorAt(d.At,
				"signature: %s is written with '?' in one place and without in another", d.Name)
		}
		return i, nil
	}
	if len(p.s.Dims) == MaxCore {
		return 0, p.s.errorAt(d.At,
			"signature: more than %d distinct core dimensions; at most that many are allowed",
			int(MaxCore))
	}
	p.s.Dims = append(p.s.Dims, d)
	return len(p.s.Dims) - 1, nil
}

// finish moves computed dimensions behind the named ones and ties their names down.
func (p *parser) finish() error {
	s := p.s
	var order []int
	for _, computed := range []bool{false, true} {
		for i := range s.Dims {
			if s.Dims[i].Computed() == computed {
				order = append(order, i)
			}
		}
	}
	dims, position := make([]CoreDim, len(order)), make([]int, len(order))
	for to, from := range order {
		dims[to], position[from] = s.Dims[from], to
	}
	s.Dims = dims
	for _, c := range s.Operands {
		for i := range c.Dims {
			c.Dims[i].Dim = position[c.Dims[i].Dim]
		}
	}
	for i := range s.Dims {
		if d := &s.Dims[i]; d.Computed() {
			if err := d.expr.bind(s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *parser) uniforms() error {
	for {
		p.skip()
		u := Uniform{At: p.at, Name: p.word()}
		if u.Name == "" {
			return p.fail("signature: expected the name of a uniform parameter")
		}
		if !p.accept(":") {
			return p.fail("signature: expected ':' and a type after the uniform parameter %s",
				u.Name)
		}
		p.skip()
		at := p.at
		t, ok := uniformTypes[p.word()]
		if !ok {
			return p.s.errorAt(at,
				"signature: unknown type of a uniform parameter; allowed are bool, i8 to i64, u8 "+
					"to u64, f32 and f64")
		}
		u.Type = t
		for _, v := range p.s.Uniforms {
			if v.Name == u.Name {
				return p.s.errorAt(u.At, "signature: the uniform parameter %s appears twice",
					u.Name)
			}
		}
		p.s.Uniforms = append(p.s.Uniforms, u)
		if !p.accept(",") {
			return nil
		}
	}
}

// word reads an identifier; empty when there is none.
func (p *parser) word() string {
	p.skip()
	start := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (p.at == start || c < '0' || c > '9') {
			break
		}
		p.at++
	}
	return p.text[start:p.at]
}

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
	simple := e.right.op == opName || e.right.op == opNumber
	product := e.right.op == '*' || e.right.op == '/'
	if !simple && e.op != '+' && (e.op != '-' || !product) {
		r = "(" + r + ")"
	}
	return l + string(e.op) + r
}

func (p *parser) sum() (*expr, error) { return p.chain("+-", 0, (*parser).product) }

func (p *parser) product(depth int) (*expr, error) { return p.chain("*/", depth, (*parser).atom) }

// chain reads operands joined by left-associative operators.
func (p *parser) chain(operators string, depth int, operand func(*parser, int) (*expr,
	error)) (*expr, error) {
	e, err := operand(p, depth)
	for err == nil {
		c := p.next()
		if c == 0 || c != operators[0] && c != operators[1] || c == '-' && p.at+1 < len(p.text) &&
			p.text[p.at+1] == '>' {
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
	return s.errorAt(e.at,
		"signature: %s is in no operand, so a dimension cannot be computed from it", e.name)
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
		return 0, s.errorAt(e.at, "%d%c%d in a computed dimension does not fit in 64 bits", l, e.op,
			r)
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
