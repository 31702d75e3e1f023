// Package cudaarrayinterface describes device memory as __cuda_array_interface__
// version 3 does, and reads such descriptions from others.
//
// The types and layouts are those of [gridbuf/arrayinterface]. What differs: an array
// without elements has address 0, there may be a stream on which work on the array is
// still under way, and the memory cannot be looked at from the host. interface.h has
// these rules, which the extension calls as Go does, and ../arrayinterface all others.
package cudaarrayinterface
