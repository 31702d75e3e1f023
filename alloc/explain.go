package alloc

import (
	"slices"
	"strconv"
	"strings"

	"gridbuf/internal/message"
	"gridbuf/internal/record"
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
		lines[i] = column(f.Term, -11) + f.Text
	}
	return strings.Join(lines, "\n")
}

// Explain says in words what the figures of a plan mean.
func (p *Plan) Explain() Explanation {
	if p.byteAlignment == 0 {
		return Explanation{{"plan", "empty; NewPlan makes one"}}
	}
	if len(p.shape) == 0 {
		return slices.Concat(Explanation{{"order", "a scalar: one element"}},
			p.explainAlignment(-1), p.explainBytes())
	}
	order := make([]int, len(p.shape)) // the indices from the largest stride to the smallest
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(p.layout[a]) - int(p.layout[b]) })
	fastest := order[len(order)-1]
	return slices.Concat(p.explainOrder(order), p.explainPadding(fastest),
		p.explainAlignment(fastest), p.explainBytes())
}

// ExplainFigures explains the figures of a plan of another program.
func ExplainFigures(dims []Dim, figures record.Figures) (Explanation, error) {
	n := len(dims)
	if len(figures) != record.Lists*n+record.Numbers {
		return nil, ErrInvalid.Errorf("plan: its shape, strides, padded_shape, aligned_index and "+
			"layout need an entry for each of its %d dims", n)
	}
	list := func(k int) []int64 { return figures[k*n : (k+1)*n] }
	numbers := figures[record.Lists*n:]
	p := Plan{
		shape: list(0), strides: list(1), paddedShape: list(2), alignedIndex: list(3),
		layout: make([]int32, n), dims: dims,
		itemSize: numbers[0], byteAlignment: numbers[1], offset: numbers[2], bytes: numbers[3],
		reserve: numbers[4],
	}
	for i, rank := range list(4) {
		p.layout[i] = int32(rank)
	}
	if p.byteAlignment <= 0 {
		return nil, ErrInvalid.Errorf("byte_alignment: %d; expected 1 or more bytes",
			p.byteAlignment)
	}
	return p.Explain(), nil
}

func (p *Plan) explainOrder(order []int) Explanation {
	names := make([]string, len(order))
	for k, i := range order {
		names[k] = p.dims[i].String()
	}
	fastest := order[len(order)-1]
	beside := "side by side"
	if step := p.strides[fastest]; step != p.itemSize {
		beside = grouped(step) + " bytes apart"
	}
	return Explanation{{"order", message.Format("%s from slowest to fastest: neighbours along "+
		"%s lie %s", strings.Join(names, ", "), p.dims[fastest], beside)}}
}

// reach is the bytes from the first element to the last.
func (p *Plan) reach() int64 {
	bytes := p.itemSize
	for i, n := range p.shape {
		if n == 0 {
			return 0
		}
		bytes += (n - 1) * max(p.strides[i], -p.strides[i])
	}
	return bytes
}

// described says whether the plan was read off memory that is there: what lies between its elements
// may belong to others.
func (p *Plan) described() bool { return p.reserve <= p.reach() }

func (p *Plan) explainPadding(fastest int) Explanation {
	dim, size, padded := p.dims[fastest], p.shape[fastest], p.paddedShape[fastest]
	if step := p.strides[fastest]; step != p.itemSize && size > 1 {
		return Explanation{{"padding", message.Format("unknown: a row along %s is %s elements "+
			"with others between them", dim, grouped(size))}}
	}
	if p.described() && padded != size {
		return Explanation{{"padding", message.Format("unknown: after the %s elements of each "+
			"row along %s lie %s bytes that are not this array's",
			grouped(size), dim, grouped((padded-size)*p.itemSize))}}
	}
	if padded == size {
		return Explanation{{"padding", message.Format("none: a row along %s is its %s elements",
			dim, grouped(size))}}
	}
	return Explanation{{"padding", message.Format("%d at the end of each row along %s: %s "+
		"elements = %s bytes a row",
		padded-size, dim, grouped(padded), grouped(padded*p.itemSize))}}
}

// explainAlignment says what lies on the boundary, and by how much a step along each slower index
// leaves it.
func (p *Plan) explainAlignment(fastest int) Explanation {
	text := message.Format("element %s starts on a %d-byte boundary", tuple(p.alignedIndex),
		p.byteAlignment)
	if slices.ContainsFunc(p.alignedIndex, func(a int64) bool { return a != 0 }) {
		text += message.Format("; element %s %d bytes after one",
			tuple(make([]int64, len(p.shape))), p.offset)
	}
	facts := Explanation{{"alignment", text}}
	if len(p.shape) < 2 {
		return facts
	}
	var off []string
	for i, stride := range p.strides {
		if shift := (stride%p.byteAlignment + p.byteAlignment) % p.byteAlignment; shift != 0 &&
			i != fastest {
			off = append(off, message.Format("%d per step in %s", shift, p.dims[i]))
		}
	}
	if len(off) == 0 {
		return append(facts, Fact{"", "and so does that element of every row"})
	}
	return append(facts, Fact{"", message.Format("other rows are shifted off it, in bytes: %s "+
		"(padding=True would align them)", strings.Join(off, ", "))})
}

func (p *Plan) explainBytes() Explanation {
	if p.described() {
		return amounts([]int64{p.bytes, max(p.reach()-p.bytes, 0), p.reach()},
			[]string{"elements", "between them that are not this array's",
				"from the first to the last"})
	}
	padded, share := int64(0), 0.0
	if p.bytes != 0 {
		padded = p.itemSize
		for _, n := range p.paddedShape {
			padded *= n
		}
		share = 100 * float64(padded-p.bytes) / float64(p.bytes)
	}
	return amounts([]int64{p.bytes, padded - p.bytes, max(p.reserve-padded, 0), p.reserve},
		[]string{
			"elements", "padding between them (" + strconv.FormatFloat(share, 'f', 1, 64) + " %)",
			"around them, for alignment and rounding", "reserved"})
}

// amounts are numbers of bytes, one below the other, the first one's also as people read them.
func amounts(numbers []int64, what []string) Explanation {
	if numbers[0] >= 10<<10 {
		what[0] += " (" + bytesText(numbers[0]) + ")"
	}
	width := 0
	for _, n := range numbers {
		width = max(width, len(grouped(n)))
	}
	facts := make(Explanation, len(numbers))
	for i, n := range numbers {
		facts[i].Text = column(grouped(n), width) + "  " + what[i]
	}
	facts[0].Term = "bytes"
	return facts
}

// column has blanks before the words, or with a negative width after them.
func column(words string, width int) string {
	if width < 0 {
		return words + strings.Repeat(" ", max(0, -width-len(words)))
	}
	return strings.Repeat(" ", max(0, width-len(words))) + words
}

// tuple writes an index as Python does: (1, 2), and (1,) for one entry.
func tuple(index []int64) string {
	words := make([]string, len(index))
	for i, n := range index {
		words[i] = strconv.FormatInt(n, 10)
	}
	if len(words) == 1 {
		words[0] += ","
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// grouped has a comma after every three digits.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// bytesText is how people read bytes: 12 KiB, 1.5 MiB.
func bytesText(n int64) string {
	size, unit := float64(n), 0
	for size >= 1024 && unit < 4 {
		size, unit = size/1024, unit+1
	}
	name := [...]string{"B", "KiB", "MiB", "GiB", "TiB"}[unit]
	if size == float64(int64(size)) {
		return grouped(int64(size)) + " " + name
	}
	tenths := strconv.FormatFloat(size, 'f', 1, 64)
	whole, rest, _ := strings.Cut(tenths, ".")
	n, _ = strconv.ParseInt(whole, 10, 64)
	return grouped(n) + "." + rest + " " + name
}
