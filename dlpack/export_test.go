package dlpack

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

func buffer(t *testing.T, itemSize int64, shape ...int64) *alloc.Buffer {
	preset, err := alloc.FindPreset("gt:cpu_ifirst")
	require.NoError(t, err)
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: shape, ItemSize: itemSize, Preset: preset,
		Padding: alloc.PadToBoundary})
	require.NoError(t, err)
	b, err := alloc.New(plan)
	require.NoError(t, err)
	return b
}

func TestExportedBufferOutlivesItsMaker(t *testing.T) {
	before := alloc.Statistics().LiveBuffers
	b := buffer(t, 8, 5, 6, 7)
	m, err := ExportBuffer(b, DataType{Float, 64, 1})
	require.NoError(t, err)
	b.Bytes()[0] = 42
	b.Free()
	assert.Equal(t, before+1, alloc.Statistics().LiveBuffers)

	got, err := Import(m)
	require.NoError(t, err)
	assert.Equal(t, []int64{5, 6, 7}, got.Shape)
	assert.Equal(t, []int64{8, 64, 384}, got.Strides)
	assert.Equal(t, Version{1, 3}, m.Version())
	m.Free()
	assert.Equal(t, before, alloc.Statistics().LiveBuffers)
}

func TestExportKeepsEveryPartOfADescription(t *testing.T) {
	for _, want := range []Tensor{
		{Data: 4096, Device: Device{CPU, 0}, DataType: DataType{Int, 16, 1}, Shape: []int64{2, 3},
			Strides: []int64{-2, 4}, Flags: ReadOnly},
		{Data: 4096, Device: Device{CUDA, 2}, DataType: DataType{BFloat, 16, 1}, Shape: []int64{},
			Strides: []int64{}, Flags: IsCopied},
		{Data: 4096, Device: Device{CUDAManaged, 0}, DataType: DataType{Bool, 8, 1},
			Shape: []int64{1 << 40}, Strides: []int64{0}},
		{Data: 0, Device: Device{CPU, 0}, DataType: DataType{Complex, 128, 1}, Shape: []int64{0, 3},
			Strides: []int64{48, 16}},
		{Data: 4096, Device: Device{CPU, 0}, DataType: DataType{Float4E2M1FN, 4, 1},
			Shape: []int64{7}, Strides: []int64{1}, Flags: SubBytePadded},
	} {
		m, err := Export(want, Owner{})
		require.NoError(t, err)
		got, err := Import(m)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		m.Free()

		legacy, err := ExportLegacy(want, Owner{})
		switch {
		case want.Flags&ReadOnly != 0:
			assert.ErrorContains(t, err, "a legacy consumer cannot see that memory is read-only")
			continue
		case want.DataType.subByte():
			assert.ErrorContains(t, err, "dtype: float4_e2m1fn cannot be exported")
			continue
		}
		require.NoError(t, err)
		got, err = ImportLegacy(legacy)
		require.NoError(t, err)
		want.Flags = 0
		assert.Equal(t, want, got)
		legacy.Free()
	}
}

func TestExportFillsStridesInAndForgetsEmptyData(t *testing.T) {
	m, err := Export(Tensor{Data: 4096, Device: Device{Type: CPU}, DataType: DataType{Float, 32, 1},
		Shape: []int64{2, 0, 5}}, Owner{})
	require.NoError(t, err)
	defer m.Free()
	raw := (*foreignVersioned)(m.tensor.Address(managedName))
	assert.NotZero(t, raw.tensor.strides)
	assert.Zero(t, raw.tensor.data)
	got, err := Import(m)
	require.NoError(t, err)
	assert.Equal(t, []int64{20, 20, 4}, got.Strides)
}

func TestExportRefuses(t *testing.T) {
	float64s := func(change func(*Tensor)) Tensor {
		v := Tensor{Data: 4096, Device: Device{Type: CPU}, DataType: DataType{Float, 64, 1},
			Shape: []int64{3}, Strides: []int64{8}}
		change(&v)
		return v
	}
	for want, v := range map[string]Tensor{
		"ndim: 33": float64s(func(v *Tensor) {
			v.Shape = make([]int64, 33)
			v.Strides = nil
		}),
		"strides: 1 entries for 2 dimensions": float64s(func(v *Tensor) {
			v.Shape = []int64{1, 1}
		}),
		"strides: entry 0 is 12 bytes, no multiple of the 8": float64s(func(v *Tensor) {
			v.Strides[0] = 12
		}),
		"shape: entry 0 is -3": float64s(func(v *Tensor) { v.Shape[0] = -3 }),
		"data: NULL":           float64s(func(v *Tensor) { v.Data = 0 }),
		"dtype: code 99":       float64s(func(v *Tensor) { v.DataType.Code = 99 }),
		"device: type 0":       float64s(func(v *Tensor) { v.Device.Type = 0 }),
		"flags: 0x8":           float64s(func(v *Tensor) { v.Flags = 8 }),
		"shape: with entry 1": float64s(func(v *Tensor) {
			v.Shape = []int64{math.MaxInt32, math.MaxInt32}
			v.Strides = nil
		}),
	} {
		_, err := Export(v, Owner{})
		assert.ErrorContains(t, err, want)
		_, err = ExportLegacy(v, Owner{})
		assert.ErrorContains(t, err, want)
	}
}

func TestExportBufferRefusesAnotherItemSizeAndKeepsNoShare(t *testing.T) {
	before := alloc.Statistics().LiveBuffers
	b := buffer(t, 8, 3, 3)
	_, err := ExportBuffer(b, DataType{Float, 32, 1})
	assert.ErrorContains(t, err, "dtype: items of float32 take 4 bytes, those of the plan 8")
	b.Free()
	assert.Equal(t, before, alloc.Statistics().LiveBuffers)
}

func TestDescribePlanOnADevice(t *testing.T) {
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{4}, ItemSize: 4, Device: alloc.GPU,
		DeviceID: 3})
	require.NoError(t, err)
	got, err := DescribePlan(plan, DataType{Float, 32, 1}, 4096)
	require.NoError(t, err)
	assert.Equal(t, Device{CUDA, 3}, got.Device)
}

// The deleters must work where there is no Go: testdata/without_go.c exports, checks
// and deletes from threads and forked children under the address sanitizer.
func TestWithoutGo(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	program := filepath.Join(t.TempDir(), "without_go")
	out, err := exec.Command(cc, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g",
		"-fsanitize=address,undefined",
		"-fno-sanitize-recover", "-pthread", "-I.", "-o", program, "testdata/without_go.c",
		"export.c", "check.c", "../alloc/errors.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "released 6400\n", string(out))
}
