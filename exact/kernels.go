package exact

// #include <stdlib.h>
// #include "../transfer/transfer.h"
import "C"

import "unsafe"

// useKernels chooses another instruction set, for transfer too, and says whether this processor has
// it; for tests.
func useKernels(name string) bool {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return C.gb_copy_kernels_use(text) == 0
}

func kernelsInUse() string { return C.GoString(C.gb_copy_kernels_name()) }
