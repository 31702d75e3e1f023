// Package kernels has the loops that gridbuf ships:
//
//	moments, err := kernels.New("moments") // mean and variance; Names lists all
//	r, err := moments.Reduce(gufunc.FromView(salt.View()), gufunc.ReduceOptions{Axes: []int{0, 1}})
//	defer r.Free()
//	means := r.Outputs[0]
//
// They are small dense linear algebra over a stack of matrices, the tridiagonal solver, row
// products, row statistics and elementwise functions whose floating-point flags are exact. Every
// loop exists for float32 and float64 and is compiled for several instruction sets; the best one
// that the machine has is chosen when the program starts.
package kernels

// For maintainers. The C is in package loops; a new kernel is a line of loops/list.h and its code
// there. The linear algebra works on as many matrices at once as a vector register has lanes,
// because one small matrix alone leaves most of a register empty.
