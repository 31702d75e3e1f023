package bridge

// #include "types.h"
import "C"

import (
	"strings"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/record"
	"gridbuf/internal/work"
)

// The first call: it waits until Go's runtime has started.
//
//export gbridge_start
func gbridge_start(e *C.gb_error) C.int { return guard(e, func() error { return nil }) }

//export gbridge_work
func gbridge_work(w unsafe.Pointer, nanoseconds C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { _, err := work.Resume(w, int64(nanoseconds)); return err })
}

//export gbridge_explain
func gbridge_explain(plan *C.gb_plan, room *C.char, n C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { return explain(record.Plan(plan), text(room, n)) })
}

func explain(plan record.Plan, room []byte) error {
	var lines strings.Builder
	for _, fact := range alloc.ExplainRecord(plan) {
		lines.WriteString(fact.Term + "\t" + fact.Text + "\n")
	}
	return writeText(room, lines.String())
}
