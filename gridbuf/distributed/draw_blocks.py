"""The blocks of a grid as a picture of characters: the first dim to the right, the second upwards,
in each block its rank.
"""

from collections.abc import Iterable, Sequence

from gridbuf.distributed.geometry.blocks import Block

WIDE, ROWS, FEW = (
    100,
    16,
    5,
)  # characters across; rows of blocks up to which all are drawn, and so many of more
GAP = "..."
CUBE = (
    (0, 0),
    (1, 0),
    (1, 1),
    (2, 1),
    (2, 2),
    (3, 2),
)  # six tiles as stairs: neighbours here meet with their axes agreeing


def picture(blocks: Iterable[Block], dims: Sequence[str], tiles: int = 1) -> str:
    """Blocks beside one another as they lie in their tiles, and their sizes at the edges.

    Parameters
    ----------
    blocks : iterable of Block
        All of them.
    dims : sequence of str
        What the axes are called. Of a third one the first layer is drawn.
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
    columns = shown(many[0], max(4, (WIDE // across - 4) // (max(label, 3) + 3)))
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
