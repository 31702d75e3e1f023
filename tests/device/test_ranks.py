"""Fields on a GPU between processes, by messages that are carried through the host, or given to MPI
where they lie.
"""

import os
from pathlib import Path

import pytest
import under_mpi
from fake_driver import MODE

SCRIPT = Path(__file__).parent / "ranks" / "halos.py"


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("way", ["staged", "direct"])
def test_ranks_have_the_values_of_the_local_engine(way: str, count: int) -> None:
    pytest.importorskip("mpi4py")
    if way == "direct" and MODE == "gpu":
        from gridbuf.distributed.ranks.buffers import library_takes_gpus

        if not library_takes_gpus():
            pytest.skip("this MPI does not say that it takes pointers of GPUs")
    done = under_mpi.run(count, SCRIPT, way, SHARED_FROM="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"halos {count}\n"


@pytest.mark.slow
def test_messages_are_looked_after_in_debug_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mpi4py")
    monkeypatch.setitem(os.environ, "GRIDBUF_DEBUG", "1")
    done = under_mpi.run(2, SCRIPT, "staged")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "halos 2\n"


@pytest.mark.parametrize(
    ("said", "value", "answer"),
    [(True, "0", True), (False, "1", False), (None, "1", True), (None, "0", False)],
)
def test_who_says_whether_mpi_takes_pointers(
    said: bool | None, value: str, answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mpi4py")
    from gridbuf.distributed.ranks import buffers

    monkeypatch.setenv(buffers.VARIABLE, value)
    assert buffers.takes_gpus(said) is answer
    monkeypatch.setenv(buffers.VARIABLE, "yes")
    with pytest.raises(ValueError, match="neither '0' nor '1'"):
        buffers.takes_gpus(None)
    monkeypatch.delenv(buffers.VARIABLE)
    assert buffers.takes_gpus(None) is buffers.library_takes_gpus()
