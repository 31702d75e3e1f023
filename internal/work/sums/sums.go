// Package sums goes on with sums without rounding that C has planned. That C is in package exact, which whoever links this has too.
package sums

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
// #cgo nocallback gb_exact_run
// #cgo noescape gb_exact_run
// #include "../../../exact/exact.h"
import "C"

import (
	"unsafe"

	"gridbuf/internal/work"
)

// Resume goes on with a gb_exact_progress for about as long as the budget (nanoseconds) says.
func Resume(progress unsafe.Pointer, budget int64) (done bool, err error) {
	p := (*C.gb_exact_progress)(progress)
	job := &p.job
	pieces := work.Shared{
		Pieces: int64(job.pieces), Batch: int64(C.gb_exact_batch(job)), Threads: int(C.gb_exact_threads(job)),
		Run: func(first, end int64) { C.gb_exact_run(job, C.int64_t(first), C.int64_t(end)) }, Doing: "summing",
	}
	reached, err := pieces.Share(int64(p.at), work.Deadline(budget))
	p.at = C.int64_t(reached)
	return reached == int64(job.pieces), err
}
