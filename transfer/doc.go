// Package transfer fills and copies strided host memory.
//
// A [View] is a base pointer, an element type, a shape and strides in bytes of any
// sign. [Copy] moves the values of one view into another of the same shape,
// whatever their strides and types; [Fill] sets every element to one value. A
// stride of 0 in the source repeats it, which is how callers broadcast.
//
// # How
//
// The C side (plan.c) drops axes of length one, turns axes round until the target's
// strides are positive, sorts them by the target's memory and merges those that
// continue each other. Where source and target then have the same fastest axis,
// rows are moved; where they differ, tiles go transposed through a scratch buffer
// in the first cache, so that both sides see whole cache lines. What is larger than
// the caches is streamed past them, in tiles that begin and end with a line of the
// target. Either way the work is cut into tiles of some ten to a hundred KiB. The
// kernels exist for plain C, SSE2, AVX2, AVX-512 and NEON and are chosen once, when
// the program starts.
//
// A [Job] shares its tiles with a pool of C threads until it is done or its budget of
// time is spent, and goes on from there when it is run again.
//
// # Overlap
//
// The result is as if the source had been copied away first. Views that
// interleave without touching are recognized, moves along one direction run in
// place, anything else takes a temporary the size of the source.
//
// # Memory
//
// View.Data must be memory that Go does not manage: it is kept in C memory while a
// job exists.
//
// A float that no integer of the target's type can hold, and NaN, become what the
// processor makes of them: as in NumPy, that value is not defined.
package transfer

// #cgo CFLAGS: -std=gnu11 -O3 -fvisibility=hidden -Wall -Wextra
// #include "transfer.h"
import "C"
