// Package handle holds memory of C that one value of Go gives back: once, and not through a copy of
// the value.
package handle

import (
	"sync/atomic"
	"unsafe"
)

// Handle is a field of every type whose Free gives something back to C. The zero Handle holds
// nothing.
type Handle struct {
	_    noCopy
	self *Handle // the address where Hold was called: a copy has another
	at   unsafe.Pointer
}

// noCopy makes go vet report copies of what has a Handle.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Hold begins to hold an address.
func (h *Handle) Hold(at unsafe.Pointer) { h.self, h.at = h, at }

// Fault says why the handle has no address to use; empty where it has one.
func (h *Handle) Fault() string {
	switch {
	case h.self == nil:
		return "the zero value holds nothing"
	case h.self != h:
		return "it is a copy; keep the pointer that was given"
	case h.at == nil:
		return "it is used after Free"
	}
	return ""
}

// Address is the address that is held. Where there is none it panics with a sentence that begins
// with the name of the type.
func (h *Handle) Address(name string) unsafe.Pointer {
	if h.self != h || h.at == nil {
		panic(name + ": " + h.Fault())
	}
	return h.at
}

// Take ends the holding and gives the address to one caller; nil to every later one, and of the
// zero value. A copy panics.
func (h *Handle) Take(name string) unsafe.Pointer {
	if h.self != h && h.self != nil {
		panic(name + ": " + h.Fault())
	}
	return atomic.SwapPointer(&h.at, nil)
}

// Pointer is an address outside of the Go heap as a pointer.
func Pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
