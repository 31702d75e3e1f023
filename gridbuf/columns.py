"""Tables of plain text."""

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], right: bool = False) -> list[str]:
    """A line for each row, whose words stand below those of the row above: left of their columns,
    or right.
    """
    widths = [max(map(len, words)) for words in zip(*rows, strict=True)]
    put = str.rjust if right else str.ljust
    return ["  ".join(map(put, row, widths)).rstrip() for row in rows]
