"""--apply: the same program in fresh processes, as it is and with gridbuf's memory under it, taking turns."""

import subprocess
import sys
import tempfile
from typing import Any

from gridbuf.startup import USUAL
from gridbuf.watch.book import clock

ROUNDS = 2


def applied(arguments: list[str], folder: str, environment: dict[str, str], status: Any) -> dict[str, Any]:
    """Seconds of each, the least of the rounds, their ratio, and whether status and output are the same.

    `arguments` are what stands behind `python -m gridbuf run`: a file, or -m and a module, and the program's own. The
    processes start in `folder`, read nothing, and what they print is compared, not shown. There is no ratio, but `why`, where the
    program ends otherwise than with the status that it had.
    """
    plain = [sys.executable, *_flags(), *arguments]
    ours = [sys.executable, *_flags(), "-m", "gridbuf", "run", "--install", USUAL, *arguments]
    once = _run(plain, folder, environment)
    expected = status if isinstance(status, int) else int(status is not None)
    if once["status"] != expected & 0xFF:
        return {"why": f"--apply: run again, without input, it ends with {once['status']} instead of {expected & 0xFF}"}
    others = [_run(command, folder, environment) for command in (ours, *(plain, ours) * (ROUNDS - 1))]
    runs = [[once, others[0]], *zip(others[1::2], others[2::2], strict=True)]
    before, after = (min(pair[i]["seconds"] for pair in runs) for i in (0, 1))
    first, second = runs[0]
    return {
        "installed": USUAL,
        "seconds": before,
        "installed_seconds": after,
        "ratio": before / after,
        "rounds": ROUNDS,
        "status": [first["status"], second["status"]],
        "same_output": first["output"] == second["output"],
    }


def _flags() -> list[str]:
    """The interpreter's own options."""
    return subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined,no-any-return]


def _run(command: list[str], folder: str, environment: dict[str, str]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = clock()
        status = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors
        ).returncode  # fmt: skip
        seconds = clock() - start
        output.seek(0)
        return {"status": status, "seconds": seconds, "output": output.read()}


def text(found: dict[str, Any]) -> str:
    """One line."""
    if "why" in found:
        return str(found["why"])
    ran = f"{found['ratio']:.2f} times as fast with `gridbuf run --install {found['installed']}`: "
    said = f"{found['installed_seconds']:.2f} s against {found['seconds']:.2f} s, whole processes, the least of {found['rounds']}"
    wrong = []
    if found["status"][0] != found["status"][1]:
        wrong.append(f"they end with {found['status'][1]} and {found['status'][0]}")
    if not found["same_output"]:
        wrong.append("what they print differs")
    return ran + said + ("".join(f"; {words}" for words in wrong))
