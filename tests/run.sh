#!/usr/bin/env bash
# What `make test` runs: Go, then one wheel on every Python there is, then the fuzzers, types and
# lint, then the whole suite with the consumers installed. The last line is pytest's. Other Pythons
# leave out what is slow, and what tests/once.txt names: the full one, 3.12, runs everything.
# Packages are installed meanwhile, in the background: a suite waits for its own (.venvs/install.log
# says how it went). The wheels for users are built and tried in the background too
# (.venvs/wheels.log).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
base=${PYTHON:-python3}
# A heading, with the minutes and seconds since the start.
say() { printf '\n== %d:%02d  %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }
need() { command -v "$1" >/dev/null || { echo "gridbuf: 'make test' needs $1 on PATH: $2" >&2; exit 1; }; }
need go "Go 1.26 or newer builds the extension"
need cc "a C compiler (gcc or clang) builds the extension"

# venv NAME PYTHON PACKAGES...: an environment with the wheel. One of the same packages that exists
# already gets the new wheel alone.
venv() {
    local name=$1 python=$2 asked
    shift 2
    asked="$python $* $(sha256sum <pyproject.toml)"
    local pip=(".venvs/$name/bin/python" -m pip --quiet --disable-pip-version-check)
    if [ "$(cat ".venvs/$name/asked" 2>/dev/null)" = "$asked" ]; then
        "${pip[@]}" install --no-deps --force-reinstall "$wheel"
        return
    fi
    [ -x ".venvs/$name/bin/python" ] || "$python" -m venv ".venvs/$name"
    "${pip[@]}" uninstall --yes gridbuf
    "${pip[@]}" install "$@" && echo "$asked" >".venvs/$name/asked"
}

# What consumers need of Debian: an MPI for mpi4py, gfortran for the Fortran tests.
debian() {
    local missing=()
    command -v mpirun >/dev/null || missing+=(libopenmpi-dev openmpi-bin)
    command -v gfortran >/dev/null || missing+=(gfortran)
    [ ${#missing[@]} = 0 ] && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing ${missing[*]}"
        if apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; then
            return
        fi
    fi
    echo "gridbuf: not here, and their tests are skipped: ${missing[*]}. As root this script installs them; else: sudo apt-get install ${missing[*]}"
}

# heavy NAME: torch brings CUDA's libraries. pip needs 9 GB for the archives and what they contain;
# a machine without runs the tests of all other consumers.
heavy() {
    local python=.venvs/$1/bin/python free
    local pip=("$python" -m pip --quiet --disable-pip-version-check)
    "$python" -c 'import torch, dace' 2>/dev/null && return
    free=$(df -Pk . | awk 'END { print $4 }')
    if [ "$free" -ge $((9 << 20)) ] && "${pip[@]}" install "$wheel[consumers-heavy]"; then return; fi
    echo "gridbuf: not here, and their tests are skipped: torch and dace," \
        "which need 9 GB of free disk (there are $((free >> 20)))"
}

# The compiler's warnings are errors here: in Go's packages, in the wheel and in the fake driver.
export GRIDBUF_CFLAGS="${GRIDBUF_CFLAGS:-} -Werror"

# The same cases each time; `make fuzz` and pytest by hand draw others.
export HYPOTHESIS_PROFILE=repeatable

say "Go: format"
unformatted=$(go list -buildvcs=false -f '{{.Dir}}' ./... | xargs gofmt -l)
[ -z "$unformatted" ] || { echo "gofmt: $unformatted" >&2; exit 1; }
say "The wheel, from the source distribution"
# What pyproject.toml asks for to build, and nothing else, in an environment that is made once for
# each list: `build` alone makes two, each time.
mapfile -t requires < <("$base" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")')
asked="$base ${requires[*]}"
if [ "$(cat .venvs/build/asked 2>/dev/null)" != "$asked" ]; then
    rm -rf .venvs/build
    "$base" -m venv .venvs/build
    .venvs/build/bin/python -m pip install --quiet --disable-pip-version-check build "${requires[@]}"
    echo "$asked" >.venvs/build/asked
fi
.venvs/build/bin/python -m build --no-isolation --outdir dist . >.venvs/build.log 2>&1 || { cat .venvs/build.log >&2; exit 1; }
wheel=$(echo "$root"/dist/*.whl)

mapfile -t found < <("$base" wheels/interpreters.py)
full=
for line in "${found[@]}"; do
    read -r version python <<<"$line"
    if [ "$version" = 3.12 ] || [ -z "$full" ]; then full="$version $python"; fi
done
[ -n "$full" ] || full="default $base"
read -r full_version full_python <<<"$full"

# What runs beside this ends with it, and so does what it has started: each is a process group.
declare -A begun=()
trap 'kill -- "${begun[@]/#/-}" 2>/dev/null || true' EXIT
beside() { # beside NAME COMMAND...: while others run; what it says goes into .venvs/NAME.log
    set -m
    "${@:2}" >".venvs/$1.log" 2>&1 &
    begun[$1]=$!
    set +m
}
ended() { # ended NAME: wait for it, and show what it said
    wait "${begun[$1]}" || { cat ".venvs/$1.log" >&2; exit 1; }
    unset "begun[$1]"
    cat ".venvs/$1.log"
}

# Environments, one after the other and largest last, while Go's tests run.
install() {
    for line in "${found[@]}"; do
        read -r version python <<<"$line"
        [ "$version" = "$full_version" ] && continue
        venv "py$version" "$python" "$wheel[test]" && touch ".venvs/py$version.ready" || return
    done
    venv cupy "$full_python" "$wheel[test]" cupy-cuda13x && touch .venvs/cupy.ready || return
    debian
    venv "py$full_version" "$full_python" \
        "$wheel[test,lint,demo,docs,consumers,consumers-compiled]" || return
    heavy "py$full_version" && touch ".venvs/py$full_version.ready"
}
rm -f .venvs/*.ready
beside install install

# Manylinux wheels for both machines, and core tests with them. pip and apt bring the compiler, the
# emulator and its Python. They are built of the sdist that is there: while another is made, its
# tree stands in this one, where Go and the tests would find it.
wheels() {
    renice -n 10 "$BASHPID" >/dev/null
    if ! make --no-print-directory wheel-tools PYTHON="$full_python"; then
        echo "gridbuf: the wheels for users are neither built nor tested here: pip cannot install what builds them (make wheel-tools)"
        return
    fi
    make --no-print-directory wheels test-wheels ENDS=oldest SDIST="$(echo "$root"/dist/*.tar.gz)"
}
beside wheels wheels

ready() { # ready NAME: wait for an environment
    until [ -e ".venvs/$1.ready" ]; do
        if ! kill -0 "${begun[install]}" 2>/dev/null && [ ! -e ".venvs/$1.ready" ]; then
            cat .venvs/install.log >&2
            exit 1
        fi
        sleep 1
    done
}

say "Go: vet, tests with the race detector (no Python)"
CGO_CFLAGS=$(tests/go_flags.sh)
export CGO_CFLAGS
go vet ./...
GORACE=atexit_sleep_ms=50 go test -race ./... # not a second at the end of each process
unset CGO_CFLAGS

say "The heap on many threads, under the compiler's thread sanitizer"
if [ -e "$("${CC:-cc}" -print-file-name=libtsan.so)" ]; then
    tests/sanitize.sh thread heap
else
    echo "gridbuf: the compiler has no thread sanitizer; left out"
fi

cores=$("$base" -c 'import os; print(len(os.sched_getaffinity(0)))') # those that this may use
suite() { # suite NAME WORKERS OPTIONS...: 0 workers are this process
    (cd tests && "../.venvs/$1/bin/python" -m pytest -p no:cacheprovider -n "$2" --dist loadfile --no-loadscope-reorder "${@:3}")
}
device() { # device NAME WORKERS: on the fake driver, with what is installed there
    echo
    PYTHON=$root/.venvs/$1/bin/python tests/device.sh -q -rN -n "$2" --dist loadfile
}
mapfile -t once < <(sed -n 's/^\([^# ][^ ]*\).*/--ignore=\1/p' tests/once.txt)

# Side by side, each on its share of the cores: one process collects its tests once.
others=()
for line in "${found[@]}"; do
    read -r version python <<<"$line"
    [ "$version" = "$full_version" ] || others+=("$version")
done
workers=$((cores / (${#others[@]} > 0 ? ${#others[@]} : 1)))
[ $workers -gt 1 ] || workers=0
with_numpy_alone() { # with_numpy_alone VERSION
    ready "py$1"
    suite "py$1" $workers -q -rN -m "not slow" "${once[@]}"
    device "py$1" $workers
}
for version in "${others[@]}"; do beside "suite-$version" with_numpy_alone "$version"; done
for version in "${others[@]}"; do
    say "Python $version: the suite, with NumPy alone"
    ended "suite-$version"
done

say "Python $full_version: device memory as cupy's own arrays, on the fake driver"
ready cupy
suite cupy auto -q -rN storage
device cupy auto

say "The consumers: packages of several gigabytes, and what they need of the system"
ready "py$full_version"
grep "^gridbuf:" .venvs/install.log || true

bin=$root/.venvs/py$full_version/bin
# gt4py's stencils are kept beside it. To compile them with -O0 takes as long as with -O1, and 20
# steps on 130 x 130 x 80 points 12.5 s instead of 0.2.
kept=${bin%/bin}/gt4py-O1-$("$bin/python" -c 'from importlib.metadata import version; print(version("gt4py"))' 2>/dev/null || echo none)
export GT4PY_COMPILE_OPT_LEVEL=1 GT_CACHE_ROOT=$kept GT4PY_BUILD_CACHE_DIR=$kept GT4PY_BUILD_CACHE_LIFETIME=persistent
export OMP_WAIT_POLICY=passive # threads that wait for others leave the cores to who works
say "Python $full_version: types and lint; meanwhile every fuzzer for ${FUZZ_SECONDS:-5} seconds, and the site with what its tutorials print"
beside fuzz "$bin/python" tests/fuzz --seed 1 --seconds "${FUZZ_SECONDS:-5}"
beside site make site DOCS="${bin%/bin}" SITE=build/site
make --no-print-directory types PY="$bin/python"
ended fuzz
ended site
echo "$(find build/site -name '*.html' | wc -l) pages"

say "Python $full_version: device memory, on the fake driver"
device "py$full_version" auto

say "Python $full_version: the suite, with every consumer installed; the end says which are not"
suite "py$full_version" auto -q | tee .venvs/suite.log

say "The wheels for users, on x86_64 and aarch64"
wait "${begun[wheels]}" || { cat .venvs/wheels.log >&2; exit 1; }
grep -E "^gridbuf[:-]|passed, .* failed" .venvs/wheels.log
say "All of it passes; the last suite"
tail -n 1 .venvs/suite.log
