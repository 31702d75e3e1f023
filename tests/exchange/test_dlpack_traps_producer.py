"""The traps of handing memory out through DLPack, one test each; they are those of
facts/consumers.md.

Only one capsule flavour; byte_offset != 0; strides NULL or in bytes; memory not owned by the
export; careless capsule destructor; deleter that needs the GIL or Python; TypeError for an
unsupported value; plain call and positional stream; a stream on the CPU; __dlpack_device__
disagreeing with the capsule; methods on the instance; pinned and device types only on request;
read-only data through the legacy struct, and through slices, re-wraps and every protocol; size 0;
0-d; non-native byte order; a copy without IS_COPIED; copy=False where one is needed; a legacy
capsule where NumPy would make it read-only; bfloat16 in __array_interface__;
__cuda_array_interface__ on the host type; names that gt4py and DaCe take for their own.

test_dlpack_traps_consumer.py has the other direction, test_protocols.py the buffer requests,
exchange/test_exchange_api.py the C exchange API, tests/safety the threads and forks.
"""

import ctypes
import gc
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dlpack_structs import COPIED, LATEST, READ_ONLY, Hostile, Legacy, Versioned, api

import gridbuf as gb

LAYOUTS = {
    "C": lambda: gb.Field.zeros((3, 4, 5), dims="IJK"),
    "F": lambda: gb.Field.zeros((3, 4, 5), dims="IJK", backend="F"),
    "permuted": lambda: gb.Field.zeros((3, 4, 5), dims="IJK").transpose("JKI"),
    "padded": lambda: gb.Field.zeros((3, 4, 5), dims="IJK", padding=True),
    "sliced": lambda: gb.Field.zeros((6, 8, 10), dims="IJK")[1:4, ::2, 5:],
    "reversed": lambda: gb.Field.zeros((3, 4, 5), dims="IJK")[::-1],
    "wrapping": lambda: gb.Field(np.zeros((3, 4, 5))[:, 1:]),
}


def tensor_of(capsule: Any) -> Any:
    if api.PyCapsule_IsValid(ctypes.py_object(capsule), b"dltensor"):
        return Legacy.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor")).tensor
    return Versioned.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")).tensor


# ---- as a producer ----


def test_both_flavours() -> None:
    f = gb.Field.zeros(3)
    for keywords, name in (
        ({}, "dltensor"),
        ({"max_version": (0, 8)}, "dltensor"),
        ({"max_version": (1, 0)}, "dltensor_versioned"),
    ):
        assert f'"{name}"' in repr(f.__dlpack__(**keywords))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("max_version", [None, LATEST])
def test_byte_offset_is_zero_and_strides_are_there_in_items(layout: str, max_version: Any) -> None:
    f = LAYOUTS[layout]()
    capsule = f.__dlpack__(max_version=max_version)
    t = tensor_of(capsule)
    assert t.byte_offset == 0 and t.data == f.numpy().ctypes.data and bool(t.strides)
    assert tuple(s * f.dtype.itemsize for s in t.strides[: t.ndim]) == f.strides


@pytest.mark.parametrize("max_version", [None, LATEST])
def test_shape_and_strides_are_owned_by_the_export(max_version: Any) -> None:
    f = gb.Field(np.zeros((2, 3)))
    capsules = [f.__dlpack__(max_version=max_version) for _ in range(2)]
    lists = {ctypes.addressof(tensor_of(c).shape.contents) for c in capsules}
    assert len(lists) == 2
    del f
    gc.collect()
    assert tensor_of(capsules[0]).shape[:2] == [2, 3]


@pytest.mark.parametrize("max_version", [None, LATEST])
@pytest.mark.parametrize("consumed", [False, True])
def test_the_destructor_frees_what_nobody_took_and_nothing_else(
    max_version: Any, consumed: bool
) -> None:
    live = gb.memory.stats()["live_buffers"]
    f = gb.Field.zeros(1000)
    capsule = f.__dlpack__(max_version=max_version)
    del f
    assert gb.memory.stats()["live_buffers"] == live + 1
    array = gb._core.import_capsule(capsule) if consumed else None
    del capsule
    gc.collect()
    assert gb.memory.stats()["live_buffers"] == live + consumed
    del array
    gc.collect()
    assert gb.memory.stats()["live_buffers"] == live


@pytest.mark.parametrize(
    "make", [lambda: gb.Field.zeros(100), lambda: gb.Field(np.zeros(100))], ids=["ours", "wrapping"]
)
def test_the_deleter_runs_on_a_thread_without_the_gil(make: Any) -> None:
    capsule = make().__dlpack__(max_version=LATEST)
    pointer = api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
    deleter = ctypes.cast(Versioned.from_address(pointer).deleter, ctypes.c_void_p).value
    assert (
        ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor_versioned")
        == 0
    )
    # A CFUNCTYPE lets go of the GIL while it calls
    without_gil = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)
    thread = threading.Thread(target=without_gil, args=(pointer,))
    thread.start()
    thread.join()


LATER = """
#include <stdlib.h>
static struct { void (*call)(void *); void *argument; } all[8];
static int n;
static void run(void) { while (n--) all[n].call(all[n].argument); }
void later(void *call, void *argument) {
    if (!n) atexit(run);
    all[n].call = (void (*)(void *))call;
    all[n++].argument = argument;
}
"""
AT_THE_END = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, gridbuf as gb
from dlpack_structs import LATEST, Versioned, api
for f in (gb.Field.zeros(1000), gb.Field(np.zeros(1000))):
    capsule = f.__dlpack__(max_version=LATEST)
    pointer = api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
    assert ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule),
        b"used_dltensor_versioned") == 0
    deleter = ctypes.cast(Versioned.from_address(pointer).deleter, ctypes.c_void_p)
    ctypes.CDLL(sys.argv[2]).later(deleter, ctypes.c_void_p(pointer))
"""


def test_the_deleter_runs_after_python_is_gone(tmp_path: Path) -> None:
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "later.c", tmp_path / "later.so"
    source.write_text(LATER)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    arguments = [
        sys.executable,
        "-X",
        "faulthandler",
        "-c",
        AT_THE_END,
        str(Path(__file__).parents[1] / "helpers"),
        str(library),
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "keywords",
    [{"stream": 0}, {"stream": 1}, {"stream": 2}, {"stream": -1}, {"stream": 1 << 40},
    {"stream": "text"}, {"dl_device": (2, 0)},
     {"dl_device": (3, 0)}, {"dl_device": (13, 0)}, {"dl_device": (1, 1)}, {"dl_device": (99, 0)},
     {"dl_device": (-1, 0)}],
    ids=str,
)  # fmt: skip
def test_an_unsupported_value_is_a_buffer_error_never_a_type_error(
    keywords: dict[str, Any],
) -> None:
    for more in ({}, {"max_version": LATEST}, {"copy": True, "max_version": LATEST}):
        with pytest.raises(BufferError, match=next(iter(keywords))):
            gb.Field.zeros(3).__dlpack__(**keywords, **more)


def test_plain_calls_and_a_positional_stream() -> None:
    f = gb.Field.zeros(3)
    assert '"dltensor"' in repr(f.__dlpack__()) and '"dltensor"' in repr(f.__dlpack__(None))
    with pytest.raises(BufferError, match="stream"):
        f.__dlpack__(1)
    for wrong in (lambda: f.__dlpack__(None, None), lambda: f.__dlpack__(nothing=1)):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_device_is_that_of_the_capsule(layout: str) -> None:
    f = LAYOUTS[layout]()
    for max_version in (None, LATEST):
        capsule = f.__dlpack__(max_version=max_version, dl_device=(1, 0))
        t = tensor_of(capsule)
        assert f.__dlpack_device__() == (t.device_type, t.device_id) == (1, 0)


def test_methods_are_on_the_type() -> None:
    for name in (
        "__dlpack__",
        "__dlpack_device__",
        "__dlpack_c_exchange_api__",
        "__array_interface__",
        "__array__",
    ):
        assert hasattr(gb.HostField, name)
    assert not hasattr(gb.HostField, "__cuda_array_interface__") and not hasattr(
        gb.Field.zeros(3), "__cuda_array_interface__"
    )


def test_read_only_data_has_no_legacy_capsule() -> None:
    values = np.zeros((4, 5))
    values.flags.writeable = False
    f = gb.Field(values, "IJ", halo=(1, 1))
    for view in (f, f[1:], f[:, 2], gb.Field(f), gb.Field(np.asarray(f)), gb.Field(memoryview(f)),
    gb.from_dlpack(f), f.domain,
                 f.transpose("JI"),
                 gb.Field(type("I", (),
                 {"__array_interface__": f.__array_interface__})())):  # fmt: skip
        assert view.readonly
        for keywords in ({}, {"max_version": None}, {"max_version": (0, 8)}):
            with pytest.raises(BufferError, match=r"read-only.*max_version=\(1, 0\)"):
                view.__dlpack__(**keywords)
        capsule = view.__dlpack__(max_version=LATEST)
        assert (
            Versioned.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")).flags
            == READ_ONLY
        )
        assert (
            not np.asarray(view).flags.writeable
            and memoryview(view).readonly
            and view.__array_interface__["data"][1]
        )
    assert '"dltensor"' in repr(f.__dlpack__(copy=True)), (
        "a copy is writable, so the legacy struct can hold it"
    )


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_size_zero(shape: tuple[int, ...]) -> None:
    f = gb.Field.zeros(shape)
    for max_version in (None, LATEST):
        capsule = f.__dlpack__(max_version=max_version)
        t = tensor_of(capsule)
        assert t.data is None and tuple(t.shape[: t.ndim]) == shape and bool(t.strides)
    assert f.__array_interface__["data"][0] != 0 and memoryview(f).nbytes == 0
    for back in (
        gb.from_dlpack(f),
        gb.Field(Hostile(data=None, shape=(0, 3))),
        gb.from_dlpack(np.zeros(shape)),
    ):
        assert (
            back.size == 0
            and back.numpy().ctypes.data != 0
            and gb.Field(np.asarray(back)).size == 0
        )


def test_zero_dimensions() -> None:
    f = gb.Field.full((), 5.0)
    capsule = f.__dlpack__(max_version=LATEST)
    t = tensor_of(capsule)
    assert t.ndim == 0 and ctypes.c_double.from_address(t.data).value == 5.0
    assert (
        gb.from_dlpack(f)[()] == 5.0
        and gb.Field(Hostile(ndim=0, shape=None, strides=None))[()] == 0.0
    )


@pytest.mark.parametrize(
    "dtype",
    [">f8", ">i4", ">c8", "M8[s]", "m8[s]", "S3", "U2", "longdouble", "clongdouble", [("a", "f8")]],
)
def test_what_dlpack_has_no_type_for(dtype: Any) -> None:
    f = gb.Field.zeros(3, dtype)
    for keywords in ({}, {"max_version": LATEST}, {"copy": True}, {"copy": False}):
        with pytest.raises(BufferError, match="no type"):
            f.__dlpack__(**keywords)


def test_a_copy_is_flagged_writable_and_another_s() -> None:
    for readonly in (False, True):
        values = np.arange(6.0).reshape(2, 3)
        values.flags.writeable = not readonly
        capsule = gb.Field(values).__dlpack__(max_version=LATEST, copy=True)
        m = Versioned.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned"))
        assert m.flags == COPIED and m.tensor.data != values.ctypes.data
        ctypes.c_double.from_address(m.tensor.data).value = 9.0
        assert values[0, 0] == 0.0
    shared = gb.Field(values).__dlpack__(max_version=LATEST, copy=False)
    assert tensor_of(shared).data == values.ctypes.data


def test_a_copy_that_cannot_be_avoided_is_refused_with_copy_false() -> None:
    inner = np.zeros(3, [("a", "f8"), ("b", "i4")])["a"]
    with pytest.raises(BufferError, match="multiple of its item size"):
        gb.Field(inner).__dlpack__(copy=False, max_version=LATEST)


def test_numpy_gets_a_writable_array() -> None:
    # Before, NumPy spoke legacy only, which it takes as read-only
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        f = gb.Field.zeros((2, 3))
        assert np.from_dlpack(f).flags.writeable and np.from_dlpack(f, copy=False).flags.writeable
        assert np.from_dlpack(f, device="cpu", copy=True).flags.writeable


def test_bfloat16_has_no_array_interface() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        f = gb.Field.full((2, 3), 1.5, getattr(ml_dtypes, name))
        assert not hasattr(f, "__array_interface__") and np.asarray(f).dtype == name
        with pytest.raises(BufferError):
            memoryview(f)


def test_names_that_gt4py_and_dace_take_for_their_own() -> None:
    f = gb.Field.zeros((2, 3))
    for name in ("ndarray", "descriptor", "name", "data_ptr"):
        assert not hasattr(f, name)
