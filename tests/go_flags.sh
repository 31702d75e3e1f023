#!/bin/sh
# CGO_CFLAGS for go vet and go test: Go's own, and the stamp of all headers.
echo "-O2 -g -DBUILD_STAMP=$(sh "$(dirname "$0")/../bridge/stamp.sh")"
