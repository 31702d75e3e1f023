"""What pyext/storage/interface.c remembers is what Python says, whatever the field, the names, the
dtype and the backend.
"""

import random
import warnings
from typing import Any

import numpy as np
from in_child import python

import gridbuf as gb
import gridbuf.interface as gi
import gridbuf.storage as gs
from gridbuf.interface import acquiring

SIZES = {"I": 3, "J": 4, "K": 5, "0": 2}


def random_field(rng: random.Random) -> Any:
    dims = "".join(rng.sample("IJK", rng.randint(0, 3)))
    shape = tuple(SIZES[name] for name in dims)
    array = (
        np.arange(1.0, 1.0 + int(np.prod(shape)))
        .reshape(shape)
        .astype(rng.choice(["f8", "f4", "i4", "?", ">f8", "c8"]))
    )
    if dims and rng.random() < 0.4:
        array = np.asfortranarray(array)
    if rng.random() < 0.2:
        array.flags.writeable = False
    kind = rng.randint(0, 4)
    if kind == 0:
        return array
    if kind == 1:
        return gb.Field(array, dims=dims) if dims and rng.random() < 0.7 else gb.Field(array)
    if kind == 2:
        return gb.Field.zeros((2, 3, 4, 5), dims="0IJK")
    return gs.as_storage(array, axes=dims)


def outcome(fields: Any, **options: Any) -> Any:
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with gi.acquired(fields, **options) as arrays:
                found = [
                    (name, a.__array_interface__["data"], a.shape, a.strides, a.dtype)
                    for name, a in arrays.items()
                ]
        return found, [str(one.message) for one in told]
    except (TypeError, ValueError) as error:
        return type(error), str(error)


def test_what_is_remembered_is_what_is_explained(monkeypatch: Any) -> None:
    rng = random.Random(5)
    for _ in range(1500):
        fields = {name: random_field(rng) for name in rng.sample("abc", rng.randint(1, 3))}
        names = (
            rng.sample("abcd", rng.randint(0, 2))
            if rng.random() < 0.3
            else rng.sample(list(fields), rng.randint(0, len(fields)))
        )
        options: dict[str, Any] = {"outputs": rng.choice([tuple, list, set])(names[:1])}
        if rng.random() < 0.5:
            options["dims"] = {
                name: rng.choice(
                    ["IJK", "KJI", "JI", ("I", "J"), ["K", "J", "I"], None, "", "IX", 3]
                )
                for name in names
            }
        if rng.random() < 0.5:
            options["dtypes"] = {
                name: rng.choice(["f8", np.float64, np.dtype("f4"), "float32", None, "<f8"])
                for name in names
            }
        if rng.random() < 0.5:
            options["backend"] = rng.choice(["gtx86", "gt:cpu_ifirst", "nonsense"])
        quick = [outcome(fields, **options) for _ in range(2)]
        with monkeypatch.context() as changed:
            changed.setattr(acquiring._core, "host_arrays", lambda *args: None)
            assert quick == [outcome(fields, **options)] * 2


def test_a_list_of_names_that_changes_is_read_again() -> None:
    s, names = gs.zeros((3, 4, 5)), ["I", "J", "K"]
    for expected in ((3, 4, 5), (5, 4, 3)):
        for _ in range(2):
            with gi.acquired({"s": s}, dims={"s": names}) as arrays:
                assert arrays["s"].shape == expected
        names.reverse()


EMPTIED = """
import numpy as np
import gridbuf.interface as gi

class Names:
    def __iter__(self):
        held.clear()
        return iter("IJ")

class Kind:
    @property
    def dtype(self):
        held.clear()
        return np.dtype("f8")

for word, given in (("dims", Names), ("dtypes", Kind)):
    held = {"a": given()}
    with gi.acquired({"a": np.zeros((3, 4))}, **{word: held}) as arrays:
        print(arrays["a"].shape)
"""


def test_a_dict_that_is_emptied_while_its_values_are_asked() -> None:
    assert python(EMPTIED, PYTHONMALLOC="debug") == "(3, 4)\n(3, 4)"
