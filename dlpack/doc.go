// Package dlpack exchanges tensors through DLPack 1.3, both ways.
//
// [Export] describes memory as a managed tensor that any DLPack consumer can take
// over, and [ExportBuffer] does so for a [gridbuf/alloc.Buffer]. [Import] reads a
// tensor of another library and refuses, with the reason, what cannot be read
// safely. A [Tensor] is the plain description both share; its strides are in bytes,
// as everywhere in gridbuf, although DLPack counts items.
//
// # Memory
//
// A managed tensor is one block of C memory with its shape and strides in it. Its
// deleter is C: consumers call it on any thread, also after Python has gone, and it
// must not need the Go runtime. The memory described must not be Go memory, which
// may not be kept by C.
//
// # C
//
// dlpack.h is the ABI, export.h and check.h do the work. The extension uses them
// directly, so that exporting costs no call into Go and works in a forked child.
// Go calls the same functions.
package dlpack

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
import "C"
