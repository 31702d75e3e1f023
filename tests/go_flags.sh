#!/bin/sh
# CGO_CFLAGS for go vet and go test: Go's own, the stamp of all headers, and GRIDBUF_CFLAGS as the extension has them.
# Whoever compiles a room with them finds it in Go's cache when another has.
echo "-O2 -g ${GRIDBUF_CFLAGS:-} -DBUILD_STAMP=$(sh "$(dirname "$0")/../bridge/stamp.sh")"
