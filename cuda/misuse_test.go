package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
	"gridbuf/internal/misuse"
)

func TestNothingEndsTheProcess(t *testing.T) {
	clean(t)
	freed, shared := take(t, cuda.DeviceMemory, 100, 0), take(t, cuda.Pinned, 100, 0)
	event, err := on(0, 0).Record()
	require.NoError(t, err)
	event.Free()
	freed.Free()
	shared.Share().Free()
	shared.Free()
	misuse.Room{
		Folder: ".",
		Types: []any{
			(*cuda.Block)(nil), (*cuda.Device)(nil), (*cuda.Direction)(nil), (*cuda.Error)(nil),
			(*cuda.Event)(nil), (*cuda.Kind)(nil), (*cuda.Live)(nil), (*cuda.Memory)(nil),
			(*cuda.Queue)(nil), (*cuda.Request)(nil), (*cuda.Side)(nil), (*cuda.Stats)(nil),
			(*cuda.Stream)(nil), (*cuda.View)(nil),
		},
		Funcs: []any{
			cuda.Alloc, cuda.AllocPlan, cuda.CopyStrided, cuda.HostSide, cuda.Describe,
			cuda.FreeStream, cuda.Devices, cuda.Find, cuda.LiveBlocks, cuda.NewStream,
			cuda.Owner, cuda.PointerAttributes, cuda.PoolStats, cuda.SetCacheBound, cuda.SetLimit,
			cuda.Start, cuda.Started, cuda.Synchronize, cuda.Trim,
		},
		Values: []any{freed, shared, event},
		Leave: []string{
			"Alloc: its block would be left", "NewStream: its stream would be left",
			"Queue.Record: its event would be left",
			"SetLimit: it holds for the process", "SetCacheBound: it holds for the process",
		},
	}.Check(t, 300)
	faketest.ClearMisuses() // of streams that are none
}
