// Package record names C's own records of plans, so that only this module can hand one to package alloc: a program that
// uses the module cannot import it.
package record

import "unsafe"

// Plan is the address of a gb_plan (alloc/plan.h) with room for its lists.
type Plan unsafe.Pointer
