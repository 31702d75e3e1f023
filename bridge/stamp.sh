#!/bin/sh
# Print a number that changes with any header of the Go rooms, for CGO_CFLAGS (rules.ninja and
# tests/go_flags.sh): Go's build cache sees the headers of a package, not those of other rooms.
cd "$(dirname "$0")/.." || exit 1
find . -name '*.h' ! -path './.*' ! -path './build/*' ! -path './dist/*' ! -path './pyext/*' |
    LC_ALL=C sort | xargs cat | cksum | cut -d' ' -f1
