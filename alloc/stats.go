package alloc

// #include "heap.h"
import "C"

import "gridbuf/internal/message"

// Stats is a consistent picture of the heap.
type Stats struct {
	LiveBytes, CachedBytes, PeakBytes, LiveBuffers int64
	Allocations, Hits, Misses                      int64
	Limit                                          int64 // -1: none
}

// Statistics reads the heap's counters, all at one moment.
func Statistics() Stats {
	var s C.gb_heap_stats
	C.gb_heap_get_stats(&s)
	return Stats{
		LiveBytes: int64(s.live_bytes), CachedBytes: int64(s.cached_bytes),
		PeakBytes:   int64(s.peak_bytes),
		LiveBuffers: int64(s.live_buffers), Allocations: int64(s.allocations), Hits: int64(s.hits),
		Misses: int64(s.misses),
		Limit:  int64(s.limit),
	}
}

func (s Stats) String() string {
	limit := "no limit"
	if s.Limit >= 0 {
		limit = message.Format("limit %d bytes", s.Limit)
	}
	return message.Format("%d bytes live in %d buffers, %d cached, %s", s.LiveBytes, s.LiveBuffers,
		s.CachedBytes, limit)
}

// Trim gives the cached memory back to the system and says how much that was.
func Trim() int64 { return int64(C.gb_heap_trim(0)) }

// SetLimit bounds live memory, in bytes; a negative limit is none.
func SetLimit(bytes int64) { C.gb_heap_set_limit(C.int64_t(bytes)) }

// SetCacheBound bounds what the heap keeps for reuse; until then as much as was live at most,
// within this process's share of the machine.
func SetCacheBound(bytes int64) { C.gb_heap_set_cache_bound(C.int64_t(bytes)) }
