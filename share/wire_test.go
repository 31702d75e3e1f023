package share_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/share"
)

func own(file int) string { return fmt.Sprintf("/proc/self/fd/%d", file) }

func closeFile(t testing.TB, file int) { assert.NoError(t, syscall.Close(file)) }

func dialed(t testing.TB, at string) *net.UnixConn {
	conn, err := net.Dial("unix", at[len("unix:"):])
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // some tests have done so
	return conn.(*net.UnixConn)
}

func framed(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// descriptor is what a client is sent, raw.
func descriptor(t testing.TB, at, name string) int { return attachedFile(t, dialed(t, at), name) }

func attachedFile(t testing.TB, conn *net.UnixConn, name string) int {
	_, err := conn.Write(framed(`{"version": 1, "op": "attach", "name": "` + name + `"}`))
	require.NoError(t, err)
	room := make([]byte, 64)
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 4096), room)
	require.NoError(t, err)
	messages, err := syscall.ParseSocketControlMessage(room[:n])
	require.NoError(t, err)
	files, err := syscall.ParseUnixRights(&messages[0])
	require.NoError(t, err)
	return files[0]
}

func TestRequestsThatAreNone(t *testing.T) {
	server, at := listening(t)
	require.NoError(t, server.Offer("a", array(t, 4), share.ReadOnly))
	long := strings.Repeat("<", 1<<19)
	for text, want := range map[string]string{
		`{"version": 2, "op": "names"}`: "version 2 of the protocol",
		`{"version": 1, "op": "steal"}`: "known are attach, names and release",
		`{"op": "names"}`:               "version 0 of the protocol",
		`{"version": 1, `:               "not the JSON expected",
		`[]`:                            "not the JSON expected",
		`{"version": 1, "op": "` + strings.Repeat("<", 1<<19) + `"}`:    "known are attach",
		`{"version": 1, "op": "attach", "name": "b"}`:                   "offered are a",
		`{"version": 1, "op": "attach", "name": "` + long + `"}`:        "name: it has 524288 bytes",
		`{"version": 1, "op": "attach", "name": "a", "writable": true}`: "reading only",
	} {
		conn := dialed(t, at)
		_, err := conn.Write(framed(text))
		require.NoError(t, err)
		assert.Contains(t, errorOf(t, conn), want)
	}
	conn := dialed(t, at)
	_, err := conn.Write(binary.LittleEndian.AppendUint32(nil, 1<<31))
	require.NoError(t, err)
	assert.Contains(t, errorOf(t, conn), "at most 1048576")
	_, err = conn.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF)
	half := dialed(t, at)
	_, err = half.Write(framed(`{"version": 1, "op": "names"}`)[:9])
	require.NoError(t, err)
	require.NoError(t, half.Close())
	_, err = share.Names(t.Context(), at)
	assert.NoError(t, err)
	assert.Zero(t, server.Holders("a"))
}

func errorOf(t *testing.T, conn io.Reader) string {
	var header [4]byte
	_, err := io.ReadFull(conn, header[:])
	require.NoError(t, err)
	text := make([]byte, binary.LittleEndian.Uint32(header[:]))
	_, err = io.ReadFull(conn, text)
	require.NoError(t, err)
	var got struct{ Error string }
	require.NoError(t, json.Unmarshal(text, &got))
	return got.Error
}

func TestOneConnectionAttachesSeveralTimes(t *testing.T) {
	server, at := listening(t)
	require.NoError(t, server.Offer("a", array(t, 4), share.ReadOnly))
	conn := dialed(t, at)
	for range 10 {
		_, err := conn.Write(framed(`{"version": 1, "op": "attach", "name": "a"}`))
		require.NoError(t, err)
		_, _, _, _, err = conn.ReadMsgUnix(make([]byte, 4096), nil)
		require.NoError(t, err)
	}
	assert.Equal(t, 10, server.Holders("a"))
	_, err := conn.Write(framed(`{"version": 1, "op": "release"}`))
	require.NoError(t, err)
	require.NoError(t, server.Wait(t.Context(), "a"))
	closeFile(t, attachedFile(t, conn, "a")) // the release had no answer
	assert.Equal(t, 1, server.Holders("a"))
	require.NoError(t, conn.Close())
	require.NoError(t, server.Wait(t.Context(), "a"))
}

// A server that lies: the answer, and the memory that goes with it.
func lying(t *testing.T, answer string, file int) string {
	at := address(t)
	listener, err := net.Listen("unix", at[len("unix:"):])
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Read(make([]byte, 4096))
		var rights []byte
		if file >= 0 {
			rights = syscall.UnixRights(file)
		}
		_, _, _ = conn.(*net.UnixConn).WriteMsgUnix(framed(answer), rights, nil)
		_, _ = conn.Read(make([]byte, 1)) // until the client ends
	}()
	return at
}

func TestSizesThatLie(t *testing.T) {
	server, real := listening(t)
	require.NoError(t, server.Offer("a", array(t, 100), share.ReadOnly))
	memory := descriptor(t, real, "a")
	defer closeFile(t, memory)
	loose, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer func() { assert.NoError(t, loose.Close()) }()
	require.NoError(t, loose.Truncate(4096))
	right := map[string]any{
		"bytes": 4096, "offset": 0, "typestr": "<f8", "shape": []int64{100},
		"strides": []int64{8}, "dims": []string{"I"}, "halo": nil, "writable": false,
	}
	attach := func(change map[string]any, file int) error {
		answer := map[string]any{}
		for _, each := range []map[string]any{right, change} {
			for key, value := range each {
				answer[key] = value
			}
		}
		text, err := json.Marshal(map[string]any{"version": 1, "array": answer})
		require.NoError(t, err)
		a, err := share.Attach(t.Context(), lying(t, string(text), file), "a", share.ReadOnly)
		if err == nil {
			a.Free()
		}
		return err
	}
	require.NoError(t, attach(nil, memory))
	const most = int64(1<<63 - 1)
	for _, each := range []struct {
		want   string
		change map[string]any
	}{
		{"has 4096", map[string]any{"bytes": 8192}},
		{"has 4096", map[string]any{"bytes": 800}},
		{"has 4096", map[string]any{"bytes": -1}},
		{"reach beyond", map[string]any{"offset": 4096 - 792}},
		{"reach beyond", map[string]any{"shape": []int64{513}}},
		{"reach beyond", map[string]any{"strides": []int64{100}}},
		{"reach beyond", map[string]any{"strides": []int64{most}}},
		{"reach beyond", map[string]any{"shape": []int64{most}, "strides": []int64{most}}},
		{"reach beyond", map[string]any{"offset": most}},
		{"reach beyond", map[string]any{"shape": []int64{0}, "offset": 4097}},
		{"reach beyond", map[string]any{
			"shape": []int64{1 << 40, 1 << 40}, "strides": []int64{0, 0},
			"dims": []string{"I", "J"},
		}},
		{"negative", map[string]any{"strides": []int64{-8}}},
		{"negative", map[string]any{"shape": []int64{-1}}},
		{"negative", map[string]any{"offset": -8}},
		{"2 and 1 entries", map[string]any{"shape": []int64{10, 10}}},
		{"33 and 33 entries", map[string]any{
			"shape": make([]int64, 33), "strides": make([]int64, 33),
		}},
		{"typestr", map[string]any{"typestr": ""}},
		{"typestr", map[string]any{"typestr": "<f-8"}},
		{"dims", map[string]any{"dims": []string{}}},
		{"dims", map[string]any{"dims": []string{"X"}}},
		{"halo", map[string]any{"halo": [][]int64{{60, 60}}}},
		{"the server answers with a message", map[string]any{"shape": "all"}},
	} {
		assert.ErrorContains(t, attach(each.change, memory), each.want, "%v", each.change)
	}
	_, err = share.Names(t.Context(), lying(t, `{"version": 2}`, memory))
	assert.ErrorContains(t, err, "version 2")
	assert.ErrorContains(t, attach(nil, -1), "no description with a descriptor")
	assert.ErrorContains(t, attach(nil, int(loose.Fd())), "not sealed")
}

// A server that counts connections, and counts requests by what they ask for.
type counting struct {
	mu          sync.Mutex
	connections int
	open        int
	requests    map[string]int
}

func (c *counting) count(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *counting) serve(conn net.Conn, answer string, file int) {
	defer c.count(func() { c.open-- })
	defer func() { _ = conn.Close() }()
	for {
		var header [4]byte
		if _, err := io.ReadFull(conn, header[:]); err != nil {
			return
		}
		text := make([]byte, binary.LittleEndian.Uint32(header[:]))
		var got struct{ Op string }
		if _, err := io.ReadFull(conn, text); err != nil || json.Unmarshal(text, &got) != nil {
			return
		}
		c.count(func() { c.requests[got.Op]++ })
		if got.Op == "attach" {
			_, _, _ = conn.(*net.UnixConn).WriteMsgUnix(framed(answer), syscall.UnixRights(file), nil)
		}
	}
}

func TestAConnectionServesTheNextAttach(t *testing.T) {
	server, real := listening(t)
	require.NoError(t, server.Offer("a", array(t, 100), share.ReadOnly))
	memory := descriptor(t, real, "a")
	defer closeFile(t, memory)
	at, c := address(t), counting{requests: map[string]int{}}
	listener, err := net.Listen("unix", at[len("unix:"):])
	require.NoError(t, err)
	defer func() { assert.NoError(t, listener.Close()) }()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			c.count(func() {
				c.connections++
				c.open++
			})
			go c.serve(conn, `{"version": 1, "array": {"bytes": 4096, "offset": 0, "typestr": "<f8",
				"shape": [100], "strides": [8], "dims": ["I"]}}`, memory)
		}
	}()
	attach := func(n int) {
		held := make([]*share.Array, n)
		for i := range held {
			held[i], err = share.Attach(t.Context(), at, "a", share.ReadOnly)
			require.NoError(t, err)
		}
		for _, a := range held {
			a.Free()
			a.Free()
		}
	}
	for range 10 {
		attach(1)
	}
	seen := func(connections, open, attached, released int) {
		t.Helper()
		assert.Eventually(t, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.connections == connections && c.open == open &&
				c.requests["attach"] == attached && c.requests["release"] == released
		}, 10*time.Second, time.Millisecond)
	}
	seen(1, 1, 10, 10)
	attach(6)
	seen(6, 4, 16, 16) // four wait
	_, err = share.Attach(t.Context(), real, "a", share.ReadWrite)
	assert.ErrorContains(t, err, "reading only")
	seen(6, 0, 16, 16) // those of another server are closed
}

func TestAConnectionOfAServerThatHasEndedIsNotUsed(t *testing.T) {
	at := address(t)
	for range 3 {
		server, err := share.Listen(t.Context(), at, share.Options{})
		require.NoError(t, err)
		require.NoError(t, server.Offer("a", array(t, 4), share.ReadOnly))
		a, err := share.Attach(t.Context(), at, "a", share.ReadOnly)
		require.NoError(t, err)
		assert.Equal(t, 1, server.Holders("a"))
		a.Free()
		require.NoError(t, server.Wait(t.Context(), "a"))
		require.NoError(t, server.Close())
		_, err = share.Attach(t.Context(), at, "a", share.ReadOnly)
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
	// A server that the file is not of any more lives on: its connections are not used.
	old, err := share.Listen(t.Context(), at, share.Options{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, old.Close()) }()
	require.NoError(t, old.Offer("a", array(t, 4), share.ReadOnly))
	a, err := share.Attach(t.Context(), at, "a", share.ReadOnly)
	require.NoError(t, err)
	a.Free()
	require.NoError(t, old.Wait(t.Context(), "a"))
	require.NoError(t, os.Remove(at[len("unix:"):]))
	other, err := share.Listen(t.Context(), at, share.Options{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, other.Close()) }()
	require.NoError(t, other.Offer("a", array(t, 5), share.ReadOnly))
	a, err = share.Attach(t.Context(), at, "a", share.ReadOnly)
	require.NoError(t, err)
	defer a.Free()
	assert.Equal(t, []int64{5}, a.View().Shape)
	assert.Zero(t, old.Holders("a"))
}

// A client without a descriptor to spare is told so: the server has answered.
func TestAClientHasNoDescriptorLeft(t *testing.T) {
	server, at := listening(t)
	require.NoError(t, server.Offer("a", array(t, 4), share.ReadOnly))
	a, err := share.Attach(t.Context(), at, "a", share.ReadOnly)
	require.NoError(t, err)
	a.Free() // its connection serves the next one
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: limit.Max}))
	_, err = share.Attach(t.Context(), at, "a", share.ReadOnly)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	assert.ErrorIs(t, err, syscall.EMFILE)
	assert.ErrorIs(t, err, alloc.ErrUnavailable)
	assert.ErrorContains(t, err, "the descriptor of the memory cannot be taken")
	assert.NoError(t, server.Wait(t.Context(), "a"))
}

// A server closes the connection of an array that is held.
func TestAServerThatEndsWhileAnArrayIsHeld(t *testing.T) {
	server, at := listening(t)
	a := array(t, 4)
	require.NoError(t, server.Offer("a", a, share.ReadWrite))
	client, err := share.Attach(t.Context(), at, "a", share.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, server.Close())
	*first(client) = 3
	client.Free()
	assert.Equal(t, 3.0, *first(a))
}

// A server that accepts and never answers holds a client until the client's context ends.
func TestAContextEndsTheWaitForAServer(t *testing.T) {
	at := filepath.Join(t.TempDir(), "mute")
	listener, err := net.Listen("unix", at)
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = share.Attach(soon, "unix:"+at, "a", share.ReadOnly)
	assert.Equal(t, context.DeadlineExceeded, err)
	_, err = share.Names(soon, "unix:"+at)
	assert.Equal(t, context.DeadlineExceeded, err, "asked first")
	ended, end := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, end)
	_, err = share.Names(ended, "unix:"+at)
	assert.Equal(t, context.Canceled, err)
}
