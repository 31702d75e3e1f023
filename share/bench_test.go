package share_test

import (
	"errors"
	"syscall"
	"testing"

	"gridbuf/share"
)

func attachAndFree(b *testing.B, at string) {
	a, err := share.Attach(at, "a", share.ReadOnly)
	if err != nil {
		b.Error(err)
		return
	}
	a.Free()
}

// A client that attaches 1 GB and lets go, in the process of the server.
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

// A hundred attaches of 1 GB on one connection, whose end lets go of them all; an operation is one
// attach.
func BenchmarkAttachOnOneConnection(b *testing.B) {
	server, at := listening(b)
	if err := server.Offer("a", array(b, 1<<27), share.ReadWrite); err != nil {
		b.Fatal(err)
	}
	for left := b.N; left > 0; left -= 100 {
		conn := dialed(b, at)
		for range min(left, 100) {
			file := attachedFile(b, conn, "a")
			mapping, err := syscall.Mmap(file, 0, 1<<30, syscall.PROT_READ, syscall.MAP_SHARED)
			if err != nil {
				b.Fatal(err)
			}
			if err := errors.Join(syscall.Munmap(mapping), syscall.Close(file)); err != nil {
				b.Fatal(err)
			}
		}
		if err := conn.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
