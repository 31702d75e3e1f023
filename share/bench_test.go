package share_test

import (
	"testing"

	"gridbuf/share"
)

func BenchmarkAttachAndFree(b *testing.B) {
	server, at := listening(b)
	if err := server.Offer("a", array(b, 1<<27), share.ReadWrite); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		a, err := share.Attach(at, "a", share.ReadOnly)
		if err != nil {
			b.Fatal(err)
		}
		a.Free()
	}
}
