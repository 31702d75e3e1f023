package transfer

// #include "transfer.h"
import "C"

import "gridbuf/alloc"

// View is strided host memory that Go does not manage.
type View = alloc.View

// MaxDims is how many dimensions a View may have.
const MaxDims = alloc.MaxViewDims

var _ = [1]struct{}{}[MaxDims-C.GB_COPY_DIMS] // C has room for as many

// typeOf is an element's type as the kernels know it: those that no conversion knows are moved.
func typeOf(t alloc.Type) C.int32_t {
	if C.gb_copy_converts(C.int(t)) == 0 {
		return C.GB_RAW
	}
	return C.int32_t(t)
}
