"""Processes that are killed on either side: their memory is released, that of others remains."""

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from share_server import command, serving

import gridbuf as gb

HOLDS = """
import gridbuf as gb, sys, time
fields = [gb.attach(sys.argv[1], "T", writable=True) for _ in range(10)]
fields[0][...] = 5
print("held", flush=True)
time.sleep(600)
"""


def test_a_client_that_is_killed_lets_go(tmp_path: Path) -> None:
    with serving(f"unix:{tmp_path}/s", "T", "100", "100", "--writable") as server:
        words = [sys.executable, "-c", HOLDS, server.address]
        client = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert client.stdout is not None and client.stdout.readline() == "held\n"
        assert server.holders == 10
        client.kill()
        client.communicate()
        assert server.let_go()
        assert gb.attach(server.address, "T")[99, 99] == 5


def test_a_server_that_is_killed_leaves_memory_to_its_clients(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/s"
    with serving(address, "T", "100", "100", "--writable") as server:
        field = gb.attach(address, "T", writable=True)
        field[...] = 6
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        assert field[99, 99] == 6
        field[...] = 7
        with pytest.raises(ConnectionRefusedError, match="address: Connection refused"):
            gb.attach(address, "T")
    with serving(address, "T", "100", "100", "--writable"):
        assert gb.attach(address, "T")[99, 99] == 0
        assert field[99, 99] == 7


def test_nothing_is_left(tmp_path: Path) -> None:
    """No socket of a server that was told to end, and no memory after kills."""
    address = f"unix:{tmp_path}/s"
    with serving(address, "T", "100", "100") as server:
        assert (tmp_path / "s").is_socket()
        field = gb.attach(address, "T")
        server.process.kill()
        server.process.wait()
        del field
        gc.collect()
    assert "memfd:gridbuf" not in Path("/proc/self/maps").read_text()
    with serving(address, "T", "100", "100"):
        pass
    assert not (tmp_path / "s").exists()


def test_a_server_that_lives_is_not_replaced(tmp_path: Path) -> None:
    with serving(f"unix:{tmp_path}/s", "T", "4") as server:
        words = [command(), "share", server.address, "S", "4"]
        other = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert other.returncode == 2
        assert other.stderr == (
            f"gridbuf share: address: a server answers at {tmp_path}/s; give another path\n"
        )
        assert gb.offered(server.address) == ("T",)


@pytest.mark.slow
def test_a_thousand_clients(tmp_path: Path) -> None:
    """Processes, of which one half is killed."""
    with serving(f"unix:{tmp_path}/s", "T", "1000", "--writable") as server:
        said, ended = os.pipe(), os.pipe()
        children = [client(server.address, number, said[1], ended) for number in range(1000)]
        os.close(said[1])
        assert sum(len(os.read(said[0], 1)) for _ in children) == len(children)
        assert server.holders == len(children)
        for child in children[::2]:
            os.kill(child, signal.SIGKILL)
        os.close(ended[1])
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert statuses == [-signal.SIGKILL, 0] * (len(children) // 2)
        os.close(said[0])
        os.close(ended[0])
        assert server.let_go()
        values = np.asarray(gb.attach(server.address, "T"))
        np.testing.assert_array_equal(values, np.arange(1000) + 1)


def client(address: str, number: int, said: int, ended: tuple[int, int]) -> int:
    """A forked child that attaches, writes an element, says so, and waits for the end."""
    child = os.fork()
    if child:
        return child
    try:
        signal.alarm(300)
        os.close(ended[1])
        field = gb.attach(address, "T", writable=True)
        field[number] = number + 1
        os.write(said, b"x")
        os.read(ended[0], 1)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)
    os._exit(0)


def test_a_server_told_to_end_leaves_its_clients_in_peace(tmp_path: Path) -> None:
    with serving(f"unix:{tmp_path}/s", "T", "100", "--writable") as server:
        field = gb.attach(server.address, "T", writable=True)
        server.end()
        assert server.process.returncode == 0
        field[...] = 1
        assert field[99] == 1
