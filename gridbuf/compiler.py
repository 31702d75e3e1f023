"""The C++ compiler of this machine, which gt4py, DaCe and compiled consumers call."""

import os
import shutil
import sysconfig


def cxx_command() -> str:
    """What gt4py and setuptools would call to compile C++."""
    return (os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++").split()[0]


def cxx_compiler() -> str | None:
    """Where that compiler is; None without one."""
    return shutil.which(cxx_command())
