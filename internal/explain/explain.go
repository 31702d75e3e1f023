// Package explain says in words what the figures of a plan mean: those of a Plan of package alloc,
// and those that the extension has of a plan in C.
package explain

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gridbuf/internal/message"
)

// Figures are those of a plan: lists with an entry for each index, and numbers of bytes.
type Figures struct {
	Dims                                      []string
	Shape, Strides, PaddedShape, AlignedIndex []int64
	Layout                                    []int64 // ranks of the strides; 0: the largest
	ItemSize, ByteAlignment, Offset           int64
	Bytes                                     int64 // of the elements alone
	Reserve                                   int64 // of the block
}

// Fact is what a sentence is about, empty where it goes on from the fact before, and the sentence.
type Fact struct{ Term, Text string }

// Facts explains the figures: order, padding, alignment and bytes.
func (f *Figures) Facts() []Fact {
	if len(f.Shape) == 0 {
		return slices.Concat([]Fact{{"order", "a scalar: one element"}},
			f.explainAlignment(-1), f.explainBytes())
	}
	order := make([]int, len(f.Shape)) // the indices from the largest stride to the smallest
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.Layout[a], f.Layout[b]) })
	fastest := order[len(order)-1]
	return slices.Concat(f.explainOrder(order), f.explainPadding(fastest),
		f.explainAlignment(fastest), f.explainBytes())
}

func (f *Figures) explainOrder(order []int) []Fact {
	names := make([]string, len(order))
	for k, i := range order {
		names[k] = f.Dims[i]
	}
	fastest := order[len(order)-1]
	beside := "side by side"
	if step := f.Strides[fastest]; step != f.ItemSize {
		beside = Grouped(step) + " bytes apart"
	}
	return []Fact{{"order", message.Format("%s from slowest to fastest: neighbours along "+
		"%s lie %s", strings.Join(names, ", "), f.Dims[fastest], beside)}}
}

// reach is the bytes from the first element to the last.
func (f *Figures) reach() int64 {
	bytes := f.ItemSize
	for i, n := range f.Shape {
		if n == 0 {
			return 0
		}
		bytes += (n - 1) * max(f.Strides[i], -f.Strides[i])
	}
	return bytes
}

// described says whether the plan was read off memory that is there: what lies between its elements
// may belong to others.
func (f *Figures) described() bool { return f.Reserve <= f.reach() }

func (f *Figures) explainPadding(fastest int) []Fact {
	dim, size, padded := f.Dims[fastest], f.Shape[fastest], f.PaddedShape[fastest]
	if step := f.Strides[fastest]; step != f.ItemSize && size > 1 {
		return []Fact{{"padding", message.Format("unknown: a row along %s is %s elements "+
			"with others between them", dim, Grouped(size))}}
	}
	if f.described() && padded != size {
		return []Fact{{"padding", message.Format("unknown: after the %s elements of each "+
			"row along %s lie %s bytes that are not this array's",
			Grouped(size), dim, Grouped((padded-size)*f.ItemSize))}}
	}
	if padded == size {
		return []Fact{{"padding", message.Format("none: a row along %s is its %s elements",
			dim, Grouped(size))}}
	}
	return []Fact{{"padding", message.Format("%d at the end of each row along %s: %s "+
		"elements = %s bytes a row",
		padded-size, dim, Grouped(padded), Grouped(padded*f.ItemSize))}}
}

// explainAlignment says what lies on the boundary, and by how much a step along each slower index
// leaves it.
func (f *Figures) explainAlignment(fastest int) []Fact {
	text := message.Format("element %s starts on a %d-byte boundary", Tuple(f.AlignedIndex),
		f.ByteAlignment)
	if slices.ContainsFunc(f.AlignedIndex, func(a int64) bool { return a != 0 }) {
		text += message.Format("; element %s %d bytes after one",
			Tuple(make([]int64, len(f.Shape))), f.Offset)
	}
	facts := []Fact{{"alignment", text}}
	if len(f.Shape) < 2 {
		return facts
	}
	var off []string
	for i, stride := range f.Strides {
		if shift := (stride%f.ByteAlignment + f.ByteAlignment) % f.ByteAlignment; shift != 0 &&
			i != fastest {
			off = append(off, message.Format("%d per step in %s", shift, f.Dims[i]))
		}
	}
	if len(off) == 0 {
		return append(facts, Fact{"", "and so does that element of every row"})
	}
	return append(facts, Fact{"", message.Format("other rows are shifted off it, in bytes: %s "+
		"(padding=True would align them)", strings.Join(off, ", "))})
}

func (f *Figures) explainBytes() []Fact {
	if f.described() {
		return amounts([]int64{f.Bytes, max(f.reach()-f.Bytes, 0), f.reach()},
			[]string{"elements", "between them that are not this array's",
				"from the first to the last"})
	}
	padded, share := int64(0), 0.0
	if f.Bytes != 0 {
		padded = f.ItemSize
		for _, n := range f.PaddedShape {
			padded *= n
		}
		share = 100 * float64(padded-f.Bytes) / float64(f.Bytes)
	}
	return amounts([]int64{f.Bytes, padded - f.Bytes, max(f.Reserve-padded, 0), f.Reserve},
		[]string{
			"elements", "padding between them (" + strconv.FormatFloat(share, 'f', 1, 64) + " %)",
			"around them, for alignment and rounding", "reserved"})
}

// amounts are numbers of bytes, one below the other, the first one's also as people read them.
func amounts(numbers []int64, what []string) []Fact {
	if numbers[0] >= 10<<10 {
		what[0] += " (" + bytesText(numbers[0]) + ")"
	}
	width := 0
	for _, n := range numbers {
		width = max(width, len(Grouped(n)))
	}
	facts := make([]Fact, len(numbers))
	for i, n := range numbers {
		facts[i].Text = Column(Grouped(n), width) + "  " + what[i]
	}
	facts[0].Term = "bytes"
	return facts
}

// Column has blanks before the words, or with a negative width after them.
func Column(words string, width int) string {
	if width < 0 {
		return words + strings.Repeat(" ", max(0, -width-len(words)))
	}
	return strings.Repeat(" ", max(0, width-len(words))) + words
}

// Tuple writes an index as Python does: (1, 2), and (1,) for one entry.
func Tuple(index []int64) string {
	words := make([]string, len(index))
	for i, n := range index {
		words[i] = strconv.FormatInt(n, 10)
	}
	if len(words) == 1 {
		words[0] += ","
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// Grouped has a comma after every three digits.
func Grouped(n int64) string {
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
		return Grouped(int64(size)) + " " + name
	}
	tenths := strconv.FormatFloat(size, 'f', 1, 64)
	whole, rest, _ := strings.Cut(tenths, ".")
	n, _ = strconv.ParseInt(whole, 10, 64)
	return Grouped(n) + "." + rest + " " + name
}
