package alloc

import (
	"runtime"
	"sync/atomic"
	"syscall"

	"gridbuf/internal/message"
)

// debugging is whether GRIDBUF_DEBUG=1 is set.
var debugging = isDebugging()

func isDebugging() bool {
	value, _ := syscall.Getenv("GRIDBUF_DEBUG")
	return value == "1"
}

// holder outlives a Buffer that the collector has taken, and says whether it was freed.
type holder struct {
	id    uint64
	plan  *Plan
	calls []uintptr // callers that made the Buffer
	freed atomic.Bool
}

// watch has the loss of a Buffer reported: collected without Free, so that its memory is taken for
// good.
func watch(b *Buffer, calls []uintptr) {
	b.holder = &holder{id: b.ID(), plan: b.plan, calls: calls}
	runtime.AddCleanup(b, (*holder).report, b.holder)
}

func (h *holder) report() {
	if !h.freed.Load() {
		print(message.Format("gridbuf: buffer #%d was collected without Free: %v, made at%s\n",
			h.id, h.plan, callers(h.calls)))
	}
}

func (b *Buffer) noteFree() {
	if b.holder != nil {
		b.holder.freed.Store(true)
	}
}
