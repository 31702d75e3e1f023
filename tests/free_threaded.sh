#!/usr/bin/env bash
# The suite on a Python without a GIL, with NumPy alone:
#     tests/free_threaded.sh [FILES and options of pytest]
# PYTHON names the interpreter; else python3.13t is taken from PATH or pyenv; else one is built
# under .venvs/, from Debian's source package, which apt-get brings: some minutes of a compiler,
# nothing is installed on the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$root/.venvs/free-threaded
fail() { echo "gridbuf: $*" >&2; exit 1; }

# The newest 3.13 that trixie has: lists and downloads of apt-get's own, in one folder.
sources() {
    mkdir -p "$work"/apt/state/lists/partial "$work"/apt/cache/archives/partial "$work"/source
    : >"$work/apt/status"
    local key=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -e $key ] || fail "no free-threaded Python here, and no Debian to take its source from"
    echo "deb-src [signed-by=$key] http://deb.debian.org/debian trixie main" >"$work/apt/sources.list"
    cat >"$work/apt/conf" <<EOF
Dir::State "$work/apt/state"; Dir::State::status "$work/apt/status"; Dir::Cache "$work/apt/cache";
Dir::Etc::sourcelist "$work/apt/sources.list"; Dir::Etc::sourceparts "-"; Debug::NoLocking "1"; APT::Sandbox::User "root";
EOF
    export APT_CONFIG=$work/apt/conf
    (cd "$work/apt" && apt-get -qq update && apt-get -qq source --tar-only --download-only python3.13) ||
        fail "no free-threaded Python here, and apt-get has no source for one"
    unset APT_CONFIG
    tar -xf "$work"/apt/python3.13_*.orig.tar.* -C "$work/source" --strip-components=1
}

build() {
    [ -e "$work/source/configure" ] || sources
    mkdir -p "$work/build"
    echo "building Python without a GIL: $work/build/log" >&2
    (
        cd "$work/build"
        ../source/configure --disable-gil --with-ensurepip=no --disable-test-modules && make -j"$(nproc)"
    ) >"$work/build/log" 2>&1 || fail "Python does not build: $(tail -n 1 "$work/build/log")"
}

python=${PYTHON:-$(command -v python3.13t || ls "$HOME"/.pyenv/versions/3.13*t/bin/python3.13t 2>/dev/null | tail -n 1 || true)}
if [ -z "$python" ]; then
    python=$work/build/python
    [ -x "$python" ] || build
fi
"$python" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))' || fail "$python has a GIL"

[ -x "$work/venv/bin/python" ] || "$python" -m venv "$work/venv"
# Not every release has a wheel for it: the newest that has.
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
    numpy 'pytest>=8' hypothesis ml_dtypes 'setuptools>=77' ninja
rm -rf "$work/site"
mkdir -p "$work/site"
cp -r gridbuf "$work/site/gridbuf"
rm -f "$work"/site/gridbuf/_core*.so
# A Python that was built and not installed has its headers where they were.
[ "$python" != "$work/build/python" ] || export GRIDBUF_CFLAGS="${GRIDBUF_CFLAGS:-} -isystem$work/source/Include -isystem$work/build"
"$work/venv/bin/python" setup.py -q build_ext --build-lib "$work/site" --build-temp "$work/temp"
cd tests
mapfile -t once < <(sed -n 's/^\([^# ][^ ]*\).*/--ignore=\1/p' once.txt)
[ $# -gt 0 ] || set -- -m "not slow" "${once[@]}" .
PYTHONPATH=$work/site "$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$@"
