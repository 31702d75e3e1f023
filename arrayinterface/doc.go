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
package arrayinterface
