package main

import (
	"strings"
	"testing"
)

// Whatever the words are, plan prints a table or says in one line what is wrong.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{
		"128 128 80 --backend gt:cpu_ifirst --halo 3 3 0",
		"12 12 7 2 --layout 0 K J I --halo 1 1:2 0 0",
		"5 6 7 --device gpu:1 --memory managed", "5 6 7 --dims=KJ0 --padding no --backend gtmc",
		"5 6 --aligned-index 1 2 --byte-alignment 128 --dtype f4", "4 5 --layout 4294967296 1",
		"9223372036854775807 2", "-1", "3 --padding", "4 --dims=I,J --layout=,",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Fields(text)
		for _, word := range words {
			if word = strings.TrimLeft(word, "-"); word == "h" || word == "help" {
				return // printed on the standard output
			}
		}
		var out strings.Builder
		err := runPlan(words, &out)
		if (err == nil) != (out.Len() > 0) {
			t.Fatalf("%q: error %v and %d bytes of output", words, err, out.Len())
		}
		if err != nil && strings.Contains(strings.TrimSpace(err.Error()), "\n") {
			t.Fatalf("%q: an error of several lines: %v", words, err)
		}
	})
}
