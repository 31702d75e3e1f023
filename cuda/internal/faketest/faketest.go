// Package faketest builds the fake CUDA driver of cuda/fake and steers it from tests.
package faketest

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter
// #cgo LDFLAGS: -ldl
// #include "control.h"
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"unsafe"
)

// Any stands for every stream, or every entry point.
const Any = ^uintptr(0)

// Build compiles the driver into a folder and makes package cuda open it. Flags go to the
// compiler: -DcuMemAllocAsync=absent_cuMemAllocAsync leaves an entry point out.
func Build(folder string, flags ...string) error {
	_, here, _, _ := runtime.Caller(0)
	path := filepath.Join(folder, "libcuda-fake.so")
	sources := filepath.Join(filepath.Dir(here), "..", "..", "fake")
	// go test runs again when a file it has looked at changes
	for _, pattern := range []string{"fake/*", "driver.h", "kernels.h"} {
		files, _ := filepath.Glob(filepath.Join(sources, "..", pattern))
		for _, file := range files {
			if _, err := os.Stat(file); err != nil {
				return err
			}
		}
	}
	build := exec.Command(filepath.Join(sources, "build.sh"), append([]string{path}, flags...)...)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return os.Setenv("GRIDBUF_LIBCUDA", path)
}

// Open finds the driver's own functions. Call it once, after Build.
func Open() error {
	path := C.CString(os.Getenv("GRIDBUF_LIBCUDA"))
	defer C.free(unsafe.Pointer(path))
	if message := C.fake_open(path); message != nil {
		return fmt.Errorf("faketest: %s", C.GoString(message))
	}
	return nil
}

func withName[T any](name string, f func(*C.char) T) T {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	return f(c)
}

// Fail makes the nth call from now of an entry point ("" for all) answer with a code.
func Fail(name string, nth int64, code int, sticky bool) {
	s := C.int(0)
	if sticky {
		s = 1
	}
	withName(name, func(c *C.char) int { C.fake_fail(c, C.int64_t(nth), C.int(code), s); return 0 })
}

// Count is the number of calls of an entry point, or of all.
func Count(name string) int64 {
	return withName(name, func(c *C.char) int64 { return int64(C.fake_count(c)) })
}

func Reset()             { C.fake_reset() }
func NoFailures()        { C.fake_no_failures() }
func Failures() int      { return int(C.fake_failures()) } // failures still to come
func Misuses() int64     { return int64(C.fake_misuses()) }
func LastMisuse() string { return C.GoString(C.fake_last_misuse()) }

// ShutDown: the driver as a process that ends sees it.
func ShutDown(code int)            { C.fake_shut_down(C.int(code)) }
func DestroyContext(device, n int) { C.fake_destroy_context(C.int(device), C.int(n)) }
func SetMemory(bytes int64)        { C.fake_set_memory(C.int64_t(bytes)) }

// work in no order with unfinished work on the same memory is misuse
func Watch(on int) { C.fake_watch(C.int(on)) }

// all work is done at the nth question after an event
func Awaited(questions int) { C.fake_awaited(C.int(questions)) }
func ClearMisuses()         { C.fake_clear_misuses() }

// another library's
func StreamOn(device int) uintptr { return uintptr(C.fake_stream_on(C.int(device), 0)) }

// work waits to be pumped
func Hold(hold int)             { C.fake_hold(C.int(hold)) }
func RunEvery(microseconds int) { C.fake_run_every(C.int(microseconds)) }

// contexts on any thread's stack
func Balance() int64     { return int64(C.fake_balance()) }
func Blocks() int64      { return int64(C.fake_blocks()) } // allocations not freed
func OpenEvents() int64  { return int64(C.fake_open_events()) }
func OpenStreams() int64 { return int64(C.fake_open_streams()) }

// Init calls cuInit behind the back of package cuda, as another library would.
func Init() error {
	if code := C.other_init(); code != 0 {
		return fmt.Errorf("cuInit: %d", code)
	}
	return nil
}

// ForeignStream is a stream that package cuda did not make; Reset does not end it.
func ForeignStream() uintptr { return uintptr(C.fake_foreign_stream()) }

// Module is the text that was loaded last.
func Module() string { return C.GoString(C.fake_module()) }

// Launched is how often a kernel was launched.
func Launched(kernel string) int64 {
	return withName(kernel, func(c *C.char) int64 { return int64(C.fake_launched(c)) })
}

// OnThread calls f on one thread of the system, which has a default stream of its own.
func OnThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
}

// Pump runs work of a stream, or of Any, at most so many pieces.
func Pump(stream uintptr, most int64) int64 {
	return int64(C.fake_pump(C.uint64_t(stream), C.int64_t(most)))
}

// Look gives device memory as the device sees it.
func Look(address uintptr, bytes int) []byte {
	return unsafe.Slice((*byte)(C.fake_look(C.uint64_t(address), C.size_t(bytes))), bytes)
}

// Host gives host memory at an address, such as a pinned block's.
func Host(address uintptr, bytes int) []byte {
	return unsafe.Slice((*byte)(C.host(C.uint64_t(address))), bytes)
}

// Fork forks a child that takes a block and releases an old one; what the child saw.
func Fork(old uintptr) (status int, text string) {
	var buffer [600]C.char
	status = int(C.in_child(C.uint64_t(old), &buffer[0], C.int(len(buffer))))
	return status, C.GoString(&buffer[0])
}
