"""Fields in the memory of another process: what a client sees, and whether it may write."""

import errno
import gc
import os
import resource
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from eventually import eventually
from in_child import forked, python
from share_server import Server, answering, serving

import gridbuf as gb
from gridbuf import share_client

SHAPE = ["12", "13", "7"]
LAYOUT = ["--backend", "gt:cpu_ifirst", "--halo", "3", "2:1", "0"]


@pytest.fixture
def address() -> Iterator[str]:
    """In a folder that other users may enter."""
    with tempfile.TemporaryDirectory(prefix="gridbuf-") as folder:
        os.chmod(folder, 0o755)
        yield f"unix:{folder}/s"


@pytest.fixture
def server(address: str) -> Iterator[Server]:
    with serving(address, "T,S", *SHAPE, *LAYOUT, "--writable") as server:
        yield server


def test_a_field_is_as_it_was_offered(server: Server) -> None:
    field = gb.attach(server.address, "T")
    plan = gb.plan((12, 13, 7), backend="gt:cpu_ifirst", halo=(3, (2, 1), 0))
    assert (field.shape, field.strides) == (plan.shape, plan.strides)
    assert field.dims == ("I", "J", "K") and field.dtype == np.float64
    assert field.halo == ((3, 3), (2, 1), (0, 0)) and field.origin == (3, 2, 0)
    assert field.readonly and not np.asarray(field).any()
    aligned = np.asarray(field)[3, 2, 0:].ctypes.data
    assert aligned % plan.byte_alignment == 0
    assert gb.offered(server.address) == ("S", "T")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "complex128"])
def test_types_and_shapes(address: str, dtype: str) -> None:
    with serving(address, "a", "2", "3", "4", "5", "--dtype", dtype, "--writable"):
        field = gb.attach(address, "a", writable=True)
        assert field.dtype == np.dtype(dtype) and field.shape == (2, 3, 4, 5)
        assert field.dims == ("I", "J", "K", "0") and field.halo is None
        field[...] = 1
        assert np.asarray(gb.attach(address, "a")).sum() == 120
    with serving(address, "a", "0", "3", "--dims", "KI"):
        assert gb.attach(address, "a").shape == (0, 3)


def test_what_one_process_writes_others_read(server: Server) -> None:
    field = gb.attach(server.address, "T", writable=True)
    assert not field.readonly
    field[...] = 2.5
    python(
        f"""
        import gridbuf as gb
        field = gb.attach({server.address!r}, "T", writable=True)
        assert field[3, 2, 0] == 2.5
        field.domain[...] = 7.0
        """
    )
    assert field[3, 2, 0] == 7 and field[0, 0, 0] == 2.5


def test_what_was_not_asked_for_is_not_written(server: Server) -> None:
    field = gb.attach(server.address, "T")
    with pytest.raises(ValueError, match="read-only"):
        field[...] = 1
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(field)[...] = 1
    with pytest.raises(ValueError):
        np.asarray(field).flags.writeable = True


def test_an_offer_for_reading_is_for_reading(address: str) -> None:
    with serving(address, "T", *SHAPE):
        with pytest.raises(ValueError, match='writable: "T" is offered for reading only'):
            gb.attach(address, "T", writable=True)
        assert gb.attach(address, "T").readonly


def test_views_keep_the_memory_and_the_last_one_lets_go(server: Server) -> None:
    before = len(os.listdir("/proc/self/fd"))
    field = gb.attach(server.address, "T", writable=True)
    field[...] = 4
    views = [np.asarray(field)[1:, 2], field.domain, np.from_dlpack(field)]
    del field
    gc.collect()
    assert server.holders == 1
    while views:
        assert np.asarray(views.pop()).ravel()[0] == 4
    gc.collect()
    assert server.let_go()
    share_client.close_idle()
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_page_is_touched(address: str) -> None:
    """4 GB, of which there is not one page."""
    with serving(address, "T", "512", "1024", "1024", "--writable") as server:
        gb.attach(server.address, "T")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        field = gb.attach(server.address, "T", writable=True)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        assert faults < 100
        assert resident_pages_of_memory() == [0]
        assert os.stat(f"/proc/{server.process.pid}/fd/{memory_of(server)}").st_blocks == 0
        field[511, 1023, 1023] = 3
        assert gb.attach(server.address, "T")[511, 1023, 1023] == 3


def memory_of(server: Server) -> str:
    folder = Path(f"/proc/{server.process.pid}/fd")
    return next(each.name for each in folder.iterdir() if "memfd:gridbuf" in os.readlink(each))


def resident_pages_of_memory() -> list[int]:
    """Of each shared mapping in this process, in KiB."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    found = [i for i, line in enumerate(lines) if "memfd:gridbuf" in line]
    return [
        int(next(line for line in lines[i:] if line.startswith("Rss:")).split()[1]) for i in found
    ]


def test_another_user_is_refused(address: str) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root, which can become another user")

    def admitted() -> None:
        os.setgid(65534)
        os.setuid(65534)
        assert gb.attach(address, "T").shape == (12, 13, 7)

    def refused() -> None:
        os.setgid(65534)
        os.setuid(65534)
        with pytest.raises(PermissionError, match="address: Permission denied"):
            gb.attach(address, "T")

    with serving(address, "T", *SHAPE):
        assert os.stat(address.removeprefix("unix:")).st_mode & 0o777 == 0o600
        assert forked(refused) == 0
    with serving(address, "T", *SHAPE, "--mode", "0666"):
        assert forked(admitted) == 0


def test_a_connection_serves_the_next_attach(server: Server) -> None:
    for i in range(10):
        field = gb.attach(server.address, "TS"[i % 2], writable=True)
        assert field[0, 0, 0] == i // 2
        field[0, 0, 0] += 1
        assert server.connections == 1
        del field
        gc.collect()
    several = [gb.attach(server.address, "T") for _ in range(10)]
    assert server.connections == 10
    del several
    gc.collect()
    assert eventually(lambda: server.connections == 4)
    assert server.let_go()


def test_a_connection_of_a_server_that_has_ended_is_not_used(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s"
    for kill in (True, False, True):
        with serving(address, "T", "4", "4") as server:
            field = gb.attach(address, "T")
            assert server.holders == 1
            del field
            gc.collect()
            if kill:
                server.process.kill()
                server.process.wait()
                with pytest.raises(ConnectionRefusedError):
                    gb.attach(address, "T")


def test_a_connection_is_not_shared_with_a_forked_child(server: Server) -> None:
    field = gb.attach(server.address, "T", writable=True)
    idle = gb.attach(server.address, "T")
    del idle
    gc.collect()

    def attach_and_let_go() -> None:
        """The field of the parent, and one of the child's own."""
        nonlocal field
        for _ in range(3):
            own = gb.attach(server.address, "T", writable=True)
            own[0, 0, 0] += 1
            del own
        del field
        gc.collect()

    assert forked(attach_and_let_go) == 0
    assert field[0, 0, 0] == 3
    assert eventually(lambda: server.holders == 1)
    del field
    assert server.let_go()


def test_a_forked_child_holds_what_its_parent_held(server: Server) -> None:
    field = gb.attach(server.address, "T", writable=True)
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        field[0, 0, 0] = 9
        os._exit(0)
    os.read(ready[0], 1)
    other = gb.attach(server.address, "T")
    del field
    gc.collect()
    assert server.holders == 2  # the child's and this process's other
    os.write(go[1], b"x")
    assert os.waitpid(child, 0)[1] == 0
    assert other[0, 0, 0] == 9
    for end in (*ready, *go):
        os.close(end)
    del other
    assert server.let_go()


@pytest.mark.parametrize(
    ("error", "match", "address", "name"),
    [
        (ValueError, "address: '/tmp/x'; give 'unix:'", "/tmp/x", "T"),
        (ValueError, "give 'unix:'", "unix:", "T"),
        (ValueError, "give 'unix:'", "unix:@x", "T"),
        (ValueError, "address: .* too long", "unix:/" + 200 * "x", "T"),
        (ValueError, "address: .*no path has such characters", "unix:/tmp/\ud800", "T"),
        (TypeError, "address: expected a str, got 3", 3, "T"),
        (TypeError, "name: expected a str, got 3", "unix:/tmp/x", 3),
        (FileNotFoundError, "address: No such file", "unix:/tmp/no/such/socket", "T"),
        (ValueError, "name: 'xx.* has 201 bytes; at most 200 bytes", "unix:/tmp/x", 201 * "x"),
        (ValueError, "name: .* has 202 bytes; at most 200 bytes", "unix:/tmp/x", 101 * "é"),
        (FileNotFoundError, "address: No such file", "unix:/tmp/no/such/socket", 200 * "x"),
    ],
)
def test_wrong_arguments(error: type[Exception], match: str, address: str, name: str) -> None:
    with pytest.raises(error, match=match) as raised:
        gb.attach(address, name)
    assert len(str(raised.value)) < 400
    if match.startswith("address"):
        with pytest.raises(error, match=match):
            gb.offered(address)


@pytest.mark.parametrize("long", ["x" * (1 << 20), b"x" * (1 << 20)])
def test_long_arguments_are_not_repeated(long: str) -> None:
    for arguments in ((long, "T"), ("unix:/tmp/x", long), (f"unix:{long!s}", "T")):
        with pytest.raises((TypeError, ValueError), match=r"name: |address: ") as raised:
            gb.attach(*arguments)
        assert len(str(raised.value)) < 400


def test_names_that_are_not_offered_and_words_for_yes(server: Server) -> None:
    with pytest.raises(ValueError, match='name: "X" is not offered; offered are S, T'):
        gb.attach(server.address, "X")
    with pytest.raises(TypeError, match="writable: expected True or False, got 'yes'"):
        gb.attach(server.address, "T", writable="yes")  # type: ignore[arg-type]
    assert server.let_go()


def test_a_server_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(tmp_path / "s", b"", []) as address, pytest.raises(ConnectionResetError):
        gb.attach(address, "T")
    monkeypatch.setattr(share_client, "_PATIENCE", 0.01)
    with serving(f"unix:{tmp_path}/s", "T", "4") as server:
        os.kill(server.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, server.process.pid, os.WSTOPPED | os.WNOWAIT)  # it stops in a moment
        try:
            with pytest.raises(TimeoutError, match="the server does not answer"):
                gb.attach(server.address, "T")
        finally:
            os.kill(server.process.pid, signal.SIGCONT)


@pytest.fixture
def signals() -> Iterator[None]:
    """A signal each 50 ms, with a handler: Python then repeats a call of the system."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("call", [lambda address: gb.attach(address, "T"), gb.offered])
@pytest.mark.parametrize(("pause", "match"), [(0.1, "its whole answer"), (3, "does not answer")])
def test_patience_is_that_of_the_whole_answer(
    call: Callable[[str], object],
    pause: float,
    match: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(share_client, "_PATIENCE", 0.35)
    with (
        answering(tmp_path / "s", {"version": 1}, [], pause) as address,
        pytest.raises(TimeoutError, match=f"{address}: the server .*{match} within 0.35 seconds"),
    ):
        call(address)


@pytest.mark.usefixtures("signals")
def test_a_server_whose_queue_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_client, "_PATIENCE", 0.35)
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(path)
        listener.listen(0)
        first.connect(path)
        with pytest.raises(TimeoutError, match=r"address: .*timed out"):
            gb.offered(f"unix:{path}")


def test_a_process_without_a_free_descriptor_says_so(server: Server) -> None:
    gb.attach(server.address, "T")  # its connection serves the next attach
    gc.collect()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.dup(0)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 8, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            while True:
                taken.append(os.dup(0))
        with pytest.raises(OSError, match=f"none is left for the array of {server.address}") as of:
            gb.attach(server.address, "T")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for descriptor in taken:
            os.close(descriptor)
    assert of.value.errno == errno.EMFILE
    assert server.let_go()
