package bridge

// #include "types.h"
import "C"

import (
	"strings"
	"unsafe"

	"gridbuf/alloc"
)

func backend(name string, out *C.gb_preset) error {
	n, err := alloc.PresetNumber(name)
	if err != nil {
		return backendError{err}
	}
	p, err := alloc.PresetByNumber(n)
	if err != nil {
		return err
	}
	out.number, out.order, out.device, out.alignment = C.int32_t(n), C.int32_t(p.Order), C.int32_t(p.Device), C.int64_t(p.Alignment)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&out.axes[0])), len(out.axes)-1), p.Axes)
	return nil
}

// backends writes the names with a newline between them and a closing zero, if there
// is room for all that; needed says how much that is.
func backends(room []byte, needed *C.int64_t) error {
	all := strings.Join(alloc.Presets(), "\n")
	*needed = C.int64_t(len(all) + 1)
	if len(all) < len(room) {
		room[copy(room, all)] = 0
	}
	return nil
}

func register(name string, p *C.gb_preset) error {
	n, err := alloc.Register(alloc.Preset{
		Name: name, Order: alloc.Order(p.order), Axes: C.GoString(&p.axes[0]),
		Alignment: int64(p.alignment), Device: alloc.Device(p.device),
	})
	p.number = C.int32_t(n)
	return err
}
