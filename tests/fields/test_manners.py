"""What users of arrays expect of a Field: it works, or the error says how."""

import inspect
import operator
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gridbuf as gb

A = np.arange(12.0).reshape(3, 4)


def test_membership_and_iteration() -> None:
    f = gb.Field(A, "IJ")
    assert (
        3.0 in f
        and 99.0 not in f
        and [part.dims for part in f] == [("J",)] * 3
        and len(list(f)) == 3
    )
    single = gb.Field.zeros(())
    for of_indices in (list, iter, len):
        with pytest.raises(TypeError, match="a Field without indices"):
            of_indices(single)  # type: ignore[operator]
    assert 0.0 in single


def test_transposition() -> None:
    f = gb.Field(np.zeros((2, 3, 4)), "IJK", halo=(1, 0, (0, 2)))
    for view in (
        f.T,
        f.transpose(),
        f.transpose("KJI"),
        f.transpose("K", "J", "I"),
        f.transpose(2, 1, 0),
        f.transpose((2, 1, 0)),
        f.transpose(-1, -2, -3),
    ):
        assert (
            view.dims == ("K", "J", "I")
            and view.shape == (4, 3, 2)
            and view.halo == ((0, 2), (0, 0), (1, 1))
            and np.shares_memory(view, f)
        )
    for wrong in (("KJ",), (0, 0, 1), (0, 1), (0, 1, 3), ("IJ0",)):
        with pytest.raises(ValueError, match="is not a permutation of this Field's dims"):
            f.transpose(*wrong)
    with pytest.raises(ValueError, match="twice"):
        f.transpose("K", "J", "J")
    with pytest.raises(TypeError, match="dims"):
        f.transpose(1.5)  # type: ignore[arg-type]
    assert gb.Field.zeros(3).transpose(0).shape == (3,)


@pytest.mark.parametrize("name", ["halo", "origin", "dims"])
def test_what_cannot_be_set_says_what_can_be_done(name: str) -> None:
    f = gb.Field(A, "IJ", halo=(1, 1))
    with pytest.raises(
        AttributeError, match=rf"{name}: it cannot be set; gridbuf.Field\(f, {name}=...\)"
    ):
        setattr(f, name, (0, 0))
    assert gb.Field(f, halo=(0, 1)).halo == ((0, 0), (1, 1))


def test_the_domain_is_written_to_by_its_elements() -> None:
    field = gb.Field.zeros((4, 5), dims="IJ", halo=(1, 1))
    with pytest.raises(
        AttributeError, match=r"domain: it cannot be set; field.domain\[...\] = value"
    ):
        field.domain = 1.0
    field.domain[...] = 1.0
    assert field.sum() == 6.0


def test_conversions() -> None:
    f = gb.Field(A, "JI", halo=(1, 0))
    whole = f.astype("i4")
    assert (
        whole.dtype == "i4"
        and (whole.dims, whole.halo) == (f.dims, f.halo)
        and np.array_equal(whole.numpy(), A.astype("i4"))
    )
    assert f.astype("f8", copy=False) is f and f.astype("f8") is not f
    with pytest.raises(TypeError, match="dtype: float64 does not convert to int32"):
        f.astype("i4", casting="safe")
    assert (
        f.tolist() == A.tolist() and f.item(1, 2) == 6.0 and gb.Field.full((1, 1), 3).item() == 3.0
    )
    assert f.flags.c_contiguous and not f.flags.owndata
    with pytest.raises(ValueError):
        f.item()


def test_what_has_no_names_is_a_plain_array() -> None:
    f = gb.Field(A, "IJ")
    for found in (
        f.reshape(12),
        f.reshape((2, 6)),
        f.ravel(),
        f.flatten(),
        f.repeat(2),
        f.take([1]),
    ):
        assert type(found) is np.ndarray
    assert np.array_equal(f.reshape(12), A.reshape(12)) and np.shares_memory(f.ravel(), A)
    assert (
        not np.shares_memory(f.flatten(), A) and f.nonzero()[0].tolist() == A.nonzero()[0].tolist()
    )
    assert f[:, :1].squeeze().dims == ("I",) and f.swapaxes("I", "J").dims == ("J", "I")


def test_one_element_is_a_number() -> None:
    three = gb.Field.full((), 3, "i4")
    assert (float(three), int(three), complex(three), operator.index(three), bool(three)) == (
        3.0,
        3,
        3 + 0j,
        3,
        True,
    )
    assert "abcd"[three] == "d" and bool(gb.Field.zeros((1, 1))) is False
    with pytest.raises(TypeError):
        operator.index(gb.Field.full((), 3.0))
    with pytest.raises(TypeError):
        operator.index(gb.Field.zeros((2,), "i4"))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(gb.Field(A))


@pytest.mark.parametrize(
    "name",
    [
        "transpose",
        "numpy",
        "__dlpack__",
        "__dlpack_device__",
        "to",
        "copy",
        "astype",
        "sum",
        "empty",
        "from_array",
    ],
)
def test_signatures_can_be_read(name: str) -> None:
    assert inspect.signature(getattr(gb.Field, name))
    assert inspect.signature(gb.HostField.__array__)


def test_a_source_tree_without_its_extension_says_so(tmp_path: Path) -> None:
    package = Path(gb.__file__).parent
    tree = tmp_path / "gridbuf"
    tree.mkdir()
    for source in package.glob("*.py"):
        (tree / source.name).write_text(source.read_text())
    # What pip installs for an editable checkout finds that one's extension for any gridbuf.
    code = (
        "import sys; sys.meta_path[:] = [f for f in sys.meta_path if '__editable__' not in"
        " repr(f)]; import gridbuf"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env={"PATH": ""}
    )
    assert found.returncode != 0 and "source tree" in found.stderr and "pip install" in found.stderr


@pytest.mark.parametrize("word", ["__gt_interface__", "__gt_data_interface__"])
def test_a_field_says_what_it_is_under_both_names(word: str) -> None:
    f = gb.Field(A, "JI")
    entry = getattr(f, word)[None]
    assert (
        entry["shape"] == (3, 4)
        and entry["dims"] == ("J", "I")
        and entry["data"][0] == A.ctypes.data
    )


class Described:
    """Nothing but what a stencil asks for: `__gt_interface__`, or its older spelling."""

    def __init__(self, array: Any, word: str, **more: Any) -> None:
        interface = array.__array_interface__
        self.keep = array
        setattr(
            self,
            word,
            {
                None: {
                    **{key: interface[key] for key in ("shape", "typestr", "data", "strides")},
                    **more,
                }
            },
        )


@pytest.mark.parametrize("word", ["__gt_interface__", "__gt_data_interface__"])
def test_objects_that_only_describe_their_memory(word: str) -> None:
    array = A.copy()
    obj = Described(array, word, dims=("K", "I"))
    f = gb.Field(obj)
    assert (
        f.dims == ("K", "I")
        and np.shares_memory(f, array)
        and np.shares_memory(gb.as_numpy(obj), array)
    )
    assert np.array_equal(gb.gufunc.from_ufunc(np.add)(obj, 1.0), A + 1) and gb.Field(
        obj, "JI"
    ).dims == ("J", "I")
    target = gb.Field.zeros((4, 3), dims="IK")
    target[...] = obj
    assert np.array_equal(target.numpy(), A.T)
    f[0, 0] = 7
    del f, obj
    assert array[0, 0] == 7


def test_who_wants_to_be_told_of_writes_gives_memory_to_read() -> None:
    array, log = A.copy(), []
    obj = Described(
        array,
        "__gt_interface__",
        **{name: lambda n=name: log.append(n) for name in ("acquire", "touch", "release")},
    )
    f = gb.Field(obj)
    assert f.readonly and log == ["acquire"] and f[1, 1] == 5
    del f
    assert log == ["acquire", "release"]


def test_descriptions_without_memory_for_us() -> None:
    obj = Described(A, "__gt_interface__")
    obj.__gt_interface__ = {"gpu": obj.__gt_interface__[None]}  # type: ignore[attr-defined]
    with pytest.raises(
        TypeError,
        match="describes no memory on the host; its __gt_interface__ has the devices: 'gpu'",
    ):
        gb.as_numpy(obj)
    obj.__gt_interface__ = {None: {"shape": (1,)}}  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="'typestr' is missing"):
        gb.Field(obj)
