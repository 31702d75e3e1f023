// Package grid has typed arrays over grid memory: laid out by a plan, indexed, sliced and walked
// row by row in Go, and shared with C and Python without a copy.
//
//	preset, err := alloc.FindPreset("gt:cpu_ifirst")
//	spec := &alloc.Spec{Shape: []int64{128, 128, 80}, Preset: preset}
//	salt, err := grid.New[float64](spec, 3, 3, 0) // a halo of 3, 3 and 0 points
//	defer salt.Free()
//	err = salt.Fill(34.5)
//	for row := range salt.Domain().Rows() { // Go slices along the index that lies side by side
//		row[0] = 35
//	}
//
// [New] takes memory from gridbuf's heap, with halo widths that [Array.Domain] leaves out; [Of]
// wraps a Go slice; [FromTensor] takes a DLPack tensor of any producer, [FromView] any memory, such
// as what package share has of another process. [Array.Index], [Array.Slice] and [Array.Transpose]
// give views without copying, which are valid until the array they come from is freed.
//
// An index outside of the shape panics, as with Go's slices, and so does any use after Free. Errors
// are those of package alloc. Arrays are as safe for concurrent use as Go's slices are: elements
// may be read and distinct ones written by several goroutines; Free comes after all other uses.
package grid
