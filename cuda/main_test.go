package cuda_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
)

// One fake driver for the process; tests that need another one run in a child (inChild).
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("GRIDBUF_CUDA_CHILD") == "" {
		folder, err := os.MkdirTemp("", "fake-cuda")
		if err == nil {
			defer func() { _ = os.RemoveAll(folder) }()
			err = faketest.Build(folder)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if strings.Contains(os.Getenv("GRIDBUF_LIBCUDA"), "fake") {
		if err := faketest.Open(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// inChild runs this test again in a process with these settings, and says whether we are it.
func inChild(t *testing.T, settings ...string) bool {
	t.Helper()
	if os.Getenv("GRIDBUF_CUDA_CHILD") == t.Name() {
		return true
	}
	child := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$",
		"-test.v")
	child.Env = append(append(os.Environ(), "GRIDBUF_CUDA_CHILD="+t.Name()), settings...)
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "the child ran the test")
	return false
}

// inChildWith is inChild with a driver that lacks something.
func inChildWith(t *testing.T, flags ...string) bool {
	t.Helper()
	if os.Getenv("GRIDBUF_CUDA_CHILD") == "" {
		t.Setenv("GRIDBUF_LIBCUDA", os.Getenv("GRIDBUF_LIBCUDA")) // as it is now, after the test
		require.NoError(t, faketest.Build(t.TempDir(), flags...))
	}
	return inChild(t)
}

var kinds = []cuda.Kind{cuda.DeviceMemory, cuda.Pinned, cuda.Managed}

// clean begins with empty pools, and sees at the end that nothing is left and nothing was misused.
func clean(t *testing.T) {
	t.Helper()
	empty := func() {
		for _, k := range kinds {
			cuda.SetLimit(k, 0, -1)
			cuda.Trim(k, 0, 0)
		}
	}
	require.NoError(t, cuda.Start())
	faketest.Hold(0)
	empty()
	faketest.Reset()
	t.Cleanup(func() {
		faketest.NoFailures()
		faketest.Hold(0)
		faketest.Pump(faketest.Any, 1<<40)
		empty()
		assert.Zero(t, faketest.Misuses(), faketest.LastMisuse())
		assert.Zero(t, faketest.Balance(), "contexts left on a thread's stack")
		assert.Zero(t, faketest.Blocks(), "allocations that were never freed")
		assert.Empty(t, cuda.LiveBlocks(10))
		assert.Zero(t, faketest.OpenStreams())
	})
}

func take(t *testing.T, k cuda.Kind, span int64, s cuda.Stream) *cuda.Block {
	t.Helper()
	b, err := cuda.Alloc(cuda.Request{Kind: k, Span: span, Stream: s})
	require.NoError(t, err)
	return b
}

func on(device int, s cuda.Stream) cuda.Queue { return cuda.Queue{Device: device, Stream: s} }

// stderrOf is what C code writes on standard error meanwhile.
func stderrOf(t *testing.T, act func()) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "stderr")
	require.NoError(t, err)
	saved, err := syscall.Dup(2)
	require.NoError(t, err)
	require.NoError(t, syscall.Dup3(int(file.Fd()), 2, 0))
	act()
	require.NoError(t, syscall.Dup3(saved, 2, 0))
	require.NoError(t, syscall.Close(saved))
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	return string(text)
}
