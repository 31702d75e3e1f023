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

# detect_leaks=0: Python keeps memory until it ends. allow_user_segv_handler: Go has its own, and forwards.
# handle_segv=0: so that faulthandler and Go speak, whom the tests ask. Sizes that nobody has are NULL, not an error.
export ASAN_OPTIONS="detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_abort=0:allocator_may_return_null=1:exitcode=66:log_path=$work/report:halt_on_error=1"
export PYTHONMALLOC=malloc PYTHONPATH=$work
cd tests
[ $# -gt 0 ] || set -- .
status=0
LD_PRELOAD="$sanitizer" "$PYTHON" -m pytest -q -p no:cacheprovider -m "not slow" --ignore=test_gt4py.py --ignore=test_demo.py "$@" || status=$?
if compgen -G "$work/report.*" >/dev/null; then
    cat "$work"/report.* >&2
    status=1
fi
exit $status
