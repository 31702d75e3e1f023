"""Facts about this machine: memory, a C++ compiler, mpirun."""

import ctypes
import os
import shutil
import subprocess
import sysconfig
from importlib.util import find_spec
from pathlib import Path


def meminfo() -> dict[str, int]:
    """/proc/meminfo with sizes in bytes; empty where there is none."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return {}
    words = [line.replace(":", " ").split() for line in lines]
    return {w[0]: int(w[1]) * (1024 if w[-1] == "kB" else 1) for w in words}


def cxx_command() -> str:
    """The command by which gt4py and setuptools compile C++."""
    return (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()[0]


def cxx_compiler() -> str | None:
    """Where that compiler is; None without one."""
    return shutil.which(cxx_command())


# Environment of an MPI job, which a child of a rank must not join
JOB_VARIABLES = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "MPIR_", "SLURM_", "ALPS_")


def mpi_environment(**more: str) -> dict[str, str]:
    """This process's environment without that of its MPI job, for a child that starts MPI
    itself or by mpirun, also as root.
    """
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(JOB_VARIABLES)
    }
    ways = (
        {}
        if _reads_others()
        else {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_smsc": "^cma"}
    )
    return (
        clean | ways | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | more
    )


def _reads_others() -> bool:
    """Whether processes may read each other's memory: Open MPI tries, and where a container refuses
    it prints a line for each message.
    """
    byte = ctypes.create_string_buffer(1)
    part = (ctypes.c_void_p * 2)(ctypes.addressof(byte), 1)
    try:
        return bool(ctypes.CDLL(None).process_vm_readv(os.getpid(), part, 1, part, 1, 0) == 1)
    except AttributeError:
        return True


def missing_for_mpi() -> str:
    """The part that processes need and this machine lacks; "" without one."""
    if find_spec("mpi4py") is None:
        return "mpi4py is not installed (pip install mpi4py)"
    if shutil.which("mpirun") is None:
        return "there is no mpirun on PATH (Debian: apt install openmpi-bin)"
    return ""


def mpirun_command(ranks: int) -> list[str]:
    """mpirun for so many processes, of which there may be more than cores."""
    mpirun = str(shutil.which("mpirun"))
    said = subprocess.run(
        [mpirun, "--version"], capture_output=True, text=True, timeout=30, check=False
    ).stdout
    ours = (
        ["--allow-run-as-root", "--oversubscribe"]
        if "Open MPI" in said or "OpenRTE" in said
        else []
    )
    return [mpirun, *ours, "-n", str(ranks)]
