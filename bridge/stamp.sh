#!/bin/sh
# Prints a number that changes with any header of the Go rooms. It goes into CGO_CFLAGS, of setup.py and of tests/go_flags.sh:
# Templates, which C of their own package alone includes, are left out.
# Go's build cache looks at a package's own headers only, and would keep objects whose headers of other rooms have changed.
cd "$(dirname "$0")/.." || exit 1
find . -name '*.h' ! -path './.*' ! -path './build/*' ! -path './dist/*' ! -path './pyext/*' ! -name '*_body.h' ! -path './gufunc/kernels/loops/list.h' | LC_ALL=C sort | xargs cat | cksum | cut -d' ' -f1
