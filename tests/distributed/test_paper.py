"""A distributed run on paper: its figures are those of the plans that the run would make, and the
command says what it is told wrong.
"""

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from played import Played

import gridbuf as gb
import gridbuf.distributed as gbd
from gridbuf import paper
from gridbuf.cli import main
from gridbuf.distributed import factories
from gridbuf.distributed.drawing import picture
from gridbuf.distributed.geometry.blocks import Block, Decomposition
from gridbuf.distributed.geometry.linking import LinkBuilder
from gridbuf.paper import report


def run_of(words: str) -> tuple[report.Run, Any]:
    """What the command reads, and its arguments."""
    from gridbuf.cli import _parser

    arguments = _parser()[0].parse_args(["distributed", *words.split()])
    return paper.read(arguments)[0], arguments


CASES = [
    (
        "29 17 --ranks 6 --levels 5 --fields 2 --halo 1:2 3 --dtype float32",
        "grid",
        ((29, 17),),
        {"halo": ((1, 2), 3)},
    ),
    ("29 17 --ranks 60 --periodic I --halo 2", "grid", ((29, 17),), {"halo": 2, "periodic": "I"}),
    (
        "12 --ranks 5 --periodic K --dims K --halo 2",
        "grid",
        ((12,), "K"),
        {"halo": 2, "periodic": "K"},
    ),
    ("9 8 7 --ranks 12", "grid", ((9, 8, 7), "IJK"), {"halo": 1}),
    (
        "7 --cubed-sphere --ranks 54 --halo 2 --levels 3",
        "cubed_sphere",
        (7,),
        {"halo": 2, "blocks": (3, 3)},
    ),
    ("6 --cubed-sphere --ranks 4 --halo 1", "cubed_sphere", (6,), {"halo": 1, "blocks": (1, 1)}),
    (
        "12 9 --tripolar --ranks 6 --halo 2 --blocks 3 2",
        "tripolar",
        ((12, 9),),
        {"halo": 2, "blocks": (3, 2)},
    ),
    (
        "12 9 --tripolar F --ranks 3 --halo 2 --blocks 1 3",
        "tripolar",
        ((12, 9),),
        {"halo": 2, "blocks": (1, 3), "pivot": "F"},
    ),
    (
        "4 4 --ranks 3 --blocks 2 2 --periodic IJ --halo 3",
        "grid",
        ((4, 4),),
        {"halo": 3, "blocks": (2, 2), "periodic": "IJ"},
    ),
]


@pytest.mark.parametrize(
    ("words", "kind", "args", "keywords"), CASES, ids=[case[0] for case in CASES]
)
def test_figures_are_those_of_the_plans(
    words: str, kind: str, args: Any, keywords: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, arguments = run_of(words)
    counts = report.chosen(run) if arguments.blocks is None else tuple(arguments.blocks)
    own = report.figures(run, counts)
    received, copied, messages, memory, points, surface = [], [], [], [], [], []
    for rank in range(run.ranks):
        monkeypatch.setattr(factories, "engine_of", lambda *_, rank=rank: Played(rank, run.ranks))
        grid = getattr(gbd, kind)(*args, **keywords)
        dims = "".join(grid.dims) + ("K" if run.levels else "")
        fields = [
            grid.zeros(dims, run.dtype, sizes={"K": run.levels or 0}) for _ in range(run.fields)
        ]
        plan = grid.plan(*fields)
        received.append(sum(m.payload for m in plan.receives.values()))
        copied.append(sum(prod(shape) * dtype.itemsize for *_, shape, dtype, _ in plan.copies))
        messages.append(len(plan.receives))
        flat = [
            f for field in fields for f in ([field] if isinstance(field, gb.Field) else [*field])
        ]
        memory.append(sum(gb.Plan.of(f).nbytes for f in flat))
        points.append(
            sum(
                prod(b - a for a, b in zip(block.start, block.stop, strict=True))
                for block in grid.blocks
            )
        )
        per_point = run.fields * (run.levels or 1) * run.dtype.itemsize
        surface.append((received[-1] + copied[-1]) / per_point / points[-1] if points[-1] else 0.0)
    assert counts == grid._decomposition.counts[0]
    assert (own.received, own.copied, own.messages) == (max(received), max(copied), max(messages))
    assert own.points == (min(points), np.mean(points), max(points)) and own.idle == points.count(0)
    assert own.surface == pytest.approx(max(surface))
    # With what alignment takes
    assert max(memory) <= own.memory <= max(memory) * 1.5 + 4096 * run.fields * 6
    assert f"gbd.{kind}(" in report.program(run, own)


def test_what_is_said_to_make_the_grid_makes_it() -> None:
    for words in (
        "8 6 --ranks 4",
        "8 6 --ranks 2 --periodic J --halo 1:2 0",
        "8 6 --ranks 2 --tripolar F",
        "4 --cubed-sphere --ranks 6",
        "9 --dims K --ranks 3",
    ):
        run, _ = run_of(words)
        own = report.figures(run, report.chosen(run))
        grid = eval(
            report.program(run, own).replace("comm=MPI.COMM_WORLD", "comm=None"), {"gbd": gbd}
        )
        assert (grid.tiles, grid.dims, grid.halo) == (
            run.topology.tiles,
            run.topology.names,
            run.halo,
        )
        assert grid._planner.builder.whole.seams == run.topology.seams
        assert grid._decomposition.counts[0] == own.counts


def output(capsys: pytest.CaptureFixture[str], words: str) -> tuple[int, str, str]:
    try:
        status = main(["distributed", *words.split()])
    except SystemExit as end:
        status = int(end.code or 0)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_whole_report(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = output(
        capsys,
        "20 20 --ranks 4 --levels 10 --halo 2 --fields 3 --dtype float32 --periodic I --blocks 2 2"
        " --copying 10 --latency 1 --bandwidth 1 --cuts 2",
    )
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert (
        lines[0]
        == "IJ: 20 x 20, 10 levels, periodic along I, halo 2 2; 3 fields of float32 on 4 ranks"
    )
    said = {line[:14].strip(): line[14:] for line in lines[2:12]}
    assert said["cut"] == "2 x 2 blocks, 4 in all, one a rank"
    assert said["blocks"] == "10 x 10 points, all alike"
    assert said["load"].startswith("1.000 times the mean")
    # beside: 2 sides x 2 x 10; above or below: 10 x 2; corners: 2 x 2 x 2; 10 levels, 3 fields, 4
    # bytes
    assert (
        said["exchange"] == f"{(40 + 20 + 8) * 120:,} B in 3 messages, on the rank that gets most"
    )
    assert said["neighbours"] == "3 of rank 0: 1 2 3"
    assert (
        said["surface"]
        == "68.0 halo points are filled for 100 own points, on the rank where they are most"
    )
    assert said["time"].startswith(
        "12.8 us an exchange: 1.6 us for copies at 10.0 GB/s, 11.2 us for messages of 1 us at 1"
        " GB/s"
    )
    assert (
        said["program"]
        == "gbd.grid((20, 20), periodic='I', blocks=(2, 2), halo=2, comm=MPI.COMM_WORLD)"
    )
    assert [
        line.split()[:4] for line in lines[lines.index("cuts") + 2 : lines.index("cuts") + 4]
    ] == [
        [">", "2", "x", "2"],  # 12.8 us
        ["4", "x", "1", "5"],  # 2 messages of 40 points: 13.5 us
    ]
    assert "  and 1 more" in lines
    assert lines[lines.index("ranks") + 1 :] == [
        "  +-----+-----+",
        "  |  1  |  3  |",
        "  +-----+-----+",
        "  |  0  |  2  |",
        "  +-----+-----+",
        "  I to the right, in blocks of 10 10",
        "  J upwards, in blocks of 10 10",
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("8 8 --ranks 3 --blocks 2 1", "1 rank without a point"),
        ("8 8 --ranks 2 --blocks 4 4", "16 in all, 8 a rank"),
        ("8 8 --ranks 4 --halo 6", "the next but one sends too"),
        ("8 8 --ranks 4 --halo 6", "wider than a block"),
        ("8 8 --ranks 1", "none"),
        ("8 8 --ranks 1 --periodic IJ", "copied within a rank"),
        ("8 8 --ranks 4 --backend gt:cpu_ifirst", "float64 for gt:cpu_ifirst"),
        ("8 8 --ranks 4 --dims JK --levels 3", "JK: 8 x 8, 3 levels"),
        ("6 6 --cubed-sphere --ranks 6", "6 tiles of 6 x 6, cubed sphere"),
        ("6 --cubed-sphere --ranks 6", "tile 5"),
        ("6 4 --tripolar --ranks 2", "tripolar, pivot T"),
        ("7 --ranks 3", "blocks      2 to 3 points"),
        ("7 7 --ranks 3 --blocks 3 2", "3 x 2 blocks, 6 in all, 2 a rank"),
    ],
)  # fmt: skip
def test_options_are_heard(capsys: pytest.CaptureFixture[str], words: str, says: str) -> None:
    status, out, err = output(capsys, words)
    assert (status, err) == (0, "") and says in out, out


def test_other_cuts_are_compared_where_there_are_some(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\ncuts\n" in output(capsys, "8 8 --ranks 4")[1]
    for words in ("8 8 --ranks 4 --cuts 0", "8 8 --ranks 1", "8 --ranks 4"):
        assert "\ncuts\n" not in output(capsys, words)[1]


def test_padding_counts(capsys: pytest.CaptureFixture[str]) -> None:
    plain, padded = (
        report.figures(run_of(f"65 64 --ranks 1 --levels 8 --backend {name}")[0], (1, 1))
        for name in ("C", "gtmc")
    )
    assert plain.memory != padded.memory and plain.received == padded.received


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("8 8", "--ranks"),
        ("--ranks 2", "shape"),
        ("8 8 --ranks 99999999999999999999",
        "--ranks: 99,999,999,999,999,999,999 are more than the 1,000,000"),
        ("8 8 --ranks 2 --blocks 100000 100000",
        "--blocks: 10,000,000,000 are more than the 1,000,000"),
        ("99999999999999999999 3 --ranks 2",
        "shape: 99999999999999999999 3; its points are more than"),
        ("8 8 --ranks 0", "'0' is not a whole number above 0"),
        ("8 8 --ranks -1", "--ranks"),
        ("8 x --ranks 2", "'x' is not a whole number above 0"),
        ("8 0 --ranks 2", "'0' is not a whole number above 0"),
        ("8 8 --ranks 2 --halo 1 2 3", "halo: 3 entries"),
        ("8 8 --ranks 2 --halo 1:x", "'1:x' is not a number or a LOW:HIGH pair"),
        ("8 8 --ranks 2 --halo=-1", "'-1' is not a number or a LOW:HIGH pair"),
        ("8 8 --ranks 2 --fields 0", "'0' is not a whole number above 0"),
        ("8 8 --ranks 2 --levels 2.5", "'2.5' is not a whole number above 0"),
        ("8 8 8 --ranks 2 --levels 2", "--levels: all three indices are cut"),
        ("8 8 8 8 --ranks 2", "shape: 4 numbers"),
        ("8 8 --ranks 2 --dtype float65", "--dtype: "),
        ("8 8 --ranks 2 --backend none-such", "backend"),
        ("8 8 --ranks 2 --dims IX", "dims: "),
        ("8 8 --ranks 2 --dims I", "dims: ('I',) names 1 indices, the shape has 2"),
        ("8 8 --ranks 2 --periodic K", "periodic: 'K' is not among"),
        ("8 8 --ranks 2 --blocks 2", "--blocks: 1 numbers, the grid has 2 indices"),
        ("8 9 --ranks 2 --cubed-sphere", "shape: 8 9; a cubed sphere"),
        ("3 --ranks 6 --cubed-sphere --halo 4", "halo: its halo of 4 points"),
        ("9 8 --ranks 2 --tripolar", "shape: 9 8; a tripolar grid has two numbers, the first even"),
        ("8 --ranks 2 --tripolar", "shape: 8; a tripolar grid"),
        ("8 8 --ranks 2 --tripolar X", "--tripolar"),
        ("8 8 --ranks 2 --tripolar --periodic I", "not allowed with"),
        ("8 8 --ranks 2 --latency -1", "--latency"),
        ("8 8 --ranks 2 --latency soon", "'soon' is not a number"),
        ("8 8 --ranks 2 --bandwidth 0", "'0' moves nothing"),
        ("8 8 --ranks 2 --copying nan", "'nan' is not a number of at least 0"),
        ("8 8 --ranks 2 --cuts -1", "--cuts"),
        ("8 8 --ranks 2 --draw /no/such/folder/x.svg", "--draw: "),
        ("100 100 --ranks 4100 --blocks 82 50 --draw x.svg", "--draw: 4100 blocks are more than"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(
    capsys: pytest.CaptureFixture[str], words: str, says: str
) -> None:
    status, _, err = output(capsys, words)
    assert status == 2 and says in err, err
    assert "Traceback" not in err


def test_a_picture_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert output(capsys, f"8 6 --ranks 4 --draw {tmp_path / 'blocks.svg'}")[0] == 0
    text = (tmp_path / "blocks.svg").read_text()
    assert text.startswith("<svg") and text.count("<rect") == 4 + 1 and "stroke-dasharray" in text


def test_ten_thousand_ranks_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    filling = LinkBuilder.filling
    monkeypatch.setattr(
        LinkBuilder, "filling", lambda self, *args: asked.append(1) or filling(self, *args)
    )
    run, _ = run_of("1003 1001 --ranks 10000 --periodic I --halo 3")
    own = report.figures(run, report.chosen(run))
    assert len(asked) <= 36 and own.decomposition.number_of_blocks == 10000 and own.messages == 8


# ---- pictures ----


def blocks(decomposition: Decomposition) -> list[Block]:
    return [decomposition.block(number) for number in range(decomposition.number_of_blocks)]


def test_pictures_of_tiles_land_and_many_blocks() -> None:
    land = gbd.grid((4, 2), blocks=(2, 1), owners=(0, None))
    assert picture(land.all_blocks(), "IJ").splitlines()[1] == "|  0   | land |"
    cube = picture(gbd.cubed_sphere(2).all_blocks(), "IJ", 6).splitlines()
    where = {
        tile: next(
            (y, line.index(f"tile {tile}")) for y, line in enumerate(cube) if f"tile {tile}" in line
        )
        for tile in range(6)
    }
    # East of an even one
    assert [
        where[t][0] == where[t + 1][0] and where[t][1] < where[t + 1][1] for t in (0, 2, 4)
    ] == [True] * 3
    # North of an odd one
    assert [where[t][1] == where[t + 1][1] and where[t][0] > where[t + 1][0] for t in (1, 3)] == [
        True
    ] * 2
    many = picture(
        blocks(
            report.figures(run_of("600 500 --ranks 3000 --blocks 60 50")[0], (60, 50)).decomposition
        ),
        "IJ",
    )
    assert (
        "..." in many
        and "2999" in many
        and max(map(len, many.splitlines())) <= 100
        and many.count("\n") < 20
    )
    line = picture(gbd.grid((5,), "K", blocks=(2,)).all_blocks(), "K")
    assert line.splitlines() == [
        "+-----+-----+",
        "|  0  |  0  |",
        "+-----+-----+",
        "K to the right, in blocks of 3 2",
    ]
    tiles = picture(gbd.topology([(2, 2), (2, 2)], []).all_blocks(), "IJ", 2)
    assert tiles.index("tile 1") < tiles.index("tile 0")
