package alloc_test

import (
	"testing"

	"gridbuf/alloc"
)

// Names of indices are read, or refused without a panic; those that are read say the same again.
func FuzzParseDims(f *testing.F) {
	for _, seed := range []string{"IJK", "", "I0", "I,J,3", "IJK IJK", "\xff", "99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dims, err := alloc.ParseDims(text)
		if err != nil {
			return
		}
		again, err := alloc.ParseDims(alloc.DimsString(dims))
		if err != nil || alloc.DimsString(again) != alloc.DimsString(dims) {
			t.Fatalf("%q: %v, then %v and %v", text, dims, again, err)
		}
	})
}
