//go:build !linux

package share

import "gridbuf/alloc"

var errSystem = alloc.ErrUnavailable.Errorf("share: processes share arrays on Linux only")

func makeSocket() (int, error)        { return -1, errSystem }
func createMemory(int64) (int, error) { return -1, errSystem }
func sealForGood(int, bool) error     { return errSystem }
func keepsItsSize(int) bool           { return false }
func openReadOnly(int) (int, error)   { return -1, errSystem }
