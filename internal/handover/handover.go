// Package handover takes the records of C out of what package gufunc gives, for the extension,
// which frees them itself. A program that uses the module cannot import it.
package handover

import "unsafe"

// Set by package gufunc.
var (
	Call      func(call any) unsafe.Pointer      // of a *gufunc.Call: gb_gu_call_free gives it back
	Reduction func(reduction any) unsafe.Pointer // of a *gufunc.Reduction: gb_gu_reduction_free
	Fused     func(fused any) unsafe.Pointer     // of a *gufunc.Fused: gb_gu_fused_free
)
