// Package bridge is the border between Python's extension and Go: every function
// that C may call is exported here and nowhere else.
//
// Each export is one line: it enters the guard, which turns an error into a
// gb_error and a panic into one too, converts its arguments and calls a package
// that does the work. What it must not do is keep a pointer it was given.
//
// Read the files in this order:
//
//   - types.h: what crosses the border, and gb_error, in which every refusal travels
//   - bridge.h: the two tables, Go's calls and the extension's C that Go calls; pyext/core/go.c loads the library
//   - guard.go: what every export runs in, and how an error or a panic becomes a gb_error
//   - exports.go: the exports of bridge.h
//   - start.go: the first call, which makes the threads of Go's runtime
//   - gufunc.h and gufunc_exports.go: records and exports of gufuncs
//   - gufunc.go and gufunc_reduce.go: numbers and records of C to types of Go, and back
//   - request.go and reduce_request.go: a call and a reduction as the extension encodes them
//   - host.c: in the library, the rooms' C forwarded to the extension, and the table of Go's calls
//   - panic.go: an export that panics, in the build that tests the guard
//   - archive/: the main package that setup.py makes gridbuf/_go.so of
//
// What is imported here is in every process that makes a gufunc, so none of it imports fmt, time, context or
// math/big, which bring reflection, files and clocks: internal/message and internal/work are what it has of them.
// rooms.go says of which rooms the extension has the C alone.
package bridge

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
import "C"
