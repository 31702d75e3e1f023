// Command archive is the Go half of the extension: setup.py makes a C archive of it and
// links that with the C of pyext/. The Go runtime and package bridge are all it holds.
//
// A program with Go kernels of its own puts a main in its place that imports their packages
// beside bridge; GRIDBUF_GO_MAIN names its folder when the extension is built.
package main

import _ "gridbuf/bridge"

func main() {}
