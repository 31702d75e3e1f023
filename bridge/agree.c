/* agree.c: the compiler compares the prototypes in bridge.h with the exports. */
#include "_cgo_export.h"
#include "bridge.h"
#include "gufunc.h"
