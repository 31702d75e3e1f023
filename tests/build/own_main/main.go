// Command own_main is bridge/archive with a kernel of its own.
package main

import (
	_ "gridbuf/bridge"
	"gridbuf/gufunc"
)

func init() {
	gufunc.Register(gufunc.Registered{Name: "mine.double", Signature: "()->()", Types: "d->d",
		Kernel: double})
}

// double panics at negative numbers, which costs these elements and no others.
func double(b gufunc.Block) int {
	for i := range b.N {
		x := *b.Float64(0, i)
		if x < 0 {
			panic("negative")
		}
		*b.Float64(1, i) = 2 * x
	}
	return 0 // how many elements it marked in b.Status
}

func main() {}
