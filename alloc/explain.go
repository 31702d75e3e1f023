package alloc

import (
	"strings"

	"gridbuf/internal/explain"
)

// Fact is one thing worth saying about a plan: what it is about, empty where it goes on from the
// fact before, and a sentence.
type Fact struct{ Term, Text string }

// Explanation is what a plan's figures mean: order, padding, alignment and bytes.
type Explanation []Fact

// String has a line for each fact, the terms in a column of their own.
func (e Explanation) String() string {
	lines := make([]string, len(e))
	for i, f := range e {
		lines[i] = explain.Column(f.Term, -11) + f.Text
	}
	return strings.Join(lines, "\n")
}

// Explain says in words what the figures of a plan mean.
func (p *Plan) Explain() Explanation {
	if p.byteAlignment == 0 {
		return Explanation{{"plan", "empty; NewPlan makes one"}}
	}
	figures := explain.Figures{
		Shape: p.shape, Strides: p.strides, PaddedShape: p.paddedShape,
		AlignedIndex: p.alignedIndex, ItemSize: p.itemSize, ByteAlignment: p.byteAlignment,
		Offset: p.offset, Bytes: p.bytes, Reserve: p.reserve,
	}
	for i, d := range p.dims {
		figures.Dims = append(figures.Dims, d.String())
		figures.Layout = append(figures.Layout, int64(p.layout[i]))
	}
	var e Explanation
	for _, f := range figures.Facts() {
		e = append(e, Fact(f))
	}
	return e
}
