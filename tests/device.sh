#!/usr/bin/env bash
# The tests of device, pinned and managed memory, on the fake driver: tests/device.sh [options of
# pytest, such as -n auto, -k name]. PYTHON names the interpreter; FAKE_CUDA says what the driver is
# like (cuda/fake/). On a real GPU: make test-gpu.
set -euo pipefail
cd "$(dirname "$0")"
built=$PWD/../build/fake
mkdir -p "$built"
sh ../cuda/fake/build.sh "$built/libfakecuda.$$"
mv "$built/libfakecuda.$$" "$built/libfakecuda.so" # running processes keep the old one
export GRIDBUF_DEVICE_TESTS=fake GRIDBUF_LIBCUDA=$built/libfakecuda.so FAKE_CUDA=${FAKE_CUDA:-devices=2}
exec "${PYTHON:-../.venv/bin/python}" -m pytest -p no:cacheprovider "$@" device
