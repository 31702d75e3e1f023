"""The command that shares arrays, in a process of its own: `go build ./cmd/gridbuf`, and a server
in Python that sends what it is told to.
"""

import atexit
import functools
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from eventually import eventually

from gridbuf import share_client

ROOT = Path(__file__).resolve().parents[2]


def build(package: str, to: Path) -> Path:
    """A program of this module; Go has its packages in a cache."""
    if shutil.which("go") is None:
        pytest.skip("needs go")
    flags = subprocess.run(
        [ROOT / "tests" / "go_flags.sh"], capture_output=True, text=True, check=True
    ).stdout.strip()
    subprocess.run(
        ["go", "build", "-buildvcs=false", "-o", to, package],
        cwd=ROOT,
        env={**os.environ, "CGO_CFLAGS": flags},
        check=True,
        timeout=280,
    )
    return to


@functools.cache
def command() -> Path:
    """The program `gridbuf`, built once for each process of the tests."""
    folder = Path(tempfile.mkdtemp(prefix="gridbuf-command-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return build("./cmd/gridbuf", folder / "gridbuf")


class Server:
    """A share server; `holders` is how many connections with arrays clients have to it: those of
    this process which no array uses are closed first.
    """

    def __init__(self, *words: str) -> None:
        self.address = words[0]
        self.process = subprocess.Popen(
            [command(), "share", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        self.first_line = self.process.stdout.readline()
        if not self.first_line:
            raise ValueError(self.process.stderr.read())
        self._sockets = self._count()

    def _count(self) -> int:
        return sum(link.startswith("socket:") for link in self.descriptors())

    def descriptors(self) -> list[str]:
        """What the descriptors of the process are."""
        found = []
        for each in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                found.append(os.readlink(each))
            except FileNotFoundError:  # closed meanwhile
                continue
        return found

    @property
    def connections(self) -> int:
        return self._count() - self._sockets

    @property
    def holders(self) -> int:
        share_client.close_idle()
        return self.connections

    def let_go(self) -> bool:
        """Whether no client holds anything, soon."""
        return eventually(lambda: self.holders == 0)

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)


@contextmanager
def serving(*words: str) -> Iterator[Server]:
    """A server of `gridbuf share ADDRESS NAMES SHAPE... OPTIONS`."""
    server = Server(*words)
    try:
        yield server
    finally:
        server.end()


LENGTH = struct.Struct("<I")


@contextmanager
def answering(path: Path, answer: Any, descriptors: list[int], pause: float = 0) -> Iterator[str]:
    """A server that sends an answer, bytes or JSON, with descriptors to each client; with a pause
    of some seconds, before each byte.
    """
    text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    message = text if isinstance(answer, bytes) else LENGTH.pack(len(text)) + text
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    ended = threading.Event()

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client, suppress(BrokenPipeError):
                client.recv(1 << 16)
                for part in [bytes([byte]) for byte in message] if pause else [message]:
                    if part and not ended.wait(pause):
                        socket.send_fds(client, [part], descriptors)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"unix:{path}"
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        path.unlink()
