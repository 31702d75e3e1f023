// Package native says how this machine orders the bytes of a number.
package native

import "encoding/binary"

// Order is '<' where the low byte comes first, else '>', as typestrs have it.
var Order = func() byte {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return '<'
	}
	return '>'
}()
