#!/bin/sh
# Build the fake driver: build.sh OUTPUT.so [compiler flags, such as -fsanitize=address or
# -DcuMemAllocAsync=absent_cuMemAllocAsync]. GRIDBUF_CFLAGS, as for the extension, comes first.
set -e
here=$(dirname "$0")
out=$1
shift
"${CC:-cc}" -std=gnu11 -O1 -g -shared -fPIC -fvisibility=hidden -Wall -Wextra $GRIDBUF_CFLAGS "$@" -o "$out" "$here"/*.c -lpthread
