"""doctor's warnings: each is provoked, by a limit on the process or by a /proc and /sys of the
test's own.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import gridbuf as gb
from gridbuf import doctor
from gridbuf._core import cpu_quota
from gridbuf.doctor import warnings


def lay(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def told(root: Path) -> dict[str, str]:
    return {name: text for name, text in warnings(root) if name != "address space"}


def test_a_machine_without_limits_is_not_warned_of(tmp_path: Path) -> None:
    files = {
        "proc__sys__vm__overcommit_memory": "0\n",
        "proc__sys__vm__max_map_count": "65530\n",
        "proc__self__maps": "a\nb\n",
    }
    assert told(lay(tmp_path, **files, proc__self__cgroup="0::/\n")) == {}
    assert told(tmp_path / "none") == {}
    assert dict(doctor.sections())["warnings"]


@pytest.mark.parametrize("command", ["ulimit -v 8000000", "prlimit --as=8192000000 --pid $$"])
def test_a_limit_on_address_space(command: str) -> None:
    code = "from gridbuf import doctor; print(dict(doctor.warnings())['address space'])"
    done = subprocess.run(
        ["sh", "-c", f'{command} && exec "$0" -c "$1"', sys.executable, code],
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("limited to 7.6 GiB (ulimit -v)"), done.stdout + done.stderr


def test_overcommit(tmp_path: Path) -> None:
    assert (
        "vm.overcommit_memory = 2"
        in told(lay(tmp_path, proc__sys__vm__overcommit_memory="2\n"))["overcommit"]
    )


def test_mappings(tmp_path: Path) -> None:
    lay(tmp_path, proc__self__maps="a\n" * 81, proc__sys__vm__max_map_count="100\n")
    assert told(tmp_path)["mappings"].startswith("81 of at most 100 (vm.max_map_count)")
    assert told(lay(tmp_path, proc__self__maps="a\n" * 80)) == {}


def test_more_threads_than_the_control_group_has_processors(tmp_path: Path) -> None:
    lay(tmp_path, proc__self__cgroup="0::/job/step\n")
    (tmp_path / "sys/fs/cgroup/job/step").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/job/cpu.max").write_text("150000 100000\n")
    before = gb.get_num_threads()
    try:
        gb.set_num_threads(2)  # a quota of 1.5 is used up by two
        assert told(tmp_path) == {}
        gb.set_num_threads(7)
        assert told(tmp_path)["threads"].startswith("7, and the control group gives 1.5 processors")
    finally:
        gb.set_num_threads(before)


@pytest.mark.parametrize(
    ("lines", "files", "quota"),
    [
        ("0::/\n", {"cpu.max": "max 100000"}, 0),
        ("0::/\n", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/cpu.max": "400000 100000", "a/b/cpu.max": "50000 100000"}, 0.5),
        ("0::/a/b\n", {"a/cpu.max": "100000 100000", "a/b/cpu.max": "max 100000"}, 1),
        ("0::/a\n", {"a/cpu.max": "1 0"}, 0),
        ("0::/a\n", {"a/cpu.max": ""}, 0),
        (
            "4:cpu,cpuacct:/a\n3:memory:/a\n",
            {
                "cpu,cpuacct/a/cpu.cfs_quota_us": "300000",
                "cpu,cpuacct/a/cpu.cfs_period_us": "100000",
            },
            3,
        ),
        ("4:cpu:/a\n", {"cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000"}, 0),
        ("4:cpuset:/a\n", {"cpuset/a/cpu.max": "100000 100000"}, 0),
    ],
)
def test_what_control_groups_allow(
    tmp_path: Path, lines: str, files: dict[str, str], quota: float
) -> None:
    lay(tmp_path, proc__self__cgroup=lines)
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert cpu_quota(str(tmp_path)) == quota
