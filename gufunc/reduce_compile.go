package gufunc

// #include <stdlib.h>
// #include "reduction.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/internal/message"
)

// How a reduction is cut up. Nothing here depends on the number of workers, so neither do
// the results.
const (
	taskElements = 1 << 16 // elements that are worth a task
	manyTasks    = 32      // so many tiles of outputs need no blocks
	mostTasks    = 64
	widest       = 8192  // bytes of accumulators side by side
	statesBeside = 32    // states side by side
	stateRows    = 128   // elements of each that are turned at once
	stagedPiece  = 2048  // elements
	longPiece    = 65536 // elements of a row that one call of the loop folds
	laneBytes    = 4096
)

func (p *reducePlanner) compile() error {
	c, q := p.c, p.q
	in, where := p.arrange()
	c.in_offset, c.where_offset = C.int64_t(in), C.int64_t(where)
	c.nkept, c.nfold, c.nout = C.int32_t(len(p.kept)), C.int32_t(len(p.fold)),
		C.int32_t(len(q.Outs))
	c.kept_n, c.fold_n = C.int64_t(elements(p.kept)), C.int64_t(elements(p.fold))
	if int64(c.kept_n) > maxElements || int64(c.fold_n) > maxElements {
		return setupError("array: too many elements to reduce")
	}
	for _, a := range q.Axes {
		c.gone |= 1 << a
	}
	p.operands()
	p.function()
	p.sizes()
	p.tasks()
	p.engineCall()
	return nil
}

func (p *reducePlanner) operands() {
	c, q := p.c, p.q
	for d, l := range p.kept {
		c.kept_shape[d], c.kept_where[d], c.in.strides[d] = C.int64_t(l.n), C.int64_t(l.where),
			C.int64_t(l.in)
	}
	for d, l := range p.fold {
		c.fold_shape[d], c.fold_where[d], c.fold_in[d] = C.int64_t(l.n), C.int64_t(l.where),
			C.int64_t(l.in)
	}
	describe(&c.in, &q.Array, p.to)
	for i := range q.Outs {
		o := resultOf(c, i)
		describe(o, &q.Outs[i], p.results[i])
		for d, l := range p.kept {
			o.strides[d] = C.int64_t(l.outs[i])
		}
	}
	// Codes lie in the order of the kept loops.
	steps, step := make([]int64, len(p.shape)), int64(1)
	for d := len(p.kept) - 1; d >= 0; d-- {
		p.codeSteps(steps, p.kept[d], step)
		step *= p.kept[d].n
	}
	c.out_ndim = C.int32_t(len(p.shape))
	for d := range p.shape {
		c.out_shape[d], c.code_strides[d] = C.int64_t(p.shape[d]), C.int64_t(steps[d])
	}
}

// codeSteps gives the axes that were joined into a loop their steps in the codes.
func (p *reducePlanner) codeSteps(steps []int64, l loop, step int64) {
	for i := len(l.axes) - 1; i >= 0; i-- {
		steps[l.axes[i]] = step
		step *= p.shape[l.axes[i]]
	}
}

func (p *reducePlanner) function() {
	c, q := p.c, p.q
	set(&c.flags, p.across(), C.GB_GU_R_ACROSS)
	set(&c.flags, q.Sequential, C.GB_GU_R_SEQUENTIAL)
	set(&c.flags, q.Where != nil, C.GB_GU_R_MASKED)
	set(&c.flags, q.Identity, C.GB_GU_R_IDENTITY)
	inner := p.fold[len(p.fold)-1].n
	set(&c.flags, c.in.staged != 0 || c.flags&C.GB_GU_R_ACROSS == 0 && len(p.fold) > 1 &&
		inner < C.GB_GU_SHORT_RUN, C.GB_GU_R_STAGED)
	if !q.State {
		set(&c.flags, p.kernel.Folds && !q.OneByOne, C.GB_GU_R_IN_PLACE)
		c.form, c.loop, c.data = C.int32_t(p.kernel.Form), pointer(p.kernel.Function),
			pointer(p.kernel.Data)
		c.item = C.int64_t(p.to.Size())
		return
	}
	c.flags |= C.GB_GU_R_STATE
	s, size := &c.state, len(p.state.Init)
	*(*unsafe.Pointer)(unsafe.Pointer(&s.step)) = pointer(p.state.Step)
	*(*unsafe.Pointer)(unsafe.Pointer(&s.merge)) = pointer(p.state.Merge)
	*(*unsafe.Pointer)(unsafe.Pointer(&s.final)) = pointer(p.state.Final)
	s.data, s.size = pointer(p.state.Data), C.int64_t(size)
	s.init = C.CBytes(p.state.Init)
	c.item = C.int64_t((size + 63) &^ 63)
}

// sizes works out what a worker holds at once.
func (p *reducePlanner) sizes() {
	c := p.c
	across := c.flags&C.GB_GU_R_ACROSS != 0
	inner := int64(1)
	if across {
		inner = p.kept[len(p.kept)-1].n
	}
	width, piece, lanes := int64(1), int64(longPiece), int64(1)
	switch {
	case across && c.flags&C.GB_GU_R_STATE != 0:
		width, piece = min(inner, statesBeside), stateRows
	case across:
		width, piece = min(inner, widest/int64(c.item)), 1
	case c.flags&(C.GB_GU_R_STAGED|C.GB_GU_R_MASKED) != 0:
		piece = stagedPiece
	}
	piece = max(min(piece, int64(c.fold_n)), 1)
	if c.flags&(C.GB_GU_R_IN_PLACE|C.GB_GU_R_SEQUENTIAL|C.GB_GU_R_STATE) == 0 && !across {
		for lanes*int64(c.item) < laneBytes && lanes < 512 && lanes*8 <= int64(c.fold_n) {
			lanes *= 2
		}
	}
	c.width, c.piece, c.lanes = C.int64_t(width), C.int64_t(piece), C.int64_t(lanes)
	var s scratch
	item, staged, masked := int64(c.item), c.flags&C.GB_GU_R_STAGED != 0,
		c.flags&C.GB_GU_R_MASKED != 0
	kernelItem := int64(c.in.kernel_item)
	s.room((p.levels() + 1) * width * item)
	switch {
	case c.flags&C.GB_GU_R_STATE != 0 && (staged || across):
		c.stage_at = s.room(width * ((piece*kernelItem+63)&^63 + 64)) // GB_GU_R_COLUMN
	case staged || masked:
		c.stage_at = s.room(max(width, piece) * kernelItem)
	}
	if masked && (c.in.from != c.in.to || c.in.swapped != 0) {
		c.raw_at = s.room(max(width, piece) * int64(c.in.item))
	}
	if lanes > 1 {
		c.lanes_at = s.room(2 * lanes * item)
	}
	c.status_at = s.room(2 * max(width, lanes))
	c.scratch = C.int64_t(s)
}

// levels is how many accumulators one above the other there are. The order counts: only one.
func (p *reducePlanner) levels() int64 {
	c := p.c
	calls := int64(c.fold_n)
	if c.flags&C.GB_GU_R_ACROSS == 0 {
		calls = calls / min(int64(c.piece), max(p.fold[len(p.fold)-1].n, 1))
	}
	levels := int64(1)
	for ; p.divisible() && calls > C.GB_GU_R_CASCADE &&
		levels < C.GB_GU_R_LEVELS; calls /= C.GB_GU_R_CASCADE {
		levels++
	}
	if c.flags&C.GB_GU_R_STATE != 0 {
		levels = 1
	}
	c.levels = C.int32_t(levels)
	return levels
}

// divisible reports whether what is folded may be cut: its parts can be joined.
func (p *reducePlanner) divisible() bool {
	masked := p.c.flags&C.GB_GU_R_MASKED != 0
	return p.q.State || !p.q.Sequential && (!masked || p.q.Identity)
}

func (p *reducePlanner) tasks() {
	c := p.c
	kept, fold, width := int64(c.kept_n), int64(c.fold_n), int64(c.width)
	tile := max(width, taskElements/max(fold, 1), 1)
	tiles := (kept + tile - 1) / tile
	block, blocks := max(fold, 1), int64(1)
	if tiles > 0 && tiles < manyTasks && p.divisible() {
		beside := min(width, kept)
		block = max((fold+mostTasks/tiles-1)/(mostTasks/tiles), taskElements/beside, 1)
		block = (block + 63) &^ 63
		blocks = max((fold+block-1)/block, 1)
	}
	c.tile, c.tiles, c.block, c.blocks = C.int64_t(tile), C.int64_t(tiles), C.int64_t(block),
		C.int64_t(blocks)
}

// engineCall makes the tasks the elements of a call, whose one operand counts them.
func (p *reducePlanner) engineCall() {
	c := p.c.call
	c.nin, c.nop, c.ndim = 1, 1, 1
	c.form, c.fp_mask, c.flags = C.GB_GU_STATUS_LOOP, C.int32_t(p.g.Flags), p.kernel.flags()
	c.function = unsafe.Pointer(C.gb_gu_reduce_tasks)
	c.n, c.chunk, c.block = p.c.tiles*p.c.blocks, 1, 1
	c.nchunks, c.shape[0] = c.n, c.n
	o := operandOf(c, 0)
	o.from, o.to, o.item, o.kernel_item, o.core_items = C.GB_U8, C.GB_U8, 1, 1, 1
	o.strides[0] = 1
	c.scratch, c.status_at, c.select_at, c.picked_at = 256, 64, 128, 192
}

func resultOf(r *C.gb_gu_reduction, i int) *C.gb_gu_operand {
	first := unsafe.Add(unsafe.Pointer(r), C.sizeof_gb_gu_reduction)
	return (*C.gb_gu_operand)(unsafe.Add(first, i*C.sizeof_gb_gu_operand))
}

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
		slices.SortStableFunc(p.fold, slower)
	}
	slices.SortStableFunc(p.kept, slower)
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
