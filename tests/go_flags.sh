#!/bin/sh
# CGO_CFLAGS for go vet and go test: Go's own, and a stamp of all headers. Go's cache looks at a package's own headers
# only, and would keep objects whose headers of other rooms have changed.
cd "$(dirname "$0")/.." || exit 1
stamp=$(find . -name '*.h' ! -path './.*' ! -path './build/*' ! -path './dist/*' | LC_ALL=C sort | xargs cat | cksum | cut -d' ' -f1)
echo "-O2 -g -DBUILD_STAMP=$stamp"
