package bridge

// #include "types.h"
import "C"

import (
	"strings"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/record"
)

// The first call, which waits until Go's runtime has started.
//
//export gbridge_start
func gbridge_start(e *C.gb_error) C.int { return guard(e, start) }

//export gbridge_explain
func gbridge_explain(dims *C.int32_t, ndim C.int32_t, words *C.int64_t, n C.int64_t, room *C.char, size C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error {
		return explain(unsafe.Slice((*alloc.Dim)(dims), ndim), unsafe.Slice((*int64)(words), n), text(room, size))
	})
}

func explain(dims []alloc.Dim, figures record.Figures, room []byte) error {
	facts, err := alloc.ExplainFigures(dims, figures)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, fact := range facts {
		lines.WriteString(fact.Term + "\t" + fact.Text + "\n")
	}
	return writeText(room, lines.String())
}
