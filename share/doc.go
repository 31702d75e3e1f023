// Package share hands named arrays to other processes through a Unix socket, without a copy: a Go
// service and a Python model work on the same memory.
//
//	server, err := share.Listen(ctx, "unix:/run/user/1000/ocean", share.Options{})
//	defer server.Close()
//	salt, err := share.New(plan, alloc.Float64) // laid out by an alloc.Plan, zeros
//	defer salt.Free()
//	points, err := share.Grid[float64](salt) // a grid.Array: At, Set, Rows, Domain
//	err = server.Offer("salt", salt, share.ReadWrite)
//
// In Python gridbuf.attach("unix:/run/user/1000/ocean", "salt") is a Field over that memory; in Go
// [Attach] gives an [Array]. [Server.Wait] returns when no client holds the array any more.
//
// # Memory
//
// An array lies in a memfd of its own: pages come into being when they are touched, and the memory
// lives until the last process that maps it lets go, whichever ends first. A memfd is sealed
// against growing and shrinking, so that no process can take pages away under another. One that is
// offered [ReadOnly] is sealed against writing, too: only the process that made it writes. The
// memory is not counted in alloc.Statistics. Two processes that write the same elements at the same
// time need an agreement of their own, as threads do.
//
// # Permissions
//
// The permissions of the socket and of the folders above it decide: [Options].Mode is 0600 unless
// told otherwise. A process that may connect may attach all that is offered, and must trust the
// server no further than a size: clients check each figure against the descriptor before they map
// it.
//
// # The protocol
//
// A message is its length in bytes, an unsigned 32-bit number, little end first, and so many bytes
// of JSON. A client sends requests, one after the other:
//
//	{"version": 1, "op": "names"}
//	{"version": 1, "op": "attach", "name": "salt", "writable": true}
//	{"version": 1, "op": "release"}
//
// The answer to the first is {"version": 1, "names": ["salt"]}, to the second a description, with
// which the descriptor of the memfd comes as SCM_RIGHTS, on the first byte:
//
//	{"version": 1, "array": {"bytes": 12288, "offset": 48, "typestr": "<f8",
//	 "shape": [12, 12, 7], "strides": [8, 896, 128], "dims": ["I", "J", "K"],
//	 "halo": [[2, 2], [2, 2], [0, 0]], "writable": true}}
//
// bytes is the size of the memfd, offset where element 0 lies in it, strides are bytes, typestr is
// NumPy's. What cannot be answered gives {"version": 1, "error": "..."}. The connection is the
// reference to all that was attached through it: closing it lets go, and so does the end of a
// client, kill -9 included. A release, which has no answer, lets go of all that the connection has
// attached, and leaves it open for the next attach: [Array.Free] sends one, and up to four
// connections of a process wait for the next [Attach].
package share
