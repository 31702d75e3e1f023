"""Memory that two ranks of one machine share, without MPI: what is offered can be read, and nothing
else passes for it.
"""

import gc
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridbuf.distributed.ranks import shared_memory as sharing

pytestmark = pytest.mark.skipif(not sharing.machine(), reason="no memory to share here")
LONG = sharing.LEAST + 5


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def mapped() -> int:
    return Path("/proc/self/maps").read_text().count(f"memfd:{sharing.NAME}")


def offered() -> Any:
    found = sharing.offer(LONG)
    assert found is not None
    return found


def test_what_one_writes_the_other_reads() -> None:
    ours = offered()
    theirs = sharing.opened(dict(ours), LONG)
    assert theirs is not None and not theirs.flags.writeable
    assert theirs.shape == ours.rows.shape == (2, theirs.shape[1]) and theirs.shape[1] >= LONG
    for i in range(2):
        ours.rows[i] = 7 + i
        assert (theirs[i] == 7 + i).all()


def test_all_is_given_back() -> None:
    before = files(), mapped()
    ours = offered()
    theirs = sharing.opened(ours, LONG)
    assert files() == before[0] + 1
    sharing.answered({"token": ours["token"], "taken": True})
    assert files() == before[0]
    ours.rows[0] = 5
    rows = ours.rows
    del ours
    gc.collect()
    assert theirs is not None and (theirs[0] == 5).all()
    del rows
    assert (theirs[0] == 5).all()  # as long as one of the two has it
    assert mapped() == before[1] + 1
    del theirs
    assert (files(), mapped()) == before
    never = offered()
    del never  # nobody answers
    assert (files(), mapped()) == before


def test_an_answer_is_about_what_was_offered() -> None:
    ours = offered()
    lane = sharing.Lane(ours, None)
    sharing.answered({"token": "another", "taken": True})
    assert not lane.is_answered() and lane.out is None
    sharing.answered({"token": ours["token"], "taken": False})
    assert lane.is_answered() and lane.out is None
    ours = offered()
    lane = sharing.Lane(ours, None)
    sharing.answered({"token": ours["token"], "taken": True})
    assert lane.is_answered() and lane.out is ours.rows
    assert sharing.Lane(None, None).is_answered()


@pytest.mark.parametrize(
    "what",
    [
        "machine",
        "process",
        "file",
        "token",
        "size",
        "closed",
        "another file",
        "no seal",
        "cannot be mapped",
    ],
)
def test_nothing_else_is_read(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = offered()
    words = dict(ours)
    if what == "machine":
        words["machine"] = "another"
    elif what == "process":
        words["process"] = 2**22 + 1  # more than there can be
    elif what == "file":
        words["file"] = offered()["file"]  # which is closed
    elif what == "token":
        words["token"] = "00" * 16
    elif what == "size":
        words["size"] += mmap.PAGESIZE
    elif what == "closed":
        ours.answer(True)
    elif what == "another file":
        read, write = os.pipe()
        words["file"] = read
        assert sharing.opened(words, LONG) is None
        os.close(read), os.close(write)
        return
    elif what == "no seal":
        words["file"] = file = os.memfd_create(sharing.NAME)
        os.truncate(file, words["size"])
        assert sharing.opened(words, LONG) is None
        os.close(file)
        return
    else:
        monkeypatch.setattr(sharing, "Mapping", lambda *_: (_ for _ in ()).throw(OSError))
    before = files()
    assert sharing.opened(words, LONG) is None
    assert files() == before


def test_where_there_is_none_nothing_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sharing.offer(sharing.LEAST - 1) is None
    before = files(), mapped()
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", lambda *_: (_ for _ in ()).throw(OSError))
        assert sharing.offer(LONG) is None
        patch.setattr(os, "memfd_create", lambda *_: (_ for _ in ()).throw(OSError))
        assert sharing.offer(LONG) is None
        patch.setattr(sharing, "machine", str)
        assert sharing.offer(LONG) is None
    assert (files(), mapped()) == before
    monkeypatch.setattr(sharing, "MOST", len(sharing.offers) + 1)
    first = offered()
    assert sharing.offer(LONG) is None
    del first
    assert sharing.offer(LONG) is not None


def test_what_is_refused_is_no_memory() -> None:
    before, known = (files(), mapped()), len(sharing.offers)
    ours = offered()
    lane = sharing.Lane(ours, None)
    sharing.answered({"token": ours["token"], "taken": False})
    assert lane.is_answered() and lane.out is None
    assert (files(), mapped(), len(sharing.offers)) == (*before, known)


def test_it_cannot_shrink_under_its_reader() -> None:
    ours = offered()
    with pytest.raises(PermissionError):
        os.truncate(ours["file"], 0)
    assert np.asarray(ours.rows).nbytes >= 2 * LONG


def test_the_user_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, answer in (("", True), ("1", True), ("0", False)):
        monkeypatch.setenv(sharing.VARIABLE, value)
        assert sharing.wanted() is answer
    monkeypatch.setenv(sharing.VARIABLE, "no")
    with pytest.raises(ValueError, match="GRIDBUF_SHARED_MESSAGES: 'no' is neither '0' nor '1'"):
        sharing.wanted()
