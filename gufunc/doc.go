// Package gufunc applies a kernel to every element of stacks of operands and says
// which elements failed.
//
// A [GUFunc] is a signature such as "(m,n),(n)->(m)" and one or more [Kernel]s. A
// call goes through four stages, and each can be used alone:
//
//   - [GUFunc.SelectKernel] finds the kernel for the operands' types;
//   - [GUFunc.Resolve] binds the core dimensions, broadcasts the rest, plans the
//     loops and compiles all of it into a [Call] in C memory. Nothing in it depends on
//     addresses, so it is kept and used again;
//   - [GUFunc.Run] executes it over memory: chunks of a few thousand elements, each a few
//     calls of the kernel, on as many workers as are worth their start;
//   - [Outcome] tells all good, some failed and all failed apart, with a code for
//     every element.
//
// [GUFunc.Reduce] folds an array along axes, by the same stages: planned in Go, compiled
// into a [Reduction], run in C (reduction.h).
//
// The loops run in C (block.c, job.c). They need neither Go nor Python, so the
// extension runs small calls, and calls in a forked child, without entering Go; Go
// adds the parsing, the resolution and the workers.
//
// Elements may run in any order. Inputs are read as if they had been copied first,
// whatever they share with the outputs.
package gufunc
