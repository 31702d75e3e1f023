// Package dlpack exchanges tensors through DLPack 1.3, both ways:
//
//	float64s, err := dlpack.TypeOf('f', 8)
//	managed, err := dlpack.ExportBuffer(buffer, float64s)
//	consume(managed.HandOver()) // its deleter gives the memory back
//
//	tensor, err := dlpack.Import(dlpack.FromPointer(foreign)) // checked before use
//	view, err := tensor.View()                                // for copies, sums and kernels
//
// [Export] describes any memory as a managed tensor, [ExportBuffer] that of a
// [gridbuf/alloc.Buffer]. [Import] reads a tensor of another library and refuses, with the reason,
// one that cannot be read safely. A [Tensor] is the plain description of both ways; its strides are
// in bytes, as everywhere in gridbuf, although DLPack counts items.
//
// A managed tensor is one block of C memory with its shape and strides in it. Its deleter is C:
// consumers call it on any thread, without the Go runtime. Memory of Go's is not exported: the
// consumer would keep it after the call.
package dlpack

// For maintainers. dlpack.h is the ABI, export.h and check.h do the work. The extension uses them
// directly, so that exporting costs no call into Go and works in a forked child. Go calls the same
// functions.

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
import "C"
