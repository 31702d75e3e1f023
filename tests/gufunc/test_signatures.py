"""Signatures: NumPy's grammar exactly, and what gridbuf adds to it."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gridbuf import gufunc

REFUSED = [
    "((n))->()", "(((n)))->()", "((3))->()", "(n)->((n))", "(n)->((3))", "((n),m)->()",
    "(n,(m))->()", "(n ?)->()", "(n\t?)->()",
    "(n)\n->()", "(n)->()\n", "(n,)->()", "(,n)->()", "(n m)->()", "(n)(m)->()", "(n)->()()",
    "(n),->()", ",(n)->()", "(n)->(),",
    "(n)>()", "(n)- >()", "(0)->()", "(-1)->()", "(+1)->()", "(3n)->()", "(3 n)->()", "(n??)->()",
    "(n?),(n)->()", "()", "->", "()->",
    "(n)->()->()", "n->()", "(n->()", "n)->()", "(n.m)->()", "(n)->() x",
    "(99999999999999999999)->()", "(n+1)->()", "((n+1))->()",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_signature(text: str) -> None:
    with pytest.raises(gufunc.SignatureError, match=r"^signature: "):
        gufunc.GUFunc(text)


def numpys(text: str) -> tuple[list[tuple[int, ...]], list[tuple[int, bool]]] | None:
    """The core dimensions of each operand and the size of each dimension, as NumPy's parser reads
    them; None: it refuses.
    """
    parser = pytest.importorskip("numpy._core._umath_tests")
    before, _, after = text.partition("->")
    nin, nout = before.count("("), after.count("(")
    if not nout or "->" not in text:
        return None
    try:
        _, counts, numbers, flags, sizes = parser.test_signature(nin, nout, text)
    except (ValueError, RuntimeError):
        return None
    cores, at = [], 0
    for n in counts:
        cores.append(tuple(numbers[at : at + n]))
        at += n
    return cores, [(size, bool(flag & 4)) for size, flag in zip(sizes, flags, strict=True)]


def ours(text: str) -> tuple[list[tuple[int, ...]], list[tuple[int, bool]]] | None:
    try:
        g = gufunc.GUFunc(text)
    except gufunc.SignatureError:
        return None
    return g._cores, [(size, optional) for size, _, optional in g._dims]


TOKENS = [
    "(",
    ")",
    ",",
    "->",
    "?",
    " ",
    "\t",
    "\n",
    "n",
    "m",
    "n?",
    "3",
    "3?",
    "03",
    "0",
    "_k1",
    "->(",
    ")->()",
    "(n",
    ",m)",
    "()",
    "-",
    ">",
]
SENSIBLE = st.builds(
    lambda inputs, outputs, space: f"{space}->{space}".join(
        f",{space}".join("(" + ",".join(core) + ")" for core in side) for side in (inputs, outputs)
    ),
    st.lists(
        st.lists(st.sampled_from(["n", "m", "n?", "3", "3?", " n ", "(n)", "", "n\t"]), max_size=3),
        max_size=3,
    ),
    st.lists(st.lists(st.sampled_from(["n", "m", "n?", "3", "3?"]), max_size=3), max_size=2),
    st.sampled_from(["", " ", "\t ", "\n"]),
)


@settings(deadline=None, max_examples=400)
@given(st.one_of(st.lists(st.sampled_from(TOKENS), max_size=12).map("".join), SENSIBLE))
@example("(n)->(n)")
@example("((n))->()")
def test_the_grammar_is_numpys(text: str) -> None:
    assert ours(text) == numpys(text)


def test_what_gridbuf_adds() -> None:
    g = gufunc.GUFunc("(m),(n|1)->((m+n)/2, (m)*2) ; k:i64")
    assert g._dim_names == ["m", "n", "(m+n)/2", "m*2"] and g._uniform_names == ["k"]
    assert g._cores == [(0,), (1,), (2, 3)]
