// Package gufunc applies a kernel to every element of stacks of operands and says which elements
// failed:
//
//	g, err := gufunc.New("half", "()->()", kernels, gufunc.AllFlags) // or kernels.New("solve")
//	r, err := g.Call([]gufunc.Array{gufunc.FromView(salt.View())}, nil, gufunc.Options{})
//	defer r.Free()
//	if r.SomeFailed() { ... r.Codes ... }
//	half := r.Outputs[0]
//
// A [GUFunc] is a signature such as "(m,n),(n)->(m)" and one or more [Kernel]s, in Go or in C;
// package gufunc/kernels has those that ship. [GUFunc.Call] takes the kernel for the operands'
// types, broadcasts, allocates the outputs and runs the kernel on as many workers as are worth
// their start. [GUFunc.Reduce] folds an array along axes. [Outcome] tells all good, some failed and
// all failed apart, with a code for every element.
//
// Elements may run in any order. Inputs are read as if they had been copied first, whatever they
// share with the outputs. Memory of Go's is pinned during a call.
//
// A call that is made often is planned once: [GUFunc.SelectKernel] finds the kernel for the
// operands' types; [GUFunc.Resolve] binds the core dimensions, broadcasts the rest, plans the loops
// and compiles all of it into a [Call], which does not depend on addresses; [GUFunc.Run] executes
// it over memory. [GUFunc.PlanReduction] and [Reduction] are the same for reductions.
package gufunc

// For maintainers. The loops run in C (block.c, job.c; reduction.h), which needs neither Go nor
// Python, so that the extension runs small calls, and calls in a forked child, without entering Go.
// Go adds the parsing, the resolution and the workers. A run takes chunks of a few thousand
// elements, each a few calls of the kernel.
