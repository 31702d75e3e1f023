// Package transfer fills and copies strided host memory:
//
//	err := transfer.Fill(salt, 34.5, transfer.Options{})
//	err = transfer.Copy(dst, src, transfer.Options{Context: ctx})
//
// An [gridbuf/alloc.View] is a base pointer, an element type, a shape and strides in bytes of any sign;
// Buffer.View of package alloc and Array.View of package grid give one. [Copy] moves the values of
// one view into another of the same shape, whatever their strides and types; [Fill] sets every
// element to one value. A stride of 0 in the source repeats it, which is how callers broadcast.
// The work runs on as many threads as it is worth, at most [NumThreads]. A [Job] is such work in
// pieces, each with a budget of time.
//
// The result is as if the source had been copied away first. Views that interleave without
// touching are recognized, moves along one direction run in place, anything else takes a temporary
// the size of the source.
//
// Memory of C and of Go will do. Copy and Fill pin memory of Go's; for a Job the caller pins it
// until Free.
//
// A float that no integer of the target's type can hold, and NaN, become what the processor makes
// of them: as in NumPy, that value is not defined.
package transfer

// For maintainers. plan.c drops axes of length one, turns axes round until the target's strides
// are positive, sorts them by the target's memory and merges those that continue each other. Where
// source and target then have the same fastest axis, rows are moved; where they differ, tiles go
// transposed through a scratch buffer in the first cache, so that both sides see whole cache lines.
// Copies that are larger than the caches are streamed past them, in tiles that begin and end with a
// line of the target. Either way the work is cut into tiles of some ten to a hundred KiB, which a
// Job shares with a pool of C threads. The kernels exist for plain C, SSE2, AVX2, AVX-512 and NEON
// and are chosen once, when the program starts.

// #cgo CFLAGS: -std=gnu11 -O3 -fvisibility=hidden -Wall -Wextra
// #include "transfer.h"
import "C"
