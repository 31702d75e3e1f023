"""What of a process's surroundings will hurt."""

import math
import resource
from collections.abc import Iterator
from pathlib import Path

import gridbuf
from gridbuf._core import cpu_quota
from gridbuf.explain import nbytes_text


def warnings(root: Path = Path("/")) -> Iterator[tuple[str, str]]:
    """(name, what it does); root: where /proc and /sys are."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        yield (
            "address space",
            (
                f"limited to {nbytes_text(limit)} (ulimit -v): what is reserved and never written"
                " counts"
            ),
        )
    if _first_word(root / "proc/sys/vm/overcommit_memory") == "2":
        yield (
            "overcommit",
            "switched off (vm.overcommit_memory = 2): arrays that are never written count",
        )
    mappings = len(_lines(root / "proc/self/maps"))
    most = _first_word(root / "proc/sys/vm/max_map_count")
    if most.isdigit() and mappings > int(most) * 8 // 10:
        yield (
            "mappings",
            (
                f"{mappings} of at most {most} (vm.max_map_count): beyond it neither arrays nor"
                " threads can be made"
            ),
        )
    quota, threads = cpu_quota(str(root)), gridbuf.get_num_threads()
    if quota and threads > math.ceil(quota):
        yield (
            "threads",
            (
                f"{threads}, and the control group gives {quota:g} processors: threads are stopped"
                " in their work"
            ),
        )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _first_line(path: Path) -> list[str]:
    return (_lines(path) or [""])[0].split()


def _first_word(path: Path) -> str:
    return (_first_line(path) or [""])[0]
