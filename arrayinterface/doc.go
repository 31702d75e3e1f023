// Package arrayinterface describes arrays as __array_interface__ version 3 and the
// buffer protocol do, and reads such descriptions from others.
//
// A [Type] is the type of an item; [ParseTypestr] and [ParseFormat] read the two
// notations for it, "<f8" and PEP 3118's "d", and [Type.Typestr] and [Type.Format]
// write them. An [Interface] mirrors the dictionary that a Python object offers:
// [Parse] checks one that somebody else wrote and gives a [Description] with
// everything filled in, [Describe] goes the other way.
//
// What is read here comes from other people's code. Nothing in it is trusted: sizes
// are held against overflow, and what is refused is refused with the key that is
// wrong, what it says and what is allowed.
//
// # C
//
// interface.h is the strict reader: typestr.c decides about types, memory.c about
// where elements lie. The extension calls it for every dict and struct that Python
// objects offer, on the host and on GPUs, and for typestrs anywhere else; Go calls
// the same functions. It is C because a forked child, which has no Go, reads
// interfaces too, and because there is one set of rules. The lists that name the fields
// of structured types are taken apart where they are written: here by descr.go, in the
// extension by gridbuf/wrapping.py; testdata/refused.jsonl holds both to the same words.
//
// # Where readers differ
//
// NumPy believes a dictionary: it allocates where the address is 0, looks at no
// stride, and makes references to Python objects of foreign bytes. Where it takes
// something that is sound, it is taken here, with these exceptions:
//
//   - The byte order is <, > or |: '=' and none at all, which only np.dtype knows, are
//     refused, and so is the kind t (bit fields), which NumPy cannot read either.
//   - An item has at least one byte; a field may have none. NumPy's sizes end at 2^31,
//     and the extension refuses what NumPy would make another size of.
//   - A field's shape is a list of sizes of 0 or more. np.dtype takes a lone number too.
//   - Of the fields without a name, plain bytes ("|V4") are padding for Go programs, and
//     fields f0, f1, ... in the dtype that the extension asks NumPy for; all others are
//     fields f0, f1, ... in both.
//   - Sizes of 0 count as 1 when the size of an array is held against 2^63.
//   - Addresses are not negative, and elements do not leave the address space.
package arrayinterface

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
import "C"
