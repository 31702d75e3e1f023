"""Steps of FV3's dynamical core as PyFV3 has them: unchanged, with glibc's thresholds, on gridbuf's
memory, and with NDSL's halo updates by gridbuf besides. CPU time, page faults, memory, halo time
and bits.

    python pyfv3_step.py path/to/PyFV3 path/to/NDSL --eta path/to/eta79.nc --steps 3 --rounds 2

needs PyFV3 (tried: 144d162, March 2024), the NDSL that PyFV3 pins (tag 2024.03.01), as checkouts or
installed and no path, the file of vertical levels that newer NDSLs have in tests/data/eta, and what
these import: Python 3.11, gt4py 1.0, dace 0.15 or 0.16, NumPy 1.26, mpi4py, xarray, netCDF4,
f90nml, scipy. The case is the baroclinic wave C12 x 79 of PyFV3's tests on six ranks, the backend
`numpy`, without saturation adjustment, whose one stencil takes minutes to be made. The first run
makes the others, in a minute or two.
"""

import argparse
import hashlib
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

WAYS = {
    "unchanged": "as it is",
    "glibc": "MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_",
    "numpy": "gridbuf.interop.numpy.enable()",
    "ndsl": "gridbuf.interop.ndsl.install()",
}
GLIBC = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
LEVELS, CELLS, HALO, SECONDS = 79, 12, 3, 225
NAMELIST = {  # of PyFV3's tests/mpi
    "layout": (1, 1), "npx": CELLS + 1, "npy": CELLS + 1, "npz": LEVELS, "ntiles": 6, "nwat": 6,
    "dt_atmos": SECONDS, "a_imp": 1.0, "beta": 0.0, "consv_te": False, "d2_bg": 0.0,
    "d2_bg_k1": 0.2, "d2_bg_k2": 0.1, "d4_bg": 0.15, "d_con": 1.0, "d_ext": 0.0, "dddmp": 0.5,
    "delt_max": 0.002, "do_sat_adj": False, "do_vort_damp": True, "fill": True, "hord_dp": 6,
    "hord_mt": 6, "hord_tm": 6, "hord_tr": 8, "hord_vt": 6, "hydrostatic": False, "k_split": 1,
    "ke_bg": 0.0, "kord_mt": 9, "kord_tm": -9, "kord_tr": 9, "kord_wz": 9, "n_split": 1, "nord": 3,
    "p_fac": 0.05, "rf_fast": True, "rf_cutoff": 3000.0, "tau": 10.0, "vtdm4": 0.06,
    "z_tracer": True, "do_qa": True,
}  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", nargs="*", type=Path, help="checkouts of PyFV3 and NDSL")
    parser.add_argument("--eta", type=Path, required=True, help="the file of vertical levels")
    parser.add_argument("--steps", type=int, default=3, help="after the first, which is apart")
    parser.add_argument("--rounds", type=int, default=2, help="in turns; the least of them counts")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--mpirun", default="mpirun", help="with its options, but for -n 6")
    parser.add_argument("--cache", type=Path, default=Path("pyfv3_cache"), help="stencils")
    parser.add_argument("--one", choices=[*WAYS, "make"], help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- one run ----


def dycore_of(comm: Any, eta: Path) -> tuple[Any, Any]:
    """The dynamical core and its state, as PyFV3's tests make them."""
    import pyFV3.initialization.test_cases.initialize_baroclinic as baroclinic
    import pyFV3.stencils.remapping
    from ndsl import (
        CompilationConfig,
        CubedSphereCommunicator,
        CubedSpherePartitioner,
        GridIndexing,
        QuantityFactory,
        StencilConfig,
        StencilFactory,
        SubtileGridSizer,
        TilePartitioner,
    )
    from ndsl.grid import DampingCoefficients, GridData, MetricTerms
    from pyFV3 import DynamicalCore, DynamicalCoreConfig

    pyFV3.stencils.remapping.SatAdjust3d = lambda *_: None  # made also where it is not used
    config = DynamicalCoreConfig(**NAMELIST)
    tile = TilePartitioner(config.layout)
    communicator = CubedSphereCommunicator(comm, CubedSpherePartitioner(tile))
    sizer = SubtileGridSizer.from_tile_params(
        nx_tile=CELLS, ny_tile=CELLS, nz=LEVELS, n_halo=HALO, extra_dim_lengths={},
        layout=config.layout, tile_partitioner=tile, tile_rank=communicator.tile.rank,
    )  # fmt: skip
    factory = QuantityFactory.from_backend(sizer=sizer, backend="numpy")
    metric = MetricTerms(quantity_factory=factory, communicator=communicator, eta_file=str(eta))
    grid_data = GridData.new_from_metric_terms(metric)
    state = baroclinic.init_baroclinic_state(
        grid_data=grid_data, quantity_factory=factory, adiabatic=config.adiabatic,
        hydrostatic=config.hydrostatic, moist_phys=config.moist_phys, comm=communicator,
    )  # fmt: skip
    compilation = CompilationConfig(
        communicator=communicator, backend="numpy", rebuild=False, validate_args=True
    )
    dycore = DynamicalCore(
        comm=communicator,
        grid_data=grid_data,
        stencil_factory=StencilFactory(
            config=StencilConfig(compilation_config=compilation),
            grid_indexing=GridIndexing.from_sizer_and_communicator(sizer, communicator),
        ),
        quantity_factory=factory,
        damping_coefficients=DampingCoefficients.new_from_metric_terms(metric),
        config=config,
        phis=state.phis,
        state=state,
        timestep=timedelta(seconds=SECONDS),
    )
    return dycore, state


def time_halos() -> dict[str, float]:
    """CPU seconds in the halo updates of NDSL's updaters and of gridbuf's, counted from now on."""
    import ndsl.halo.updater

    classes = [ndsl.halo.updater.HaloUpdater]
    if "gridbuf.interop.ndsl_halos" in sys.modules:
        classes.append(sys.modules["gridbuf.interop.ndsl_halos"].HaloUpdater)
    spent = {"start": 0.0, "wait": 0.0}
    for updater in classes:
        for name in spent:
            setattr(updater, name, timed(getattr(updater, name), spent, name))
    return spent


def timed(method: Any, spent: dict[str, float], name: str) -> Any:
    def run(*args: Any, **keywords: Any) -> Any:
        before = time.process_time()
        try:
            return method(*args, **keywords)
        finally:
            spent[name] += time.process_time() - before

    return run


def digests(state: Any) -> dict[str, str]:
    """A digest of the bits of each field, halo included."""
    found = {}
    for name, quantity in sorted(vars(state).items()):
        data = getattr(quantity, "data", None)
        if isinstance(data, np.ndarray):
            found[name] = hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()
    return found


def run(given: argparse.Namespace) -> None:
    """One run: its figures go to the standard output of rank 0, as JSON."""
    from mpi4py import MPI

    sys.path[:0] = [str(path.resolve()) for path in given.checkout]

    warnings.simplefilter("ignore")
    if given.one == "numpy":
        import gridbuf.interop.numpy

        gridbuf.interop.numpy.enable()
    if given.one == "ndsl":
        import gridbuf.interop.ndsl

        gridbuf.interop.ndsl.install()
    from ndsl import MPIComm, NullComm

    if given.one == "make":
        dycore_of(NullComm(0, 6), given.eta)
        return
    world = MPI.COMM_WORLD
    dycore, state = dycore_of(MPIComm(), given.eta)
    spent = time_halos()
    bits, rows = [world.gather(digests(state))], []
    for _ in range(given.steps + 1):
        world.Barrier()
        for name in spent:
            spent[name] = 0.0
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.process_time()
        dycore.step_dynamics(state)
        seconds, after = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF)
        row = (
            seconds,
            after.ru_stime - before.ru_stime,
            after.ru_minflt - before.ru_minflt,
            spent["start"],
            spent["wait"],
        )
        rows.append((world.allreduce(np.array(row)) / world.size).tolist())
        bits.append(world.gather(digests(state)))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    memory = world.allreduce(memory) / world.size
    if world.rank == 0:
        print("RESULT", json.dumps({"rows": rows, "bits": bits, "memory": memory}), flush=True)


# ---- the comparison ----


def child(given: argparse.Namespace, way: str) -> dict[str, Any]:
    """One run in processes of its own."""
    environment = {**os.environ, "GT_CACHE_DIR_NAME": "cache"}
    environment["GT_CACHE_ROOT"] = str(given.cache.resolve())
    if way == "glibc":
        environment |= GLIBC
    command = [] if way == "make" else [*shlex.split(given.mpirun), "-n", "6"]
    command += [sys.executable, str(Path(__file__).resolve())]
    command += [
        *(str(path.resolve()) for path in given.checkout),
        "--eta",
        str(given.eta.resolve()),
        "--one",
        way,
    ]
    command += ["--steps", str(given.steps)]
    given.cache.mkdir(exist_ok=True)
    with tempfile.TemporaryFile("w+") as output:
        status = subprocess.run(command, env=environment, stdout=output, cwd=given.cache).returncode
        output.seek(0)
        text = output.read()
    if status:
        raise SystemExit(f"{way}: it ended with {status}; its output was\n{text[-2000:]}")
    found = [line for line in text.splitlines() if line.startswith("RESULT ")]
    return json.loads(found[0][7:]) if found else {}


def differing(one: Any, other: Any) -> int:
    """How many fields of all ranks and steps differ in a bit."""
    return sum(
        digest != second[name]
        for first_ranks, second_ranks in zip(one, other, strict=True)
        for first, second in zip(first_ranks, second_ranks, strict=True)
        for name, digest in first.items()
    )


def line(way: str, runs: list[dict[str, Any]], first: Any) -> str:
    """What the runs of a way took: the least of all steps but the first of each."""
    rows = np.array([row for each in runs for row in each["rows"][1:]])
    step, system, faults, start, wait = rows.min(axis=0)
    bits = [differing(first, each["bits"]) for each in runs]
    count = sum(len(fields) for step_ in first for fields in step_)
    return (
        f"{way:9} {step:6.3f} s ({system:.3f} of the system; at most {rows[:, 0].max():.3f}),"
        f" {faults:8.0f} page faults, halos {start * 1e3:.1f} + {wait * 1e3:.1f} ms,"
        f" {runs[0]['memory']:.0f} MB; of {count} fields {bits} have other bits than the first run"
        f" ({WAYS[way]})"
    )


def main() -> None:
    given = arguments()
    if given.one:
        run(given)
        return
    child(given, "make")
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in given.ways}
    for _ in range(given.rounds):
        for way in given.ways:
            found[way].append(child(given, way))
            first = found[given.ways[0]][0]["bits"]
            print(line(way, found[way][-1:], first), file=sys.stderr, flush=True)
    print(f"C{CELLS} x {LEVELS}, six ranks, CPU time of a rank and step; the least of all steps")
    for way, runs in found.items():
        print(line(way, runs, first))


if __name__ == "__main__":
    main()
