package share_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/share"
)

func address(t testing.TB) string { return "unix:" + filepath.Join(t.TempDir(), "s") }

func listening(t testing.TB) (*share.Server, string) {
	at := address(t)
	server, err := share.Listen(t.Context(), at, share.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	return server, at
}

func array(t testing.TB, shape ...int64) *share.Array {
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: shape, ItemSize: 8})
	require.NoError(t, err)
	a, err := share.New(plan, alloc.Float64)
	require.NoError(t, err)
	t.Cleanup(a.Free)
	return a
}

func first(a *share.Array) *float64 { return (*float64)(a.View().Data) }

func TestAClientReadsAndWritesTheSameMemory(t *testing.T) {
	server, at := listening(t)
	preset, err := alloc.FindPreset("gt:cpu_ifirst")
	require.NoError(t, err)
	plan, err := alloc.NewPlan(&alloc.Spec{
		Shape: []int64{12, 12, 7}, ItemSize: 8, Preset: preset, AlignedIndex: []int64{2, 2, 0},
	})
	require.NoError(t, err)
	halo := []share.Halo{{Before: 2, After: 2}, {Before: 2, After: 1}, {}}
	salt, err := share.New(plan, alloc.Float64, halo...)
	require.NoError(t, err)
	defer salt.Free()
	*first(salt) = 34.5
	require.NoError(t, server.Offer("salt", salt, share.ReadWrite))

	client, err := share.Attach(t.Context(), at, "salt", share.ReadWrite)
	require.NoError(t, err)
	assert.Equal(t, 34.5, *first(client))
	*first(client) = 35
	assert.Equal(t, 35.0, *first(salt))
	view := client.View()
	assert.Equal(t, plan.Shape(), view.Shape)
	assert.Equal(t, plan.Strides(), view.Strides)
	assert.Equal(t, plan.Dims(), client.Dims())
	assert.Equal(t, halo, client.Halo())
	assert.True(t, client.Writable())
	aligned := uintptr(view.Data) + uintptr(2*view.Strides[0]+2*view.Strides[1])
	assert.Zero(t, aligned%uintptr(plan.ByteAlignment()))
	names, err := share.Names(t.Context(), at)
	require.NoError(t, err)
	assert.Equal(t, []string{"salt"}, names)

	assert.Equal(t, 1, server.Holders("salt"))
	client.Free()
	client.Free()
	require.NoError(t, server.Wait(t.Context(), "salt"))
	assert.Zero(t, server.Holders("salt"))
}

func TestWhatIsOfferedForReadingCannotBeWritten(t *testing.T) {
	server, at := listening(t)
	a := array(t, 1000)
	require.NoError(t, server.Offer("a", a, share.ReadOnly))
	*first(a) = 1
	_, err := share.Attach(t.Context(), at, "a", share.ReadWrite)
	assert.ErrorContains(t, err, `"a" is offered for reading only`)
	client, err := share.Attach(t.Context(), at, "a", share.ReadOnly)
	require.NoError(t, err)
	defer client.Free()
	assert.False(t, client.Writable())
	assert.Equal(t, 1.0, *first(client))
	err = server.Offer("b", a, share.ReadWrite)
	assert.ErrorContains(t, err, "differs from that of an earlier offer")
	require.NoError(t, server.Offer("b", a, share.ReadOnly))
}

func TestNoDescriptorOfAReadOnlyOfferLetsAProcessWrite(t *testing.T) {
	server, at := listening(t)
	a := array(t, 1000)
	require.NoError(t, server.Offer("a", a, share.ReadOnly))
	file := descriptor(t, at, "a")
	defer closeFile(t, file)
	_, err := syscall.Write(file, []byte("x"))
	assert.Error(t, err)
	_, err = syscall.Mmap(file, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	assert.Error(t, err)
	again, err := syscall.Open(own(file), syscall.O_RDWR, 0)
	require.NoError(t, err) // the file's owner may; its seals hold all the same
	defer closeFile(t, again)
	_, err = syscall.Write(again, []byte("x"))
	assert.ErrorIs(t, err, syscall.EPERM)
	_, err = syscall.Mmap(again, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	assert.ErrorIs(t, err, syscall.EPERM)
	for _, size := range []int64{0, 4096, 1 << 20} {
		assert.Error(t, syscall.Ftruncate(again, size))
	}
}

// The first offer of an array decides whether clients write: one that is refused is none.
func TestAnOfferThatIsRefusedDecidesNothing(t *testing.T) {
	server, _ := listening(t)
	require.NoError(t, server.Offer("a", array(t, 1), share.ReadOnly))
	b := array(t, 1)
	assert.ErrorContains(t, server.Offer("a", b, share.ReadOnly), "offered already")
	closed, _ := listening(t)
	require.NoError(t, closed.Close())
	assert.ErrorContains(t, closed.Offer("b", b, share.ReadOnly), "after Close")
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Max: limit.Max}))
	err := server.Offer("b", b, share.ReadOnly)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	assert.ErrorContains(t, err, "too many open files")
	require.NoError(t, server.Offer("b", b, share.ReadWrite))
}

func TestMemoryOutlivesItsArrayAndItsServer(t *testing.T) {
	server, at := listening(t)
	a := array(t, 1000)
	require.NoError(t, server.Offer("a", a, share.ReadWrite))
	*first(a) = 3
	a.Free()
	client, err := share.Attach(t.Context(), at, "a", share.ReadOnly)
	require.NoError(t, err)
	require.NoError(t, server.Withdraw("a"))
	_, err = share.Attach(t.Context(), at, "a", share.ReadOnly)
	assert.ErrorContains(t, err, `"a" is not offered`)
	require.NoError(t, server.Close())
	require.NoError(t, server.Close())
	assert.Equal(t, 3.0, *first(client))
	client.Free()
	assert.ErrorIs(t, server.Offer("a", array(t, 1), share.ReadOnly), alloc.ErrInvalid)
	_, err = share.Attach(t.Context(), at, "a", share.ReadOnly)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestWaitEndsWithItsContextAndItsOffer(t *testing.T) {
	server, at := listening(t)
	require.NoError(t, server.Offer("a", array(t, 1), share.ReadOnly))
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, server.Wait(short, "a"), context.DeadlineExceeded)
	client, err := share.Attach(t.Context(), at, "a", share.ReadOnly)
	require.NoError(t, err)
	defer client.Free()
	ended := make(chan error)
	go func() { ended <- server.Wait(context.Background(), "a") }()
	require.NoError(t, server.Withdraw("a"))
	assert.ErrorContains(t, <-ended, "not offered")
	assert.ErrorContains(t, server.Withdraw("a"), `"a" is not offered; nothing is`)
}

func TestAThousandClients(t *testing.T) {
	server, at := listening(t)
	a := array(t, 1000)
	*first(a) = 7
	require.NoError(t, server.Offer("a", a, share.ReadWrite))
	clients := make([]*share.Array, 1000)
	var all sync.WaitGroup
	for worker := range 20 {
		all.Go(func() {
			for i := worker; i < len(clients); i += 20 {
				c, err := share.Attach(t.Context(), at, "a", share.Access(i%2 == 0))
				if assert.NoError(t, err) {
					assert.Equal(t, 7.0, *first(c))
				}
				clients[i] = c
			}
		})
	}
	all.Wait()
	assert.Equal(t, len(clients), server.Holders("a"))
	for _, c := range clients {
		all.Go(c.Free)
	}
	all.Wait()
	require.NoError(t, server.Wait(t.Context(), "a"))
}

func TestNoPageIsTouched(t *testing.T) {
	server, at := listening(t)
	a := array(t, 1<<29) // 4 GB
	require.NoError(t, server.Offer("a", a, share.ReadWrite))
	client, err := share.Attach(t.Context(), at, "a", share.ReadWrite)
	require.NoError(t, err)
	defer client.Free()
	file := descriptor(t, at, "a")
	defer closeFile(t, file)
	var found syscall.Stat_t
	require.NoError(t, syscall.Fstat(file, &found))
	assert.Zero(t, found.Blocks)
	last := (*float64)(unsafe.Add(client.View().Data, 8*(1<<29-1)))
	*last = 5
	assert.Equal(t, 5.0, *(*float64)(unsafe.Add(a.View().Data, 8*(1<<29-1))))
}

func TestASocketOfADeadServerIsReplacedAndOneOfALiveServerIsNot(t *testing.T) {
	server, at := listening(t)
	_, err := share.Listen(t.Context(), at, share.Options{})
	assert.ErrorContains(t, err, "a server answers")
	require.NoError(t, server.Close())

	file := at[len("unix:"):]
	dead, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Bind(dead, &syscall.SockaddrUnix{Name: file}))
	require.NoError(t, syscall.Close(dead))
	again, err := share.Listen(t.Context(), at, share.Options{Mode: 0o640})
	require.NoError(t, err)
	found, err := os.Lstat(file)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSocket|0o640, found.Mode())
	require.NoError(t, os.Remove(file))
	other, err := share.Listen(t.Context(), at, share.Options{})
	require.NoError(t, err)
	require.NoError(t, again.Close())
	_, err = share.Names(t.Context(), at) // the other's socket is left
	assert.NoError(t, err)
	require.NoError(t, other.Close())
	assert.NoFileExists(t, file)

	require.NoError(t, os.WriteFile(file, []byte("kept"), 0o600))
	_, err = share.Listen(t.Context(), at, share.Options{})
	assert.ErrorContains(t, err, "no socket")
	assert.FileExists(t, file)
}

// A socket file is asked whether a server answers, after other servers of the folder: here one
// whose clients all wait to be accepted, and one that holds the lock.
func TestListenAsksItsContext(t *testing.T) {
	at := address(t)
	file := at[len("unix:"):]
	full, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(full) })
	require.NoError(t, syscall.Bind(full, &syscall.SockaddrUnix{Name: file}))
	require.NoError(t, syscall.Listen(full, 0))
	for err == nil {
		var waits net.Conn
		if waits, err = net.Dial("unix", file); err == nil {
			t.Cleanup(func() { _ = waits.Close() })
		}
	}
	asked := func() {
		soon, end := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer end()
		_, err := share.Listen(soon, at, share.Options{})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.FileExists(t, file)
		_, err = share.Listen(soon, at, share.Options{})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	}
	asked()
	folder, err := os.Open(filepath.Dir(file))
	require.NoError(t, err)
	defer func() { _ = folder.Close() }()
	require.NoError(t, syscall.Flock(int(folder.Fd()), syscall.LOCK_EX))
	asked()

	var none context.Context
	_, free := listening(t)
	server, err := share.Listen(none, address(t), share.Options{})
	require.NoError(t, err)
	require.NoError(t, server.Close())
	_, err = share.Listen(none, free, share.Options{})
	assert.ErrorContains(t, err, "a server answers")
}

func TestASocketOfARelativePathIsRemovedFromAnotherFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	server, err := share.Listen(t.Context(), "unix:s", share.Options{})
	require.NoError(t, err)
	file, err := filepath.Abs("s")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, server.Close())
	assert.NoFileExists(t, file)
}

// The list of names is one message, and errors name some of them.
func TestManyNames(t *testing.T) {
	server, at := listening(t)
	a, offered := array(t, 1), 0
	name := func(i int) string { return strings.Repeat("<", 190) + strconv.Itoa(1000+i) }
	var err error
	for ; err == nil && offered < 2000; offered++ {
		err = server.Offer(name(offered), a, share.ReadOnly)
	}
	offered--
	assert.ErrorContains(t, err, "does not fit the list of all names")
	names, err := share.Names(t.Context(), at)
	require.NoError(t, err)
	assert.Len(t, names, offered)
	_, err = share.Attach(t.Context(), at, "b", share.ReadOnly)
	assert.ErrorContains(t, err, "and "+strconv.Itoa(offered-20)+" more")
	require.NoError(t, server.Withdraw(name(0)))
	require.NoError(t, server.Offer(name(offered), a, share.ReadOnly))
}

func TestTwoServersDoNotTakeOneSocket(t *testing.T) {
	at := address(t)
	for range 20 {
		made := make(chan *share.Server, 4)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if server, err := share.Listen(t.Context(), at, share.Options{}); err == nil {
					made <- server
				}
			})
		}
		all.Wait()
		require.Len(t, made, 1)
		require.NoError(t, (<-made).Close())
	}
}

func TestWrongArguments(t *testing.T) {
	server, at := listening(t)
	a := array(t, 4)
	require.NoError(t, server.Offer("a", a, share.ReadOnly))
	long := "unix:/" + strings.Repeat("x", 120)
	plan := func(s alloc.Spec) *alloc.Plan {
		p, err := alloc.NewPlan(&s)
		require.NoError(t, err)
		return p
	}
	one := plan(alloc.Spec{Shape: []int64{4}, ItemSize: 8})
	for want, call := range map[string]func() error{
		`"/tmp/x"; give "unix:"`: func() error {
			_, err := share.Listen(t.Context(), "/tmp/x", share.Options{})
			return err
		},
		`"unix:"; give "unix:"`:   func() error { _, err := share.Names(t.Context(), "unix:"); return err },
		`"unix:@x"; give "unix:"`: func() error { _, err := share.Names(t.Context(), "unix:@x"); return err },
		"at most 107":             func() error { _, err := share.Names(t.Context(), long); return err },
		"permission bits": func() error {
			_, err := share.Listen(t.Context(), at+"2", share.Options{Mode: os.ModeSetuid | 0o600})
			return err
		},
		`"a" is offered already`: func() error { return server.Offer("a", a, share.ReadOnly) },
		"give 1 to 200 bytes":    func() error { return server.Offer("a\n", a, share.ReadOnly) },
		"name: it has 1048576 bytes": func() error {
			_, err := share.Attach(t.Context(), at, strings.Repeat("x", 1<<20), share.ReadOnly)
			return err
		},
		`"a\xff"; give`:    func() error { return server.Offer("a\xff", a, share.ReadOnly) },
		`"\u202e"; give`:   func() error { return server.Offer("\u202e", a, share.ReadOnly) },
		"array: it is nil": func() error { return server.Offer("b", nil, share.ReadOnly) },
		"offered are a":    func() error { return server.Withdraw("b") },
		"have 4 bytes, those of the plan 8": func() error {
			_, err := share.New(one, alloc.Float32)
			return err
		},
		"plan: it is nil": func() error { _, err := share.New(nil, alloc.Float32); return err },
		"at pages of 4096": func() error {
			spec := alloc.Spec{Shape: []int64{4}, ItemSize: 8, ByteAlignment: 8192}
			_, err := share.New(plan(spec), alloc.Float64)
			return err
		},
		"2 widths for 1 indices": func() error {
			_, err := share.New(one, alloc.Float64, share.Halo{}, share.Halo{})
			return err
		},
		"3 and 2 elements around index 0": func() error {
			_, err := share.New(one, alloc.Float64, share.Halo{Before: 3, After: 2})
			return err
		},
		"elements of 2147483648 bytes": func() error {
			_, err := share.New(plan(alloc.Spec{Shape: []int64{1}, ItemSize: 1 << 31}), alloc.Raw)
			return err
		},
		"processes share plain memory": func() error {
			_, err := share.New(plan(alloc.Spec{Shape: []int64{4}, ItemSize: 8, Device: alloc.GPU}),
				alloc.Float64)
			return err
		},
	} {
		err := call()
		assert.ErrorContains(t, err, want)
		invalid := errors.Is(err, alloc.ErrInvalid)
		assert.True(t, invalid || errors.Is(err, alloc.ErrUnavailable), want)
	}
	client, err := share.Attach(t.Context(), at, "a", share.ReadOnly)
	require.NoError(t, err)
	assert.ErrorContains(t, server.Offer("b", client, share.ReadOnly), "it was freed, or attached")
	assert.ErrorContains(t, server.Offer("b", &share.Array{}, share.ReadOnly),
		"array: the zero value holds nothing")
	assert.ErrorContains(t, new(share.Server).Offer("b", a, share.ReadOnly),
		"share.Server: the zero value offers nothing")
	_, err = share.Grid[float64](nil)
	assert.ErrorContains(t, err, "array: it is nil")
	client.Free()
	assert.PanicsWithValue(t, "share.Array: it is used after Free", func() { client.View() })
}

func TestEveryTypeAndShape(t *testing.T) {
	server, at := listening(t)
	names := 0
	for element := alloc.Raw; element.Known(); element++ {
		for _, shape := range [][]int64{{}, {0}, {3}, {2, 0, 5}, {0, 1 << 40}, {2, 3, 4, 5}} {
			size := max(element.Size(), 1)
			plan, err := alloc.NewPlan(&alloc.Spec{Shape: shape, ItemSize: size})
			require.NoError(t, err)
			a, err := share.New(plan, element)
			require.NoError(t, err)
			name := strconv.Itoa(names)
			names++
			require.NoError(t, server.Offer(name, a, share.ReadWrite))
			client, err := share.Attach(t.Context(), at, name, share.ReadWrite)
			require.NoError(t, err)
			view := client.View()
			assert.Equal(t, element, view.Type)
			assert.Equal(t, size, view.ElementSize())
			assert.Equal(t, plan.Shape(), append([]int64{}, view.Shape...))
			assert.Equal(t, plan.Dims(), client.Dims())
			client.Free()
			a.Free()
		}
	}
}

func TestElementsInGo(t *testing.T) {
	server, at := listening(t)
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 5}, ItemSize: 8})
	require.NoError(t, err)
	a, err := share.New(plan, alloc.Float64, share.Halo{Before: 1, After: 1}, share.Halo{})
	require.NoError(t, err)
	defer a.Free()
	points, err := share.Grid[float64](a)
	require.NoError(t, err)
	require.NoError(t, points.Domain().Fill(2))
	points.Set(3, 3, 4)
	require.NoError(t, server.Offer("a", a, share.ReadOnly))
	client, err := share.Attach(t.Context(), at, "a", share.ReadOnly)
	require.NoError(t, err)
	defer client.Free()
	seen, err := share.Grid[float64](client)
	require.NoError(t, err)
	assert.Equal(t, []float64{0, 2, 3}, []float64{seen.At(0, 0), seen.At(2, 4), seen.At(3, 4)})
	assert.Panics(t, func() { seen.Set(1, 0, 0) })
	assert.ErrorIs(t, seen.Fill(1), alloc.ErrInvalid)
	_, err = share.Grid[float32](client)
	assert.ErrorIs(t, err, alloc.ErrType)
}
