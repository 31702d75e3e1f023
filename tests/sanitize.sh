#!/usr/bin/env bash
# The suite, the fuzzers or the heap under a sanitizer, with NumPy alone:
#     tests/sanitize.sh KIND [FILES and options of pytest]
#     tests/sanitize.sh KIND fuzz [options of `python tests/fuzz`]
#     tests/sanitize.sh KIND heap [ROUNDS [THREADS [SEED]]]
# KIND is address, undefined or plain (none); the heap, which is C alone, also runs under thread.
# PYTHON names an interpreter with NumPy, pytest, hypothesis, setuptools and ninja; without it a
# venv is made.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
kind=${1:-}
case $kind in
    address) library=libasan.so ;;
    undefined) library=libubsan.so ;;
    thread) library=libtsan.so ;;
    plain) library= ;;
    *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
shift
what=suite
case ${1:-} in fuzz | heap) what=$1; shift ;; esac
[ "$kind" != thread ] || [ $what = heap ] || { echo "gridbuf: under the thread sanitizer only the heap runs: Go and Python know nothing of it" >&2; exit 2; }
work=$root/build/$kind
sanitizer=
flags="-g -O2"
if [ -n "$library" ]; then
    sanitizer=$("${CC:-cc}" -print-file-name=$library)
    [ -e "$sanitizer" ] || { echo "gridbuf: $library is missing: install the compiler's $kind sanitizer" >&2; exit 1; }
    flags="-fsanitize=$kind -fno-omit-frame-pointer -g -O1"
fi

if [ $what = heap ]; then
    mkdir -p "$work"
    [ "$kind" != address ] || flags="$flags -fsanitize=undefined -fno-sanitize-recover=undefined"
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=gnu11 $flags -Wall -Wextra -Werror -Wno-unused-parameter -Wno-missing-field-initializers \
        -o "$work/heap_threads" tests/fuzz/heap_threads.c alloc/*.c -lpthread -lm
    for debug in 0 1; do
        GRIDBUF_DEBUG=$debug TSAN_OPTIONS=halt_on_error=1 "$work/heap_threads" "$@"
    done
    exit
fi

if [ -z "${PYTHON:-}" ]; then
    PYTHON=$root/.venvs/sanitize/bin/python
    [ -x "$PYTHON" ] || python3 -m venv "$root/.venvs/sanitize"
    "$PYTHON" -m pip install --quiet --disable-pip-version-check numpy pytest hypothesis setuptools ninja
fi

# A copy of the package, so that the source tree keeps its own extension.
rm -rf "$work"
mkdir -p "$work"
cp -r gridbuf "$work/gridbuf"
rm -f "$work"/gridbuf/_core*.so "$work"/gridbuf/_go.so
GRIDBUF_CFLAGS="${GRIDBUF_CFLAGS:-} $flags" CGO_LDFLAGS="${library:+-fsanitize=$kind}" \
    "$PYTHON" setup.py -q build_ext --build-lib "$work" --build-temp "$work/temp"

# Leaks: Python keeps memory until it ends. Signals: the tests ask what Go and faulthandler do with
# them. Sizes beyond all memory give NULL, as without the sanitizer.
export ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_abort=0:allocator_may_return_null=1:exitcode=66
export UBSAN_OPTIONS=print_stacktrace=1
export PYTHONPATH=$work
[ "$kind" != address ] || export PYTHONMALLOC=malloc
cd tests # and not where Python would find the source tree's own gridbuf
# libstdc++ beside it: the sanitizer looks for its throw as it starts, and other extensions bring
# C++ later.
[ -z "$library" ] || preload="$sanitizer $("${CC:-cc}" -print-file-name=libstdc++.so.6)"
checked() { LD_PRELOAD="${preload:-}" "$PYTHON" "$@"; }

# A sanitizer that misses these proves nothing. The heap's blocks are known to it (alloc/slab.h).
expect() { # expect REPORT CODE
    local status=0
    checked -c "import ctypes, gridbuf as gb; $2" >/dev/null 2>"$work/expected" || status=$?
    if [ $status = 0 ] || ! grep -q "$1" "$work/expected"; then
        echo "gridbuf: the sanitizer does not see '$2'" >&2
        cat "$work/expected" >&2
        exit 1
    fi
}
if [ "$kind" = address ]; then
    expect use-after-poison "a = gb.empty((10,)); ctypes.memset(a.ctypes.data + 80, 1, 1)"
    expect use-after-poison "a = gb.empty((3000,)); p = a.ctypes.data; del a; ctypes.memset(p, 1, 1)"
fi

if [ $what = fuzz ]; then
    # The first report ends the process, which the driver takes for a failure of the case.
    export UBSAN_OPTIONS=$UBSAN_OPTIONS:halt_on_error=1
    checked fuzz "$@"
    exit
fi

export ASAN_OPTIONS=$ASAN_OPTIONS:log_path=$work/report UBSAN_OPTIONS=$UBSAN_OPTIONS:log_path=$work/report
whole=$([ $# -gt 0 ] || echo yes)
[ $# -gt 0 ] || set -- .
status=0
# Left out: what compiles stencils or builds the extension anew, what looks at sources, what
# measures resident memory (the sanitizer keeps freed memory), what writes out of bounds on purpose,
# and forking from threads (the child inherits the sanitizer's allocator, maybe locked).
checked -m pytest -q -p no:cacheprovider -m "not slow" --ignore=interop/test_fields_in_stencils.py --ignore=cli/test_demo.py --ignore=build/test_build.py --ignore=build/test_gdb.py \
    --ignore=lint/test_lint.py --ignore=cli/test_cli.py --ignore=safety/test_guard.py --ignore=safety/test_leaks.py --ignore=safety/test_debug_mode.py \
    --deselect=safety/test_fork.py::test_from_a_busy_parent \
    --deselect=safety/test_stress.py::test_children_forked_from_threads_that_churn "$@" || status=$?
[ -z "$whole" ] || LD_PRELOAD=${preload:-} PYTHON=$PYTHON ./device.sh -q -m "not slow" || status=$?
if compgen -G "$work/report.*" >/dev/null; then
    cat "$work"/report.* >&2
    status=1
fi
exit $status
