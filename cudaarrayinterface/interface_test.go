package cudaarrayinterface

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/arrayinterface"
)

func float32s(change func(*Interface)) Interface {
	d := Interface{Shape: []int64{3, 4}, Typestr: "<f4", Data: 4096, Version: 3}
	if change != nil {
		change(&d)
	}
	return d
}

func TestParseReadsEveryVersion(t *testing.T) {
	for version := range 4 {
		got, err := Parse(float32s(func(d *Interface) { d.Version = version; d.ReadOnly = true }))
		require.NoError(t, err)
		assert.Equal(t, []int64{16, 4}, got.Strides)
		assert.Equal(t, NoStream, got.Stream)
		assert.True(t, got.ReadOnly)
	}
}

func TestParseStreams(t *testing.T) {
	for stream, want := range map[int64]Stream{1: LegacyDefault, 2: PerThreadStream,
		0x7f0012345678: 0x7f0012345678} {
		got, err := Parse(float32s(func(d *Interface) { d.HasStream, d.Stream = true, stream }))
		require.NoError(t, err)
		assert.Equal(t, want, got.Stream)
	}
	got, err := Parse(float32s(func(d *Interface) { d.Stream = 7 }))
	require.NoError(t, err)
	assert.Equal(t, NoStream, got.Stream, "None has no value")
}

func TestParseWithoutElements(t *testing.T) {
	for _, data := range []uintptr{0, 4096} {
		got, err := Parse(float32s(func(d *Interface) { d.Shape, d.Data = []int64{3, 0}, data }))
		require.NoError(t, err)
		assert.Zero(t, got.Data)
	}
}

// Dictionaries of testdata/refused.jsonl are refused for the reasons there; the rest is in
// ../arrayinterface.
func TestParseRefuses(t *testing.T) {
	table, err := os.ReadFile("testdata/refused.jsonl")
	require.NoError(t, err)
	for row := range strings.Lines(string(table)) {
		c := struct {
			Why     string
			Version int
			Stream  *int64
		}{Version: Version}
		require.NoError(t, json.Unmarshal([]byte(row), &c), row)
		_, err := Parse(float32s(func(d *Interface) {
			if d.Version = c.Version; c.Stream != nil {
				d.HasStream, d.Stream = true, *c.Stream
			}
		}))
		assert.ErrorContains(t, err, c.Why, row)
	}
	for want, d := range map[string]Interface{
		"mask: masked arrays are not taken":   float32s(func(d *Interface) { d.Mask = true }),
		"data: the address is 0 for an array": float32s(func(d *Interface) { d.Data = 0 }),
		"strides: 3 entries for a shape of 2": float32s(func(d *Interface) {
			d.Strides = []int64{1,
				2, 3}
		}),
		`typestr: "|O8" holds Python objects`: float32s(func(d *Interface) { d.Typestr = "|O8" }),
	} {
		_, err := Parse(d)
		assert.ErrorContains(t, err, want)
	}
}

func TestDescribeBothWays(t *testing.T) {
	for _, d := range []Interface{
		float32s(nil),
		float32s(func(d *Interface) { d.Strides = []int64{4, 12} }),
		float32s(func(d *Interface) { d.Shape, d.Data = []int64{0, 4}, 0 }),
		float32s(func(d *Interface) { d.HasStream, d.Stream, d.ReadOnly = true, 2, true }),
		float32s(func(d *Interface) { d.Typestr = "|V4" }),
	} {
		parsed, err := Parse(d)
		require.NoError(t, err)
		back, err := Describe(parsed)
		require.NoError(t, err)
		assert.Equal(t, d, back)
	}
	parsed, err := Parse(float32s(nil))
	require.NoError(t, err)
	parsed.Data = 0
	_, err = Describe(parsed)
	assert.ErrorContains(t, err, "data: the address is 0")
}

func TestDescribePlanWantsMemoryThatADeviceCanUse(t *testing.T) {
	float32 := arrayinterface.Type{Kind: 'f', Order: '<', ItemSize: 4}
	plan := func(itemSize int64, memory alloc.Memory) *alloc.Plan {
		p, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 4}, ItemSize: itemSize,
			Memory: memory})
		require.NoError(t, err)
		return p
	}
	_, err := DescribePlan(plan(4, alloc.Plain), float32, 4096, NoStream)
	assert.ErrorContains(t, err, "device: the plan's memory is plain host memory")
	_, err = DescribePlan(plan(4, alloc.Managed), float32, 4096, NoStream)
	require.NoError(t, err)
	_, err = DescribePlan(plan(8, alloc.Managed), float32, 4096, NoStream)
	assert.ErrorContains(t, err, "dtype: items of <f4 take 4 bytes")
}

func TestStreamsHaveNames(t *testing.T) {
	assert.Equal(t, "none, legacy default, 0x7f00", strings.Join([]string{NoStream.String(),
		LegacyDefault.String(), Stream(0x7f00).String()}, ", "))
}
