package alloc

// #include <stdlib.h>
// #cgo noescape gb_preset_named
// #cgo nocallback gb_preset_named
// #include "preset.h"
import "C"

import (
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"gridbuf/internal/message"
)

// Order says how a preset turns dimensions into a layout.
type Order int

// Presets order by name; C and F are NumPy's orders, by position.
const (
	ByName          Order = C.GB_BY_NAME
	ByIndex         Order = C.GB_BY_INDEX
	ByIndexReversed Order = C.GB_BY_INDEX_REVERSED
	// the layout comes with every request (a Python function computes it)
	ByCaller Order = C.GB_BY_CALLER
)

func (o Order) String() string {
	if o < ByName || o > ByCaller {
		return message.Format("Order(%d)", int(o))
	}
	return [...]string{ByName: "by name", ByIndex: "by index",
		ByIndexReversed: "by index, reversed", ByCaller: "by caller"}[o]
}

// Preset is what a backend wants of its arrays. Those that have a name are kept in C
// (preset.c), where a forked child reads them too.
type Preset struct {
	Name      string
	Order     Order
	Axes      string // for ByName: the cartesian axes, slowest first, such as "KJI"
	Alignment int64  // items; 0 and 1 pad nothing
	Device    Device // AnyDevice: the host
}

// FindPreset finds a preset by name; the error lists the known ones.
func FindPreset(name string) (*Preset, error) {
	c := presetNamed(name)
	if c == nil {
		return nil, ErrInvalid.Errorf("backend: %q is not known; known are %s", name,
			presetNames(", ", 500))
	}
	return &Preset{
		Name: name, Order: Order(c.order), Axes: C.GoString(&c.axes[0]),
		Alignment: int64(c.alignment), Device: Device(c.device),
	}, nil
}

// presetNamed is the record of a name, or nil.
func presetNamed(name string) *C.gb_preset {
	var text [longestName + 1]byte // ends with a zero, as C wants
	if len(name) > longestName || strings.IndexByte(name, 0) >= 0 {
		return nil
	}
	copy(text[:], name)
	return C.gb_preset_named((*C.char)(unsafe.Pointer(&text[0])))
}

// Register adds a preset, or takes the place of one of the same name; plans made before stay what
// they were. A built-in name cannot be taken.
func Register(p Preset) error {
	if err := checkName(p.Name); err != nil {
		return err
	}
	name := C.CString(p.Name)
	defer C.free(unsafe.Pointer(name))
	c := C.gb_preset{order: C.int32_t(p.Order), device: C.int32_t(p.Device),
		alignment: C.int64_t(p.Alignment)}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&c.axes[0])), len(c.axes)-1), p.Axes)
	var e C.gb_error
	if C.gb_preset_register(name, &c, &e) != 0 {
		return &Error{Kind: Kind(e.kind), Message: message.Text(e.message[:])}
	}
	return nil
}

// A name is shown in errors and lists, one a line.
const longestName = 200

func checkName(name string) error {
	if name == "" {
		return ErrInvalid.Errorf("name: a backend needs a non-empty name")
	}
	if len(name) > longestName {
		return ErrInvalid.Errorf("name: %d bytes are too long for a backend's name; at most %d "+
			"are allowed", len(name), longestName)
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 ||
		!utf8.ValidString(name) {
		return ErrInvalid.Errorf("name: %q has a character that cannot be printed", name)
	}
	return nil
}

// Presets lists the names, sorted.
func Presets() []string { return strings.Split(presetNames("\n", 0), "\n") }

func presetNames(separator string, room int) string {
	between := C.CString(separator)
	defer C.free(unsafe.Pointer(between))
	text := C.gb_preset_names(between, C.size_t(room))
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}

// ordersAxes says whether a text is a permutation of "IJK".
func ordersAxes(axes string) bool {
	if len(axes) != 3 {
		return false
	}
	var found int
	for i := range axes {
		if c := axes[i]; 'I' <= c && c <= 'K' {
			found |= 1 << (c - 'I')
		}
	}
	return found == 7
}
