"""Tests of gigabytes, where there are as many when they begin."""

from contextlib import suppress
from pathlib import Path

import pytest

GROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes of the machine, of the control group that a container is, and of what may be
    reserved.
    """
    lines = Path("/proc/meminfo").read_text().splitlines()
    info = {line.partition(":")[0]: int(line.split()[1]) << 10 for line in lines}
    free = [info["MemAvailable"]]
    with suppress(OSError):  # of a container without /proc/sys
        if Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "2":
            free.append(info["CommitLimit"] - info["Committed_AS"])
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):  # another version of them, or "max"
            free.append(int((GROUP / limit).read_text()) - int((GROUP / used).read_text()))
    return min(free)


def needs_memory(nbytes: int) -> None:
    if (free := free_memory()) < nbytes:
        pytest.skip(f"needs {nbytes >> 30} GiB of free memory, there are {free / (1 << 30):.1f}")
