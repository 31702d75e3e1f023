package alloc

// #include "heap.h"
import "C"

import "gridbuf/internal/message"

// refill gives the heap a slab for blocks that reserve the given bytes. When the
// system has none left, what the heap keeps in its cache goes back first.
func refill(reserve int64) error {
	if rc, err := C.gb_heap_refill(C.int64_t(reserve)); rc != 0 {
		return ErrNoMemory.Errorf("cannot allocate %d bytes: the system has none left (%v); %s", reserve, message.Of(err), Statistics())
	}
	return nil
}
