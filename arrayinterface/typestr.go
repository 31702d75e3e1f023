package arrayinterface

// #include "interface.h"
import "C"

import (
	"strconv"
	"strings"
	"unsafe"

	"gridbuf/alloc"
)

// ParseTypestr reads a typestr such as "<f8", "|b1", "<U5" or "<M8[ns]": byte order,
// kind, size, and the unit of a time. The fields of a "|V12" come separately, see
// [ParseDescr]. Python objects ("|O") and bit fields are refused.
func ParseTypestr(s string) (Type, error) {
	var item C.gb_interface_item_type
	var e C.gb_error
	if C.gb_interface_typestr(chars(s), C.size_t(len(s)), &item, &e) < 0 {
		return Type{}, refusal(&e)
	}
	return typeOf(s, &item), nil
}

// parseItem is ParseTypestr for the items of an array, which have bytes.
func parseItem(s string) (Type, error) {
	var item C.gb_interface_item_type
	var e C.gb_error
	if C.gb_interface_item(chars(s), C.size_t(len(s)), &item, &e) < 0 {
		return Type{}, refusal(&e)
	}
	return typeOf(s, &item), nil
}

func typeOf(s string, item *C.gb_interface_item_type) Type {
	t := Type{Kind: byte(item.kind), Order: byte(item.order), ItemSize: int64(item.size)}
	if item.unit != 0 {
		t.Unit = strings.TrimSuffix(s[item.unit:], "]")
		if name, one := strings.CutPrefix(t.Unit, "1"); one && strings.Trim(name, "0123456789") == name {
			t.Unit = name
		}
	}
	return t
}

// chars lends a string to C.
func chars(s string) *C.char { return (*C.char)(unsafe.Pointer(unsafe.StringData(s))) }

func refusal(e *C.gb_error) error {
	return &alloc.Error{Kind: alloc.Kind(e.kind), Message: C.GoString(&e.message[0])}
}

// Typestr writes the type as [ParseTypestr] reads it.
func (t Type) Typestr() string {
	size := t.ItemSize
	if t.Kind == 'U' {
		size /= 4
	}
	s := string([]byte{t.Order, t.Kind}) + strconv.FormatInt(size, 10)
	if t.Unit != "" {
		s += "[" + t.Unit + "]"
	}
	return s
}
