// Package copies goes on with copies that C has planned. That C is in package transfer, which whoever links this has too.
package copies

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
// #cgo nocallback gb_copy_job_run
// #cgo noescape gb_copy_job_run
// #cgo nocallback gb_program_entries_run
// #cgo noescape gb_program_entries_run
// #include "../../../transfer/program.h"
import "C"

import (
	"unsafe"

	"gridbuf/internal/work"
)

// RunTiles runs tiles of a gb_copy_job; it is a variable so that a test can make it panic.
var RunTiles = func(job unsafe.Pointer, first, end int64) {
	C.gb_copy_job_run((*C.gb_copy_job)(job), C.int64_t(first), C.int64_t(end))
}

// Resume goes on with a gb_copy for about as long as the budget (nanoseconds) says.
func Resume(copy unsafe.Pointer, budget int64) (done bool, err error) {
	c := (*C.gb_copy)(copy)
	end := work.Deadline(budget)
	for C.gb_copy_finished(c) == 0 {
		job := &c.job[c.at_job]
		tiles := work.Shared{
			Pieces: int64(job.tiles), Batch: int64(C.gb_copy_job_batch(job)), Threads: int(C.gb_copy_job_threads(job)),
			Run: func(first, end int64) { RunTiles(unsafe.Pointer(job), first, end) }, Doing: "copying",
		}
		reached, err := tiles.Share(int64(c.at_tile), end)
		c.at_tile = C.int64_t(reached)
		if err != nil {
			return false, err
		}
		if reached < int64(job.tiles) {
			return false, nil
		}
		c.at_job++
		c.at_tile = 0
		if work.Spent(end) {
			break
		}
	}
	return C.gb_copy_finished(c) != 0, nil
}

// ResumeProgram goes on with a gb_program_run for about as long as the budget (nanoseconds) says.
func ResumeProgram(run unsafe.Pointer, budget int64) error {
	r := (*C.gb_program_run)(run)
	p, bases := r.program, r.bases
	entries := work.Shared{
		Pieces: int64(p.n), Batch: int64(C.gb_program_batch(p)), Threads: int(C.gb_program_threads(p)),
		Run: func(first, end int64) { C.gb_program_entries_run(p, bases, C.int64_t(first), C.int64_t(end)) }, Doing: "copying",
	}
	reached, err := entries.Share(int64(r.at), work.Deadline(budget))
	r.at = C.int64_t(reached)
	return err
}
