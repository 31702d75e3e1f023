package gufunc

import (
	"slices"

	"gridbuf/internal/message"
	"gridbuf/internal/sorting"
)

func wrongShape(given, needed []int64) string {
	return message.Format("out: its shape is %v, the result's %v", given, needed)
}

// slower orders loops as memory lies: those that do not move first, then from the largest
// step to the smallest.
func slower(x, y loop) int {
	switch a, b := abs(x.in), abs(y.in); {
	case a == b:
		return 0
	case a == 0:
		return -1
	case b == 0:
		return 1
	case a > b:
		return -1
	}
	return 1
}

// nested joins neighbouring loops wherever everything that moves allows it, without loops of
// one turn.
func nested(loops []loop) []loop {
	var nest []loop
	for _, l := range loops {
		if l.n == 1 {
			continue
		}
		if last := len(nest) - 1; last >= 0 {
			o := &nest[last]
			join := o.in == l.in*l.n && o.where == l.where*l.n
			for i := range l.outs {
				join = join && o.outs[i] == l.outs[i]*l.n
			}
			if join {
				o.n, o.in, o.where, o.outs = o.n*l.n, l.in, l.where, l.outs
				o.axes = append(slices.Clip(o.axes), l.axes...)
				continue
			}
		}
		nest = append(nest, l)
	}
	return nest
}

func elements(loops []loop) int64 {
	n := int64(1)
	for _, l := range loops {
		n *= l.n
	}
	return n
}

// arrange orders and joins the loops. What may be folded in any order is folded as memory
// lies, forwards; it returns how far that moves the start of the array and of the mask.
func (p *reducePlanner) arrange() (in, where int64) {
	free := !p.q.Sequential && (!p.q.State || p.state.AnyOrder)
	if free {
		for i := range p.fold {
			if l := &p.fold[i]; l.in < 0 && l.n > 0 {
				in += (l.n - 1) * l.in
				where += (l.n - 1) * l.where
				l.in, l.where = -l.in, -l.where
			}
		}
		sorting.Stable(p.fold, slower)
	}
	sorting.Stable(p.kept, slower)
	p.kept, p.fold = nested(p.kept), nested(p.fold)
	if len(p.fold) == 0 {
		p.fold = []loop{{n: 1}}
	}
	return in, where
}

// across reports whether outputs are folded side by side: they are neighbours in memory, or
// the rows are short.
func (p *reducePlanner) across() bool {
	if len(p.kept) == 0 {
		return false
	}
	kept, fold := p.kept[len(p.kept)-1], p.fold[len(p.fold)-1]
	if kept.n < 2 || kept.n < 4 && fold.n > kept.n {
		return false
	}
	if beside := slower(fold, kept) < 0; beside {
		return kept.n >= narrow || kept.n >= fold.n
	}
	return fold.n < narrow && kept.n > fold.n
}

// narrow is how many outputs are worth a call of their own for each folded element.
const narrow = 16
