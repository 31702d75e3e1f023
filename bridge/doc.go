// Package bridge is what the main package of Python's Go library imports:
//
//	package main
//
//	import (
//		_ "gridbuf/bridge"
//		_ "ocean/kernels" // registers kernels for Python by gufunc.Register
//	)
//
//	func main() {}
//
// docs/go.md builds that. The package has no names for Go programs: its functions are for the C of
// Python's extension.
package bridge

// For maintainers. Every function that C may call is exported here and nowhere else. Each export is
// one line: it enters the guard, which turns an error into a gb_error and a panic into one too,
// converts its arguments and calls a package that does the work. No export keeps a pointer of its
// caller. Reading order:
//
//   - bridge.h: the two tables, Go's calls and the extension's C that Go calls; pyext/core/go.c
//     loads the library
//   - guard.go: the frame of every export, and how an error or a panic becomes a gb_error
//   - exports.go: the first call, which makes the threads of Go's runtime, and other small exports
//   - gufunc.h and gufunc.go: records and exports of gufuncs, and their Go types
//   - request.go: a call and a reduction as the extension encodes them
//   - host.c: in the library, the rooms' C forwarded to the extension, and the table of Go's calls;
//     left out where the tag gridbuf_extension is not given, as go build ./... does
//   - panic.go: an export that panics, in the build that tests the guard
//   - archive/: the main package that setup.py makes gridbuf/_go.so of
//
// Every process that makes a gufunc has the imports of this package, so none of them imports fmt,
// time, context or math/big, which bring reflection, files and clocks: internal/message and
// internal/work replace them. rooms.go lists the rooms of which the extension has the C alone.

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
import "C"
