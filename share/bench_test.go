package share_test

import (
	"testing"

	"gridbuf/share"
)

func attachAndFree(b *testing.B, at string) {
	a, err := share.Attach(b.Context(), at, "a", share.ReadOnly)
	if err != nil {
		b.Error(err)
		return
	}
	a.Free()
}

// A client that attaches 1 GB and frees it, in the process of the server, on one connection.
func BenchmarkAttachAndFree(b *testing.B) {
	server, at := listening(b)
	if err := server.Offer("a", array(b, 1<<27), share.ReadWrite); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		attachAndFree(b, at)
	}
}

func BenchmarkAttachAndFreeOnAllCores(b *testing.B) {
	server, at := listening(b)
	if err := server.Offer("a", array(b, 1<<27), share.ReadWrite); err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			attachAndFree(b, at)
		}
	})
}
