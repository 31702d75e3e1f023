"""How other processes are started with MPI: mpirun's command, and an environment that says nothing
of a job that this one may be in.
"""

import ctypes
import os
import shutil
import subprocess
from importlib.util import find_spec

OF_A_JOB = (
    "OMPI_",
    "PMIX_",
    "PMI_",
    "PRTE_",
    "MPIR_",
    "SLURM_",
    "ALPS_",
)  # a child that had these would join the job of its parent


def environment(**more: str) -> dict[str, str]:
    """This process's, for a child that starts MPI itself or by mpirun, whoever the user is."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OF_A_JOB)}
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


def missing() -> str:
    """What processes would need and is not there; "" where all is."""
    if find_spec("mpi4py") is None:
        return "mpi4py is not installed (pip install mpi4py)"
    if shutil.which("mpirun") is None:
        return "there is no mpirun on PATH (Debian: apt install openmpi-bin)"
    return ""


def command(ranks: int) -> list[str]:
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
