package alloc

// #include "heap.h"
import "C"

// Refill gives the heap a slab for blocks that reserve the given bytes. When the
// system has none left, what the heap keeps in its cache goes back first.
func Refill(reserve int64) error { return refillFrom(System, reserve) }

func refillFrom(source Source, reserve int64) error {
	bytes := int64(C.gb_slab_bytes(C.int64_t(reserve)))
	memory, err := source.Map(bytes)
	if err != nil && Trim() > 0 {
		memory, err = source.Map(bytes)
	}
	if err != nil {
		return memoryErrorf("cannot allocate %d bytes: %v; %s", reserve, err, Statistics())
	}
	if C.gb_add_slab(C.int64_t(reserve), memory, C.int64_t(bytes)) != 0 {
		source.Unmap(memory, bytes)
		return memoryErrorf("cannot allocate %d bytes: no memory left for the heap's own records", reserve)
	}
	return nil
}
