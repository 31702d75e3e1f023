package alloc

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ExampleSatisfies() {
	address := uintptr(4096) // of a foreign array of 4 x 5 x 6 float64 in C order
	have, _ := Describe([]int64{4, 5, 6}, []int64{240, 48, 8}, nil, 8, address)
	ifirst, _ := FindPreset("gt:cpu_ifirst")
	err := Satisfies(&Spec{Shape: []int64{4, 5, 6}, ItemSize: 8, Preset: ifirst}, have, address)
	fmt.Println(err)
	fmt.Println(Satisfies(&Spec{Shape: []int64{4, 5, 6}, ItemSize: 8, ByteAlignment: 64}, have,
		address))
	// Output:
	// preset "gt:cpu_ifirst" orders the strides otherwise; strides: wanted [8 32 160] for dims IJK, found [240 48 8]
	// <nil>
}

func TestSatisfiesNamesTheFirstRequirementMissed(t *testing.T) {
	shape, at := []int64{5, 6, 7}, uintptr(1<<20)
	describe := func(strides ...int64) *Plan {
		p, err := Describe(shape, strides, nil, 8, at)
		require.NoError(t, err)
		return p
	}
	plain, padded := describe(336, 56, 8), describe(384, 64, 8)
	gtmc, gpu := preset(t, "gtmc"), preset(t, "gt:gpu")
	for _, c := range []struct {
		spec Spec
		have *Plan
		at   uintptr
		want string // empty: satisfied
	}{
		{Spec{}, describe(8, 8, 8), at + 3, ""},
		{Spec{Padding: PadToBoundary, Layout: []int32{0, 1, 2}}, padded, at, ""},
		{Spec{Padding: PadNone}, plain, at, ""},
		{Spec{Padding: PadNone}, padded, at, "padding leaves no room"},
		{Spec{Padding: PadToBoundary}, plain, at, "padding puts rows on multiples of 64 bytes"},
		{Spec{Padding: 4}, plain, at, "padding puts rows on multiples of 32 bytes"},
		{Spec{Alignment: 8}, plain, at, "padding puts rows on multiples of 64 bytes"},
		{Spec{Layout: []int32{2, 1, 0}, Padding: 4}, plain, at, "layout orders"},
		{Spec{Preset: gtmc, Layout: []int32{2, 0, 1}}, describe(8, 280, 40), at,
			`preset "gtmc" puts rows on multiples of 64 bytes`},
		{Spec{Preset: gtmc}, describe(8, 512, 64), at, ""},
		{Spec{Preset: gtmc}, describe(8, 512, 64), at + 8,
			`preset "gtmc": element [0 0 0] must lie on a boundary of 64 bytes, and it lies 8 bytes after one`},
		{Spec{Preset: gtmc, AlignedIndex: []int64{1, 0, 0}}, describe(8, 512, 64), at + 56, ""},
		{Spec{ByteAlignment: 4096, AlignedIndex: []int64{0, 1, 1}}, plain, at,
			"alignment: element [0 1 1] must lie on a boundary of 4096 bytes, and it lies 64 " +
				"bytes after one"},
		{Spec{AlignedIndex: []int64{1, 0, 0}}, describe(-336, 56, 8), at,
			"it lies 48 bytes after one"},
		{Spec{Preset: gpu}, plain, at, `preset "gt:gpu": wanted memory on gpu 0, found it on cpu`},
		{Spec{Device: GPU, DeviceID: 1}, plain, at, "device: wanted memory on gpu 1"},
		{Spec{Memory: Pinned}, plain, at, "memory: wanted pinned memory, found plain"},
	} {
		c.spec.Shape, c.spec.ItemSize = shape, 8
		err := Satisfies(&c.spec, c.have, c.at)
		if c.want == "" {
			assert.NoError(t, err, "%+v", c.spec)
			continue
		}
		var unmet *Unmet
		require.ErrorAs(t, err, &unmet, "%+v", c.spec)
		assert.ErrorIs(t, err, ErrInvalid)
		assert.Contains(t, err.Error(), c.want)
		// the way out: a copy in new memory is what was wanted
		if unmet.Wanted.device == CPU && unmet.Wanted.memory == Plain {
			b, err := New(unmet.Wanted)
			require.NoError(t, err)
			assert.NoError(t, Satisfies(&c.spec, b.plan, uintptr(b.Data())), "%+v", c.spec)
			b.Free()
		}
	}
	assert.ErrorContains(t, Satisfies(&Spec{Shape: shape, ItemSize: 8, ByteAlignment: 3}, plain,
		at), "byte_alignment: 3")
	assert.ErrorContains(t, Satisfies(&Spec{Shape: shape, ItemSize: 4}, plain, at),
		"items of 4 bytes")
	assert.ErrorContains(t, Satisfies(&Spec{Shape: shape, ItemSize: 8}, nil, at),
		"have: it must describe")
}

// Whatever is padded, also where the padded index has one element.
func TestWhatAPlanGivesSatisfiesItsSpec(t *testing.T) {
	for _, s := range []Spec{
		{Shape: []int64{1, 7}, ItemSize: 4, Preset: preset(t, "F"), Padding: 8},
		{Shape: []int64{1, 3}, ItemSize: 12, Preset: &Preset{Name: "own", Order: ByIndexReversed,
			Alignment: 5}},
		{Shape: []int64{0, 7, 1}, ItemSize: 8, Preset: preset(t, "gtmc"), ByteAlignment: 4096,
			AlignedIndex: []int64{0, 2, 0}},
	} {
		p, err := NewPlan(&s)
		require.NoError(t, err)
		b, err := New(p)
		require.NoError(t, err)
		assert.NoError(t, Satisfies(&s, p, uintptr(b.Data())), "%+v", s)
		b.Free()
	}
}

// The extension's tests hold gridbuf/checks.py to the same table.
func TestWhatTheTableSaysIsMissed(t *testing.T) {
	table, err := os.ReadFile("testdata/satisfy.jsonl")
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		row := struct {
			Shape, Strides       []int64
			Layout               []int32
			AlignedIndex         []int64 `json:"aligned_index"`
			ByteAlignment        int64   `json:"byte_alignment"`
			Padding, At          int64
			Backend, Device, Why string
			Memory               string
		}{Shape: []int64{5, 6, 7}}
		require.NoError(t, json.Unmarshal([]byte(line), &row))
		s := Spec{
			Shape: row.Shape, ItemSize: 8, Layout: row.Layout, AlignedIndex: row.AlignedIndex,
			ByteAlignment: row.ByteAlignment, Padding: row.Padding,
		}
		if row.Backend != "" {
			s.Preset = preset(t, row.Backend)
		}
		if row.Device == "gpu" {
			s.Device = GPU
		}
		if row.Memory == "pinned" {
			s.Memory = Pinned
		}
		at := uintptr(1<<20 + row.At)
		have, err := Describe(row.Shape, row.Strides, nil, 8, at)
		require.NoError(t, err)
		if err = Satisfies(&s, have, at); row.Why == "" {
			assert.NoError(t, err, line)
		} else {
			assert.ErrorContains(t, err, row.Why, line)
		}
	}
}
