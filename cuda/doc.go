// Package cuda has device, pinned and managed memory through the CUDA driver:
//
//	gpu, err := cuda.AllocPlan(plan, alloc.Float64, cuda.Queue{}) // a plan for "gt:gpu"
//	defer gpu.Block.Free()
//	err = cuda.CopyStrided(ctx, gpu, cuda.HostSide(salt.View()), salt.Shape())
//	err = cuda.Synchronize(ctx, 0)
//
// Building needs no CUDA: the first call that needs the driver opens it, and on a machine without
// one the error wraps [ErrNoDriver]. Each call acts in the primary context of its device, which
// other libraries use too, and leaves the thread's own context as it was. Copies and fills are
// queued; [Queue.Record] gives an [Event], whose Wait ends when they are done.
//
// A pool keeps freed memory by size and by the stream that used it. A stream gets its own blocks
// back at once and without a call of the driver. A block that the legacy default stream or a stream
// of [NewStream] used goes to another one as soon as an event says that its work is done. A foreign
// stream may be gone by then, and is not touched again: its blocks go to other streams once all
// work of the device is done. When memory runs out, the cache is given back and the driver is asked
// once more.
package cuda

// For maintainers. All of it is C (cuda.h), because blocks are released on any thread, with or
// without Python's lock, and while the process ends; the Go functions are for Go programs and for
// the tests. Package cuda/internal/faketest builds a driver (cuda/fake) for tests without a GPU.

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
