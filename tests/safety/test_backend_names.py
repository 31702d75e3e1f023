"""Names of backends are strings of others: destroyed while they are registered, many, long, and not
to be shown.
"""

import pytest
from in_child import python

import gridbuf as gb


def test_a_destructor_that_asks_for_the_backend_being_registered() -> None:
    code = """
import gridbuf as gb
class S(str):
    def __del__(self):
        gb.empty((3, 3, 3), backend="late")
gb.empty((3,), backend=S("C"))
gb.register_backend("late", layout=lambda dims: tuple(range(len(dims)))[::-1])
print(gb.empty((2, 3), backend="late").strides)
"""
    assert python(code) == "(8, 16)"


def test_a_name_is_destroyed_once() -> None:
    deleted = []

    class Name(str):
        def __del__(self) -> None:
            deleted.append(id(self))
            for name in pool:
                gb.empty((3,), backend=name)

    gb.register_backend("hx", layout="IJK")
    pool: list[str] = []
    gb.empty((3,), backend=Name("hx"))
    pool += ["".join(["h", "x"]) for _ in range(400)]
    for _ in range(2):
        for name in ["".join(["h", "x"]) for _ in range(400)]:
            gb.empty((3,), backend=name)
    assert len(deleted) == 1


def test_a_long_list_of_backends() -> None:
    code = """
import gridbuf as gb
names = [f"backend {'x' * 180} {i}" for i in range(2000)]
for name in names:
    gb.register_backend(name, layout="IJK")
print(set(names) <= set(gb.backends()))
try:
    gb.empty((3,), backend="nowhere")
except ValueError as error:
    print(str(error)[:32], "gtx86, numpy, backend x" in str(error),
        "more (gridbuf.backends())" in str(error))
"""
    assert python(code) == 'True\nbackend: "nowhere" is not known; True True'


@pytest.mark.parametrize(
    "name", ["", "y" * 17000, "a\nb", "a\x00b", "a\x1cb", "a\u2028b", "a\x85b", "\ud800"]
)
def test_names_that_a_list_cannot_show(name: str) -> None:
    with pytest.raises(ValueError, match=r"name|surrogates"):
        gb.register_backend(name, layout="IJK")
    assert name not in gb.backends()
