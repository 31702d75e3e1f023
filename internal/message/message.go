// Package message writes numbers and words into sentences as package fmt does, for the few kinds of
// arguments that the rooms in the extension have. fmt, with the reflection, files and clocks that
// it brings, would make the extension 440 KB larger.
package message

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Format understands %d, %s, %q, %c, %v and %%, as package fmt does. What it takes: strings, bytes
// and integers, errors and what has a String method, and slices of strings and of integers. A test
// looks at every call in this module.
func Format(format string, args ...any) string {
	var out []byte
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out = append(out, format[i])
			continue
		}
		i++
		if format[i] == '%' {
			out = append(out, '%')
			continue
		}
		out = write(out, format[i], args[0])
		args = args[1:]
	}
	return string(out)
}

func write(out []byte, verb byte, arg any) []byte {
	if n, ok := integer(arg); ok {
		if verb == 'c' {
			return utf8.AppendRune(out, rune(n))
		}
		if verb == 'q' {
			return strconv.AppendQuoteRune(out, rune(n))
		}
		return strconv.AppendInt(out, n, 10)
	}
	switch v := arg.(type) {
	case []int64:
		return list(out, v)
	case []int32:
		return list(out, v)
	case []int:
		return list(out, v)
	case []string:
		return append(out, "["+strings.Join(v, " ")+"]"...)
	}
	if words := Of(arg); verb == 'q' {
		return strconv.AppendQuote(out, words)
	} else {
		return append(out, words...)
	}
}

// Of is what an error, a text or what has a String method says; of a panic that was none of these,
// that.
func Of(arg any) string {
	switch v := arg.(type) {
	case error:
		return v.Error()
	case interface{ String() string }:
		return v.String()
	case string:
		return v
	case nil:
		return "<nil>"
	}
	if n, ok := integer(arg); ok {
		return strconv.FormatInt(n, 10)
	}
	return "(neither a text nor an error)"
}

func integer(arg any) (int64, bool) {
	switch v := arg.(type) {
	case int:
		return int64(v), true
	case int64:
		return v, true
	case int32:
		return int64(v), true
	case uint8:
		return int64(v), true
	case uint64:
		return int64(min(v, math.MaxInt64)), true
	}
	return 0, false
}

func list[T int | int32 | int64](out []byte, numbers []T) []byte {
	out = append(out, '[')
	for i, n := range numbers {
		if i > 0 {
			out = append(out, ' ')
		}
		out = strconv.AppendInt(out, int64(n), 10)
	}
	return append(out, ']')
}

// List is "[I J K]": what is in it, as it says itself.
func List[T interface{ String() string }](items []T) string {
	words := make([]string, len(items))
	for i, item := range items {
		words[i] = item.String()
	}
	return "[" + strings.Join(words, " ") + "]"
}

// Stack is the stack of this goroutine, for a panic's message.
func Stack() string {
	room := make([]byte, 16<<10)
	return string(room[:runtime.Stack(room, false)])
}

// Panic is what recover gave, and where it came from.
func Panic(recovered any) string { return Of(recovered) + "\n" + Stack() }

// Text is what C has written into room, up to a zero byte. Room stays on the caller's stack.
func Text[T ~int8 | ~uint8](room []T) string {
	n := slices.Index(room, 0)
	if n < 0 {
		n = len(room)
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(room))), n))
}
