package sorting

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStableSortsAsPackageSlicesDoes(t *testing.T) {
	type pair struct{ key, at int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		list := make([]pair, n)
		for i := range list {
			list[i] = pair{random.IntN(8), i}
		}
		wanted := slices.Clone(list)
		slices.SortStableFunc(wanted, byKey)
		Stable(list, byKey)
		assert.Equal(t, wanted, list)
	}
}
