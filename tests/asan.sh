#!/usr/bin/env bash
# The suite under the address sanitizer, with NumPy alone. Arguments go to pytest:
#     tests/asan.sh [-k EXPRESSION] [FILES]
# PYTHON names an interpreter with NumPy, pytest, hypothesis and setuptools; without it a venv is made.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$root/build/asan
if [ -z "${PYTHON:-}" ]; then
    PYTHON=$root/.venvs/asan/bin/python
    [ -x "$PYTHON" ] || python3 -m venv "$root/.venvs/asan"
    "$PYTHON" -m pip install --quiet --disable-pip-version-check numpy pytest hypothesis setuptools
fi
sanitizer=$("${CC:-cc}" -print-file-name=libasan.so)
[ -e "$sanitizer" ] || { echo "gridbuf: $sanitizer is missing: install the compiler's address sanitizer" >&2; exit 1; }

# A copy of the package, so that the source tree keeps its own extension.
rm -rf "$work"
mkdir -p "$work"
cp -r gridbuf "$work/gridbuf"
rm -f "$work"/gridbuf/_core*.so
GRIDBUF_CFLAGS="-fsanitize=address -fno-omit-frame-pointer -g -O1" CGO_LDFLAGS="-fsanitize=address" \
    "$PYTHON" setup.py -q build_ext --build-lib "$work" --build-temp "$work/temp"

# Leaks: Python keeps memory until it ends. Signals: the tests ask what Go and faulthandler do with them.
# A size that nobody has: NULL, as without the sanitizer.
export ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_abort=0:allocator_may_return_null=1:exitcode=66
export PYTHONMALLOC=malloc PYTHONPATH=$work
cd tests
# libstdc++ beside it: the sanitizer looks for its throw as it starts, and other extensions bring C++ later.
checked() { LD_PRELOAD="$sanitizer $("${CC:-cc}" -print-file-name=libstdc++.so.6)" "$PYTHON" "$@"; }

# The sanitizer knows the heap's blocks (alloc/slab.h): were it to miss these two, the suite would prove nothing.
for wrong in "a = gb.empty((10,)); ctypes.memset(a.ctypes.data + 80, 1, 1)" \
    "a = gb.empty((3000,)); p = a.ctypes.data; del a; ctypes.memset(p, 1, 1)"; do
    status=0
    checked -c "import ctypes, gridbuf as gb; $wrong" >/dev/null 2>"$work/expected" || status=$?
    if [ $status -ne 66 ] || ! grep -q use-after-poison "$work/expected"; then
        echo "gridbuf: the sanitizer does not see '$wrong'" >&2
        cat "$work/expected" >&2
        exit 1
    fi
done

export ASAN_OPTIONS=$ASAN_OPTIONS:log_path=$work/report
[ $# -gt 0 ] || set -- .
status=0
# Left out: what compiles stencils or builds the extension anew, what looks at sources, what measures resident memory
# (the sanitizer keeps freed memory), what writes out of bounds on purpose, and forking from threads (the child inherits
# the sanitizer's allocator, maybe locked).
checked -m pytest -q -p no:cacheprovider -m "not slow" --ignore=test_gt4py.py --ignore=test_demo.py --ignore=test_build.py \
    --ignore=test_lint.py --ignore=test_cli.py --ignore=safety/test_guard.py --ignore=safety/test_leaks.py --ignore=safety/test_debug_mode.py \
    --deselect=safety/test_fork.py::test_from_a_busy_parent \
    --deselect=safety/test_stress.py::test_children_forked_from_threads_that_churn "$@" || status=$?
if compgen -G "$work/report.*" >/dev/null; then
    cat "$work"/report.* >&2
    status=1
fi
exit $status
