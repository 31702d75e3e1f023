// Package alloc lays out and allocates grid memory.
//
// A [Spec] says what is wanted: a shape, an item size, a backend preset, an
// aligned index; the zero value of whatever else is the default. [NewPlan] answers it without touching memory: strides, padding,
// offset and size, all of which [Plan] keeps for good. [New] takes a block for a
// plan from the heap and returns a [Buffer].
//
// # Memory
//
// Blocks are C memory, never the Go heap: running out of Go heap kills the
// process, running out of C memory is an error. The heap that circulates blocks
// is C (heap.c) so that taking and freeing one needs no Go, from any thread and also
// in a forked child. So is a second planner (planner.c), which Python asks: it gives
// the answers of this one, and the tests hold them equal.
//
// Names follow the field: a layout gives the rank of every index's stride
// (0 = largest), the aligned index is the element that sits on the alignment
// boundary, padding is what rows are rounded up to.
//
// # Reading
//
// Numbers and types of all rooms: numbers.h, elements.h, strides.h, errors.h, clock.h. What is asked and
// answered: spec.go, preset.c with preset.go, dims.go, then the planners, plan.h, plan.go and planner.c.
// Reading a plan back from memory: describe.c, describe.go; judging it: satisfy.c, satisfy.go; saying
// it: explain.go. The heap, from the ground: block.h, sizes.h, map.c (from the system), slab.h (what
// lies in a mapping), lists.c, extents.c (free memory of any size), bound.c, placement.c (where large blocks
// begin), heap.c (taking and releasing), debug.c (guards), live.c (who holds what), refill.go.
// For Go programs: buffer.go, stats.go, check.go (leaks, with their lines).
package alloc

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
import "C"
