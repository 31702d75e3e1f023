// Package kernels has the loops that gridbuf ships: small dense linear algebra over a
// stack of matrices, the tridiagonal solver, row products, row statistics and
// elementwise functions whose floating-point flags are exact.
//
// Every loop exists for float32 and float64 and is compiled for several instruction
// sets; the best one that the machine has is chosen when the program starts. The
// linear algebra works on as many matrices at once as a vector register has lanes,
// because one small matrix alone leaves most of a register empty.
//
// The C is in package loops; a new kernel is a line of loops/list.h and its code there.
package kernels
