"""Every module is imported alone, and pickles are loaded, by processes that have imported nothing
of gridbuf before.
"""

import multiprocessing
import os
import pickle
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_child import python

import gridbuf as gb
import gridbuf.storage as gs

ROOT = Path(gb.__file__).parent.parent
MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(gb.__path__, "gridbuf.")
    if not m.name.endswith("__main__")
)

# Whoever imports a module has imported its package before. So a process that has imported a
# package, and nothing else of gridbuf, forks a child for each module in it: the interpreter and
# each package start once.
IMPORT = """
import importlib, os, sys
import numpy, numpy.ma
packages, modules = (part.split() for part in sys.argv[1:])
for package in packages:
    try:  # once, and not for each module
        importlib.import_module(package)
    except Exception:
        pass

def visit(name):
    try:
        importlib.import_module(name)
    except ImportError as error:
        # A package that is not installed may be missing; a name or a module of ours may not.
        return 3 if "'gridbuf" in str(error) else 0
    for each in modules:
        if each.rpartition(".")[0] == name:
            child = os.fork()
            if child == 0:
                code = 4
                try:
                    code = visit(each)
                except BaseException:
                    import traceback
                    traceback.print_exc()
                finally:
                    os.write(1, f"{'FAILED' if code else 'imported'} {each}\\n".encode())
                    os._exit(code)
            os.waitpid(child, 0)
    return 0

sys.exit(visit("gridbuf"))
"""


def run(code: str, *args: str) -> str:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return python(code, *args, timeout=240, PYTHONPATH=path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_every_module_can_be_the_first(part: int) -> None:
    heavy = "numba xarray dask.array gt4py.cartesian.gtscript" if part else ""
    own = [
        name
        for name in MODULES
        if name.startswith(("gridbuf.interop", "gridbuf.consumers")) == bool(part)
    ]
    assert len(own) > 20
    assert sorted(run(IMPORT, heavy, " ".join(own)).splitlines()) == [
        f"imported {name}" for name in own
    ]


OBJECTS = {
    "storage": gs.storage(
        np.arange(12.0).reshape(3, 4), axes="KI", defaults="gtmc", device="cpu", halo=(1, (0, 2))
    ),
    "field": gb.Field.from_array(np.arange(12.0).reshape(3, 4), dims="KI", halo=(1, (0, 2))),
    "slice": gs.storage(np.arange(12.0).reshape(3, 4), axes="KI")[1:, ::2],
}


def looked_at(data: bytes) -> tuple[Any, ...]:
    """What a worker sees of a pickle."""
    found = pickle.loads(data)
    return type(found).__name__, np.asarray(found).tolist(), found.halo, found.strides


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickles_load_in_a_fresh_process(protocol: int) -> None:
    data = {name: pickle.dumps(obj, protocol) for name, obj in OBJECTS.items()}
    code = (
        "import pickle, sys\nimport numpy as np\nfor text in sys.argv[1:]:\n    found ="
        " pickle.loads(bytes.fromhex(text))\n    print(type(found).__name__,"
        " np.asarray(found).tolist(), found.halo, found.strides, sep='|')\n"
    )
    lines = run(code, *(each.hex() for each in data.values())).splitlines()
    assert lines == ["|".join(map(str, looked_at(each))) for each in data.values()]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:This process")
def test_storages_go_to_workers_and_back(method: str) -> None:
    s = OBJECTS["storage"]
    with multiprocessing.get_context(method).Pool(1) as pool:
        back = pool.apply_async(np.negative, (s,)).get(60)
        seen = pool.apply_async(pickle.dumps, (s,)).get(60)
    assert (
        type(back) is gs.CPUStorage
        and (back.to_numpy() == -s.to_numpy()).all()
        and back.halo == s.halo
    )
    assert looked_at(seen)[1:] == (s.to_numpy().tolist(), s.halo, s.strides)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_loads_what_was_pickled_before() -> None:
    """The dtype of an unpickled array is not NumPy's own object; it is the same type for all
    that.
    """
    data = [pickle.dumps(obj) for obj in OBJECTS.values()]
    dtype = pickle.loads(pickle.dumps(np.ones(3))).dtype
    gb.zeros((2, 3, 4))
    child = os.fork()
    if child == 0:
        try:
            for each in data:
                pickle.loads(each)
            gb.zeros((2, 3, 4), dtype)
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
