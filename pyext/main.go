//go:build extension

// Command pyext is the Python extension module gridbuf._core. The module itself is
// C (the Python C API and nothing else); it is a Go main package so that one
// c-shared library holds it together with the Go runtime and package bridge.
//
// The build tag keeps it out of `go test ./...`, which needs no Python.
package main

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter
import "C"

import _ "gridbuf/bridge"

func main() {}
