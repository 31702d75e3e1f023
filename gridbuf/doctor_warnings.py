"""What of a process's surroundings will hurt."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import gridbuf
from gridbuf.explain import nbytes_text


def warnings(root: Path = Path("/")) -> Iterator[tuple[str, str]]:
    """(name, what it does); root: where /proc and /sys are."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        yield "address space", f"limited to {nbytes_text(limit)} (ulimit -v): what is reserved and never written counts"
    if _first_word(root / "proc/sys/vm/overcommit_memory") == "2":
        yield "overcommit", "switched off (vm.overcommit_memory = 2): arrays that are never written count"
    mappings, most = len(_lines(root / "proc/self/maps")), _first_word(root / "proc/sys/vm/max_map_count")
    if most.isdigit() and mappings > int(most) * 8 // 10:
        yield "mappings", f"{mappings} of at most {most} (vm.max_map_count): beyond it neither arrays nor threads can be made"
    quota = cpu_quota(root)
    for name, asked in (("GOMAXPROCS", os.environ.get("GOMAXPROCS", "")), ("threads", str(gridbuf.get_num_threads()))):
        if quota and asked.isdigit() and int(asked) > quota:
            yield (
                name,
                f"{asked}, and the control group gives {quota:g} processors: threads are stopped in their work",
            )


def cpu_quota(root: Path = Path("/")) -> float:
    """Processors that the control groups allow, the process's own and those above (versions 2 and 1); 0: all."""
    allowed = []
    for line in _lines(root / "proc/self/cgroup"):
        _, kinds, path = line.split(":", 2)
        if kinds and "cpu" not in kinds.split(","):
            continue
        top = root / "sys/fs/cgroup" / kinds
        group = top / path.strip("/")
        for folder in (group, *group.parents):
            words = _first_line(folder / "cpu.max") or [
                _first_word(folder / f"cpu.cfs_{what}_us") for what in ("quota", "period")
            ]
            if all(word.isdigit() for word in words) and len(words) == 2 and int(words[1]):
                allowed.append(int(words[0]) / int(words[1]))
            if folder == top:
                break
    return min(allowed, default=0.0)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _first_line(path: Path) -> list[str]:
    return (_lines(path) or [""])[0].split()


def _first_word(path: Path) -> str:
    return (_first_line(path) or [""])[0]
