package alloc

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"gridbuf/internal/message"
)

// TB is what Check needs of *testing.T, *testing.B and *testing.F.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// Check records from here on which line of Go makes each [Buffer], also the holders that Share
// makes, and fails the test for every one that is not freed when it ends. Tests that run at the
// same time are recorded as well: call it in those that do not run in parallel, or once in a test
// that runs them all.
func Check(t TB) {
	t.Helper()
	c := &checks{live: map[*Buffer][]uintptr{}}
	before := checking.Swap(c)
	t.Cleanup(func() {
		t.Helper()
		checking.CompareAndSwap(c, before)
		for _, leak := range c.leaks() {
			t.Errorf("%s", leak)
		}
	})
}

// checking records new buffers; nil: they are not recorded.
var checking atomic.Pointer[checks]

type checks struct {
	mu   sync.Mutex
	live map[*Buffer][]uintptr // by holder: the calls that lead to it
}

// made is a new holder, recorded while a test checks. Its caller is New or Share.
func made(p *Plan, data unsafe.Pointer) *Buffer {
	b := &Buffer{plan: p}
	b.memory.Hold(data)
	c := checking.Load()
	if c == nil && !debugging {
		return b
	}
	var calls [16]uintptr
	n := runtime.Callers(3, calls[:])
	if debugging {
		watch(b, slices.Clone(calls[:n]))
	}
	if c == nil {
		return b
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[b], b.checks = slices.Clone(calls[:n]), c
	return b
}

func (c *checks) freed(b *Buffer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, b)
}

// leaks describes each buffer that is not freed, in the order in which they were taken.
func (c *checks) leaks() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := make([]*Buffer, 0, len(c.live))
	for b := range c.live {
		held = append(held, b)
	}
	slices.SortFunc(held, func(a, b *Buffer) int { return cmp.Compare(a.ID(), b.ID()) })
	texts := make([]string, len(held))
	for i, b := range held {
		texts[i] = message.Format("buffer #%d is not freed: %v, made at%s", b.ID(), b.plan,
			callers(c.live[b]))
	}
	return texts
}

func callers(calls []uintptr) string {
	var text strings.Builder
	frames := runtime.CallersFrames(calls)
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.File != "" {
			text.WriteString(message.Format("\n\t%s:%d %s", f.File, f.Line, f.Function))
		}
	}
	return text.String()
}
