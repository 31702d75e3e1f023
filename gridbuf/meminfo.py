"""What Linux says of the machine's memory."""

from pathlib import Path


def meminfo() -> dict[str, int]:
    """/proc/meminfo with sizes in bytes; empty where there is none."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return {}
    words = [line.replace(":", " ").split() for line in lines]
    return {w[0]: int(w[1]) * (1024 if w[-1] == "kB" else 1) for w in words}
