// Package cuda is device, pinned and managed memory through the CUDA driver, which is
// found at run time: nothing here needs CUDA to build, and nothing opens the driver
// before the first call that needs it.
//
// All of it is C (cuda.h), because blocks are released on any thread, with or without
// Python's lock, and while the process ends; the Go functions are for Go programs and
// for the tests. Each call acts in the primary context of its device, which other
// libraries use too, and leaves the thread's own context as it was.
//
// # Memory
//
// A pool keeps what is freed, by size and by the stream that used it. A stream gets its
// own blocks back at once and without a call of the driver. A block that the legacy
// default stream or a stream of [NewStream] used goes to another one as soon as an event
// says that its work is done. A stream of another library may be gone by then, and is
// not touched again: its blocks go to other streams after the device was waited for as a
// whole. When memory runs out, the cache is given back and the driver is asked once more.
//
// # Without a GPU
//
// Package cuda/internal/faketest builds a driver of our own (cuda/fake) for the tests.
package cuda

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter
// #cgo LDFLAGS: -ldl -lpthread
// #include "cuda.h"
import "C"

import (
	_ "embed" // of what relayout.c includes: Go's build cache must know that file

	_ "gridbuf/alloc" // numbers of blocks, the clock and the debug setting are its
	// lays out on the host what a GPU is sent in other strides, or in another type
	_ "gridbuf/transfer"
)

//go:embed kernels.ptx
var _ string
