"""Pictures of a grid: as SVG, with blocks in the colours of their ranks and the halos of this
rank's blocks as dashes; as text; and as a picture of characters, the first dim to the right, the
second upwards.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from gridbuf.distributed.geometry.blocks import Block, Decomposition
from gridbuf.distributed.geometry.tiles import Topology
from gridbuf.names import joined

WIDE = 640.0  # of the picture
MOST = 4096  # blocks that are drawn


class Drawing(NamedTuple):
    """A grid as text and as a picture.

    Attributes
    ----------
    text : str
        For a terminal.
    svg : str
        The source of an SVG picture, which a notebook shows.
    """

    text: str
    svg: str

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.svg


def draw(grid: Any) -> Drawing:
    if sum(1 for _ in zip(grid.all_blocks(), range(MOST + 1), strict=False)) > MOST:
        raise ValueError(f"grid: it has more than {MOST} blocks, too many for a picture")
    return Drawing(text(grid), svg(grid))


def head(grid: Any) -> str:
    blocks = sum(1 for _ in grid.all_blocks())
    shape = " x ".join(map(str, grid.shape))
    tiles = f"{len(grid.tiles)} tiles of " if len(grid.tiles) > 1 else ""
    halo = " ".join(str(low) if low == high else f"{low}/{high}" for low, high in grid.halo)
    ranks = f"{grid.size} rank{'s' if grid.size > 1 else ''}"
    return (
        f"{joined(grid.dims)}: {tiles}{shape} in {blocks} blocks on {ranks}, halo {halo}; this is"
        f" rank {grid.rank}"
    )


def text(grid: Any) -> str:
    """A line for each row of blocks along the first dim: the rank of each, this one's in brackets,
    a dot for land.
    """
    lines, row = [head(grid)], None
    for block in grid.all_blocks():
        if (block.tile, block.index[:-1]) != row:
            row = block.tile, block.index[:-1]
            where = " ".join(
                f"{d} {start}:{stop}"
                for d, start, stop in zip(
                    grid.dims, block.start[:-1], block.stop[:-1], strict=False
                )
            )
            tile = f"tile {block.tile} " if len(grid.tiles) > 1 else ""
            lines.append(f"  {tile}{where:<8}")
        cell = (
            "."
            if block.rank is None
            else f"[{block.rank}]"
            if block.rank == grid.rank
            else str(block.rank)
        )
        lines[-1] += f" {cell:^4}"
    return "\n".join(line.rstrip() for line in lines)


def color(rank: int) -> str:
    return (  # neighbours in number are far apart in colour
        f"hsl({rank * 137.508 % 360:.0f} 55% 60%)"
    )


def svg(grid: Any) -> str:
    """The first dim to the right, the second upwards."""
    from html import escape  # a table of all entities

    shapes = [(*shape, 1)[:2] for shape in grid.tiles]
    gap = max(max(n for n, _ in shapes) * 0.15, sum(grid.halo[0]) + 1.0)
    scale = WIDE / (sum(n + gap for n, _ in shapes) + gap)
    height = (max(n for _, n in shapes) + 2 * gap) * scale + 24
    base = height - gap * scale
    parts = [f'<text x="8" y="16">{escape(head(grid))}</text>']
    left, lefts = gap, []
    for n, _ in shapes:
        lefts.append(left)
        left += n + gap
    for block in grid.all_blocks():
        (i, k), (stop, end) = (*block.start, 0)[:2], (*block.stop, 1)[:2]
        fill = "none" if block.rank is None else color(block.rank)
        box, style = (lefts[block.tile] + i, end, stop - i, end - k), 'stroke="currentColor"'
        parts.append(_rectangle(*box, scale, base, f'fill="{fill}" {style}'))
        x = (lefts[block.tile] + (i + stop) / 2) * scale
        y = base - (k + end) / 2 * scale + 4
        parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}"'
            f' text-anchor="middle">{"land" if block.rank is None else block.rank}</text>'
        )
    for block in grid.blocks:
        (low, high), (below, above) = (*grid.halo, (0, 0))[:2]
        (i, k), (stop, end) = (*block.start, 0)[:2], (*block.stop, 1)[:2]
        style = 'fill="none" stroke="currentColor" stroke-dasharray="4 3"'
        left, top = lefts[block.tile] + i - low, end + above
        size = stop - i + low + high, end - k + below + above
        parts.append(_rectangle(left, top, *size, scale, base, style))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:.0f} {height:.0f}"'
        f' style="width:100%;max-width:{WIDE:.0f}px;height:auto" font-family="system-ui,sans-serif"'
        f' font-size="12" fill="currentColor" role="img">{"".join(parts)}</svg>'
    )


class OnPaper(NamedTuple):
    """The attributes of a grid that a picture needs."""

    tiles: tuple[tuple[int, ...], ...]
    dims: tuple[str, ...]
    halo: tuple[tuple[int, int], ...]
    decomposition: Decomposition
    rank: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tiles[0]

    @property
    def size(self) -> int:
        return self.decomposition.size

    @property
    def blocks(self) -> list[Block]:
        return self.decomposition.blocks_of(self.rank)

    def all_blocks(self) -> Iterator[Block]:
        return self.decomposition.blocks()


def paper(topology: Topology, decomposition: Decomposition, halo: Any) -> str:
    """The picture of a grid on paper."""
    return svg(OnPaper(topology.tiles, topology.names, halo, decomposition))


def _rectangle(
    x: float, top: float, width: float, height: float, scale: float, base: float, style: str
) -> str:
    return (
        f'<rect x="{x * scale:.1f}" y="{base - top * scale:.1f}" width="{width * scale:.1f}"'
        f' height="{height * scale:.1f}" {style}/>'
    )


# Characters across; rows of blocks that are drawn in full; rows drawn of a larger cut
ACROSS, ROWS, FEW = 100, 16, 5
GAP = "..."
# Six tiles as stairs: neighbours here meet with their axes agreeing
CUBE = ((0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2))


def picture(blocks: Iterable[Block], dims: Sequence[str], tiles: int = 1) -> str:
    """Blocks beside one another as they lie in their tiles, and their sizes at the edges.

    Parameters
    ----------
    blocks : iterable of Block
        All of them.
    dims : sequence of str
        The names of the axes. Of a third one the first layer is drawn.
    tiles : int
        How many there are; six lie as the sides of a cube do.

    Returns
    -------
    str
        Lines of characters. Where there are too many blocks those in the middle are left out.
    """
    stairs = CUBE if tiles == 6 else tuple((0, tile) for tile in range(tiles))
    parts: dict[int, dict[tuple[int, int], Block]] = {}
    for block in blocks:
        if not any(block.index[2:]):
            i, j = (*block.index, 0)[:2]
            parts.setdefault(block.tile, {})[i, j] = block
    label = max(len(name(block)) for part in parts.values() for block in part.values())
    many = [max(index[axis] for part in parts.values() for index in part) + 1 for axis in range(2)]
    across = max(x for x, _ in stairs) + 1
    up = max(y for _, y in stairs) + 1
    columns = shown(many[0], max(4, (ACROSS // across - 4) // (max(label, 3) + 3)))
    rows = shown(many[1], ROWS if len(columns) == many[0] and many[1] <= ROWS // up else FEW)
    cells = {tile: _tile(part, columns, rows, max(label, 3)) for tile, part in parts.items()}
    wide, high = len(cells[0][0]), len(cells[0])
    lines: list[str] = []
    for y in range(up - 1, -1, -1):
        its = {stairs[tile][0]: tile for tile in cells if stairs[tile][1] == y}
        if tiles > 1:
            lines.append(
                "  ".join(
                    f"tile {its[x]}".ljust(wide) if x in its else " " * wide for x in range(across)
                )
            )
        for row in range(high):
            lines.append(
                "  ".join(cells[its[x]][row] if x in its else " " * wide for x in range(across))
            )
    return "\n".join([*(line.rstrip() for line in lines), *_sizes(parts[0], dims, columns, rows)])


def name(block: Block) -> str:
    return "land" if block.rank is None else str(block.rank)


def shown(count: int, most: int) -> list[int | None]:
    """Which of so many are drawn; None stands for those left out."""
    if count <= most:
        return list(range(count))
    return [*range(most - 2), None, count - 1]


def _tile(
    part: dict[tuple[int, int], Block],
    columns: Sequence[int | None],
    rows: Sequence[int | None],
    label: int,
) -> list[str]:
    rule = "+" + "+".join("-" * (label + 2) for _ in columns) + "+"
    lines = [rule]
    for j in reversed(rows):
        words = []
        for i in columns:
            block = None if i is None or j is None else part.get((i, j))
            words.append(f" {(GAP if block is None else name(block)).center(label)} ")
        lines += ["|" + "|".join(words) + "|", rule]
    return lines


def _sizes(
    part: dict[tuple[int, int], Block],
    dims: Sequence[str],
    columns: Sequence[int | None],
    rows: Sequence[int | None],
) -> list[str]:
    """How many points the blocks drawn have, from the left and from below."""
    lines = []
    for axis, drawn, way in ((0, columns, "to the right"), (1, rows, "upwards")):
        if axis < len(dims):
            sizes = []
            for k in drawn:
                block = None if k is None else part[(k, 0) if axis == 0 else (0, k)]
                sizes.append(GAP if block is None else str(block.shape[axis]))
            lines.append(f"{dims[axis]} {way}, in blocks of {' '.join(sizes)}")
    return lines
