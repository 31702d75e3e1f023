"""A field on several blocks as one object, points beyond edges, netCDF files: what each adds."""

import time

from measure import Case

BLOCKS = (
    "import gridbuf.distributed as gbd\n"
    "grid = gbd.grid(({0}, {1}), blocks=(4, 2), halo=1)\n"
    'T = grid.ones("IJK", sizes={{"K": {2}}})\n'
    "fields = [*T]"
)
EDGES = (
    "import gridbuf.distributed as gbd\n"
    'grid = gbd.grid(({0}, {0}), blocks=(2, 2), periodic="J", halo=2)\n'
    'T = grid.ones("IJK", sizes={{"K": {1}}})\n'
    'rules = {{"I": ("{2}", "{2}")}}\n'
    "plain, edged = grid.plan(T), grid.plan(T, edges=rules)"
)
FILES = (
    "import atexit, os, shutil, tempfile, netCDF4, numpy as np, gridbuf.distributed as gbd\n"
    "grid = gbd.grid((256, 256), blocks=(2, 2), halo=1)\n"
    'T = grid.ones("IJK", sizes={"K": 40})\n'
    "whole = grid.gather(T).numpy()\n"
    "place = tempfile.mkdtemp()\n"
    "atexit.register(shutil.rmtree, place)\n"
    "def alone(name):\n"
    '    with netCDF4.Dataset(f"{place}/{name}", "w") as file:\n'
    '        for dim, n in zip("IJK", whole.shape, strict=True):\n'
    "            file.createDimension(dim, n)\n"
    '        file.createVariable("T", "f8", tuple("IJK"), contiguous=True)[:] = whole\n'
    "def replacing():\n"
    '    alone("c.unfinished")\n'
    '    number = os.open(f"{place}/c.unfinished", os.O_RDONLY)\n'
    "    os.fsync(number)\n"
    "    os.close(number)\n"
    '    os.replace(f"{place}/c.unfinished", f"{place}/c.nc")'
)
CPU = time.process_time

CASES = [
    Case(
        "T + T on 8 blocks / the eight, 8 x 8 x 10 each",
        "T + T",
        "[f + f for f in fields]",
        BLOCKS.format(32, 16, 10),
        1.1,
        clock=CPU,
    ),
    Case(
        "T + T on 8 blocks / the eight, 64 x 64 x 20 each",
        "T + T",
        "[f + f for f in fields]",
        BLOCKS.format(256, 128, 20),
        1.1,
        clock=CPU,
    ),
    *(
        Case(
            f"an exchange with edges={rule!r} / without, {n} x {n} x {k} in 4 blocks",
            "edged(T)",
            "plain(T)",
            EDGES.format(n, k, rule),
            1.2,
            clock=CPU,
        )
        for rule in ("edge", "odd", "linear")
        for n, k in ((64, 20), (256, 40))
    ),
    Case(
        "grid.exchange(T, edges=...) / grid.exchange(T), 64 x 64 x 20 in 4 blocks",
        "grid.exchange(T, edges=rules)",
        "grid.exchange(T)",
        EDGES.format(64, 20, "edge"),
        1.2,
        clock=CPU,
    ),
    *(
        Case(
            f"netCDF by Grid.save / netCDF4 from one array{how}, 21 MB",
            'grid.save(f"{place}/a.nc", T=T)',
            peer,
            FILES,
            0.8,
            faster=True,
            rounds=7,
            number=1,
            minima=True,
            clock=CPU,
        )
        for how, peer in (
            ("", 'alone("b.nc")'),
            (", flushed and renamed", "replacing()"),
        )
    ),
]
