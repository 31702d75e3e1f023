//go:build !gridbuf_extension

package bridge

// The extension calls the C of these packages, and setup.py links it without their Go. Whatever
// else links this package has the C from here.
import (
	_ "gridbuf/arrayinterface"
	_ "gridbuf/cuda"
	_ "gridbuf/cudaarrayinterface"
	_ "gridbuf/dlpack"
	_ "gridbuf/exact"
	_ "gridbuf/transfer"
)
