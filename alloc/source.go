package alloc

// #include <errno.h>
// #include "heap.h"
import "C"

import "unsafe"

// Source is where the heap's memory comes from. Map returns zeroed memory that
// stays where it is until Unmap.
type Source interface {
	Map(bytes int64) (unsafe.Pointer, error)
	Unmap(memory unsafe.Pointer, bytes int64)
}

// System is memory mapped from the operating system, in huge pages where it is large.
var System Source = system{}

type system struct{}

func (system) Map(bytes int64) (unsafe.Pointer, error) {
	memory, err := C.gb_map(C.int64_t(bytes))
	if memory == nil {
		return nil, memoryErrorf("the system has no %d bytes (%v)", bytes, err)
	}
	return memory, nil
}

func (system) Unmap(memory unsafe.Pointer, bytes int64) { C.gb_unmap(memory, C.int64_t(bytes)) }
