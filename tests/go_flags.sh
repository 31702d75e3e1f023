#!/bin/sh
# CGO_CFLAGS for go vet and go test: Go's own, the stamp of all headers, and GRIDBUF_CFLAGS as the
# extension has them. A room compiled with them before is found in Go's cache.
echo "-O2 -g ${GRIDBUF_CFLAGS:-} -DBUILD_STAMP=$(sh "$(dirname "$0")/../bridge/stamp.sh")"
