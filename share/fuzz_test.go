package share

import (
	"bytes"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

// These are within the package: a server recovers from panics, which a fuzzer must see.

// fuzzArray is a page of 100 doubles, which clients may write.
func fuzzArray(t testing.TB) *Array {
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 25}, ItemSize: 8})
	require.NoError(t, err)
	a, err := New(plan, alloc.Float64)
	require.NoError(t, err)
	t.Cleanup(a.Free)
	return a
}

func TestNoChildInheritsTheSocket(t *testing.T) {
	socket, err := makeSocket()
	require.NoError(t, err)
	defer closeFile(socket)
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(socket), syscall.F_GETFD, 0)
	require.Zero(t, errno)
	assert.EqualValues(t, syscall.FD_CLOEXEC, flags)
}

// The lock of a folder may be that of a process which keeps it.
func TestALockOfOthersIsNotWaitedForWithoutEnd(t *testing.T) {
	folder, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer func() { assert.NoError(t, folder.Close()) }()
	require.NoError(t, syscall.Flock(int(folder.Fd()), syscall.LOCK_EX))
	_, err = lock(t.Context(), folder.Name()+"/s", 20*time.Millisecond)
	assert.ErrorIs(t, err, alloc.ErrUnavailable)
	assert.ErrorContains(t, err, "another process holds the lock of folder "+folder.Name())
	require.NoError(t, syscall.Flock(int(folder.Fd()), syscall.LOCK_UN))
	unlock, err := lock(t.Context(), folder.Name()+"/s", 20*time.Millisecond)
	require.NoError(t, err)
	unlock()
}

// A server answers whatever bytes a client sends, and holds for the client what was attached.
func FuzzRequests(f *testing.F) {
	f.Add(encode(request{Version: 1, Op: "names"}))
	f.Add(encode(request{Version: 1, Op: "attach", Name: "a"}))
	both := encode(request{Version: 1, Op: "attach", Name: "a", Writable: true})
	f.Add(slices.Concat(both, encode(request{Version: 2, Op: "attach", Name: "b"})))
	f.Add(slices.Concat(both, encode(request{Version: 1, Op: "release"})))
	f.Add([]byte{255, 255, 255, 255})
	f.Add([]byte("\x04\x00\x00\x00null\x02\x00\x00\x00[]"))
	o, err := fuzzArray(f).offer(ReadWrite)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := &Server{
			offers: map[string]*offer{"a": o}, clients: map[*net.UnixConn][]*offer{},
			changed: make(chan struct{}),
		}
		conn, in, attached := new(net.UnixConn), bytes.NewReader(sent), 0
		for {
			var r request
			if receive(in, &r) != nil {
				break
			}
			reply, file := s.reply(conn, &r)
			if reply == nil {
				attached = 0
				continue
			}
			var got answer
			require.NoError(t, receive(bytes.NewReader(reply), &got))
			assert.Equal(t, version, got.Version)
			assert.Equal(t, got.Array != nil, file >= 0)
			if got.Array != nil {
				attached++
				assert.Equal(t, r.Writable, got.Array.Writable)
			}
		}
		assert.Equal(t, attached, s.Holders("a"))
		s.leave(conn)
		assert.Zero(t, s.Holders("a"))
	})
}

// A client takes whatever bytes a server sends, with the memory of an array or without: an array
// within that memory, or an error, and no descriptor stays open.
func FuzzAnswers(f *testing.F) {
	a := fuzzArray(f)
	f.Add(encode(describe(a, true)), true, true)
	f.Add(encode(describe(a, false)), true, true)
	f.Add(encode(describe(a, false)), false, false)
	f.Add(failure(alloc.ErrInvalid.Errorf("no")), false, true)
	f.Add(encode(answer{Version: 1, Names: []string{"a"}}), false, false)
	f.Add([]byte{0, 0, 16}, true, false)
	f.Fuzz(func(t *testing.T, sent []byte, withMemory, writable bool) {
		if len(sent) == 0 || len(sent) > 1<<16 {
			return
		}
		free := lowestFile(t)
		server, client := connected(t)
		file := -1
		if withMemory {
			file = a.file
		}
		require.NoError(t, send(server, sent, file))
		require.NoError(t, server.CloseWrite())
		got, err := connection{UnixConn: client}.attach(t.Context(), "a", Access(writable))
		if err == nil {
			checkWithin(t, got)
			got.Free()
			if waits, ok := takeIdle(); ok {
				closeConn(waits.UnixConn)
			}
		} else {
			closeConn(client)
		}
		closeConn(server)
		assert.Equal(t, free, lowestFile(t))
	})
}

func connected(t *testing.T) (server, client *net.UnixConn) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	ends := [2]*net.UnixConn{}
	for i, each := range pair {
		file := os.NewFile(uintptr(each), "")
		conn, err := net.FileConn(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		ends[i] = conn.(*net.UnixConn)
	}
	return ends[0], ends[1]
}

// lowestFile is the lowest number that no descriptor has.
func lowestFile(t *testing.T) int {
	file, err := duplicate(0)
	require.NoError(t, err)
	closeFile(file)
	return file
}

// checkWithin computes without bounds where the elements lie.
func checkWithin(t *testing.T, a *Array) {
	end := big.NewInt(a.offset)
	for i, n := range a.view.Shape {
		require.GreaterOrEqual(t, n, int64(0))
		require.GreaterOrEqual(t, a.view.Strides[i], int64(0))
		step := new(big.Int).Mul(big.NewInt(n-1), big.NewInt(a.view.Strides[i]))
		end.Add(end, step)
	}
	end.Add(end, big.NewInt(a.view.ElementSize()))
	if slices.Contains(a.view.Shape, 0) {
		end = big.NewInt(a.offset)
	}
	require.LessOrEqual(t, end.Cmp(big.NewInt(int64(len(a.mapping)))), 0, "%v", a.view)
	require.Len(t, a.dims, len(a.view.Shape))
	for i, h := range a.halo {
		require.LessOrEqual(t, h.Before+h.After, a.view.Shape[i])
	}
}

// Sizes that lie are refused: fuzzed as numbers, which bytes of JSON seldom become.
func FuzzDescriptions(f *testing.F) {
	const most = 1<<63 - 1
	f.Add(int64(4096), int64(0), "<f8", int64(4), int64(200), int64(25), int64(8), "I J", int64(1))
	f.Add(int64(4096), int64(4088), "|V0", int64(most), int64(0), int64(0), int64(most), "I J",
		int64(0))
	f.Add(int64(4096), int64(most), "<c16", int64(most), int64(most), int64(2), int64(1), "0 7",
		int64(most))
	f.Add(int64(-1), int64(-8), ">f8", int64(-1), int64(-8), int64(1<<32), int64(1<<32), "K",
		int64(-1))
	memory := fuzzArray(f)
	f.Fuzz(func(t *testing.T, bytes, offset int64, typestr string, n0, stride0, n1, stride1 int64,
		dims string, halo int64) {
		d := description{
			Bytes: bytes, Offset: offset, Typestr: typestr, Shape: []int64{n0, n1},
			Strides: []int64{stride0, stride1}, Dims: strings.Fields(dims),
			Halo: [][2]int64{{halo, 0}, {0, halo}}, Writable: true,
		}
		a, err := d.array(memory.file, ReadWrite)
		if err == nil {
			require.NoError(t, a.hold(memory.file, d.Bytes))
			checkWithin(t, a)
			a.Free()
		}
	})
}

// The type of elements is read as it was written; others of their size are bytes.
func FuzzTypestr(f *testing.F) {
	for _, seed := range []string{"<f8", "|b1", ">i4", "|V3", "<M8", "", "<f-8", "<f08", "|V9999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		element, size, err := typeOf(text)
		if err != nil {
			return
		}
		view := alloc.View{Type: element, ItemSize: size}
		assert.Equal(t, size, view.ElementSize())
		if element != alloc.Raw {
			assert.Equal(t, text, typestr(&view))
		}
	})
}
