package alloc_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

// With GRIDBUF_DEBUG=1 a Buffer that is collected without Free is reported with its lines.
func TestLostBuffersAreReported(t *testing.T) {
	if os.Getenv("GRIDBUF_TEST_LOSES") != "" {
		lose(t)
		return
	}
	for debug, reported := range map[string]bool{"1": true, "0": false} {
		command := exec.Command(os.Args[0], "-test.run=^TestLostBuffersAreReported$")
		command.Env = append(os.Environ(), "GRIDBUF_TEST_LOSES=1", "GRIDBUF_DEBUG="+debug)
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
		if reported {
			assert.Regexp(t, `gridbuf: buffer #\d+ was collected without Free: Plan\(`, string(out))
			assert.Contains(t, string(out), "lost_test.go")
			assert.NotContains(t, string(out), "keptOrFreed")
		} else {
			assert.NotContains(t, string(out), "without Free")
		}
	}
}

func lose(t *testing.T) {
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{100}, ItemSize: 8})
	require.NoError(t, err)
	_, err = alloc.New(plan)
	require.NoError(t, err)
	keptOrFreed(t, plan)
	for range 20 { // cleanups run some time after a collection
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
}

func keptOrFreed(t *testing.T, plan *alloc.Plan) {
	b, err := alloc.New(plan)
	require.NoError(t, err)
	b.Free()
}
