// Package alloc lays out and allocates grid memory:
//
//	preset, err := alloc.FindPreset("gt:cpu_ifirst")
//	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{64, 64, 80}, ItemSize: 8, Preset: preset})
//	buffer, err := alloc.New(plan)
//	defer buffer.Free()
//	view, err := buffer.View(alloc.Float64)
//
// A [Spec] is a request: a shape, an item size, a backend's preset, the aligned element; the zero
// value of every other field is the default. [NewPlan] answers it without touching memory: strides,
// padding, offset and size, which the [Plan] keeps for good. [New] takes a block for a plan from
// the heap.
//
// Blocks are C memory, never the Go heap: running out of them is an error that wraps
// [ErrNoMemory]. Buffers are given back by Free; [Check] makes a test fail for one that is not.
//
// A layout is the rank of every index's stride (0 = largest), the aligned index is the element that
// sits on the alignment boundary, padding is what rows are rounded up to.
package alloc

// Reading order. Numbers and types of all rooms: numbers.h, elements.h, strides.h, errors.h,
// system.h, type.go. Requests and answers: spec.go, preset.c with preset.go, plan.h, plan.c with
// plan.go. Memory that exists: describe.c, satisfy.go. A plan in words: explain.go. The heap, from
// the ground: block.h, slab.h, extents.c (the memory of slabs), policy.c (how much is kept, where
// large blocks begin), debug.c (guards), heap.c (taking and releasing). For Go programs: buffer.go,
// check.go.

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
import "C"
