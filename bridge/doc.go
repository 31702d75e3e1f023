// Package bridge is the border between Python's extension and Go: every function
// that C may call is exported here and nowhere else.
//
// Each export is one line: it enters the guard, which turns an error into a
// gb_error and a panic into one too, converts its arguments and calls a package
// that does the work. What it must not do is keep a pointer it was given.
package bridge

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
import "C"

// The extension calls the C side of these packages: DLPack tensors, and the CUDA driver.
import (
	_ "gridbuf/cuda"
	_ "gridbuf/dlpack"
)
