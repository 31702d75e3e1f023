// Command archive is gridbuf/_go.so, the library that the extension loads when a call first needs
// Go. The Go runtime and package bridge are all it holds; the rooms' C is the extension's.
//
// A program with Go kernels of its own puts a main in its place that imports their packages
// beside bridge; GRIDBUF_GO_MAIN names its folder when the extension is built.
package main

import _ "gridbuf/bridge"

func main() {}
