"""What a fused call does, for a person: print(f.explain(...))."""

from typing import Any

from gridbuf.fusing.segments import Run, Segment


class Explanation:
    """The steps of a call, as a table.

    Attributes
    ----------
    operations, barriers : int
        How many run fused, and how many steps run as they would unfused.
    saved : int
        Bytes of temporaries that do not travel to memory and back.
    room : int
        Bytes of scratch memory that a worker takes.
    """

    def __init__(self, name: str, steps: list[Any], run: Run, kept: bool) -> None:
        segments = [step for step in steps if isinstance(step, Segment)]
        self.operations = sum(len(segment.operations) for segment in segments)
        self.saved = sum(segment.saved(run) for segment in segments)
        self.room = max((segment.room for segment in segments), default=0)
        rows: list[tuple[str, str, str]] = []
        self.barriers = 0
        for step in steps:
            if isinstance(step, Segment):
                rows += _segment(step, run)
                continue
            self.barriers += step.barrier
            what = getattr(step.function, "__name__", repr(step.function))
            rows.append((f"{'barrier' if step.barrier else 'number '}  {what}", "", step.line))
        widths = [max((len(row[k]) for row in rows), default=0) for k in (0, 1)]
        head = (
            f"{name}: {self.operations} operations in {len(segments)} kernels,"
            f" {self.barriers} barriers; {self.saved / 1e6:.1f} MB of temporaries stay in the cache"
        )
        if not kept:
            head += "\nThe function looked at values: it is traced anew at each call."
        lines = (f"{a:{widths[0]}}  {b:{widths[1]}}  {c}".rstrip() for a, b, c in rows)
        self._text = "\n".join((head, *lines))

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


def _segment(segment: Segment, run: Run) -> list[tuple[str, str, str]]:
    frame = run.get(segment.targets[0])
    kernel = (
        f"kernel   {' x '.join(map(str, frame.shape))}, tiles of {segment.tile} elements",
        f"{len(segment.leaves)} operands, {segment.room} bytes of temporaries a worker",
        "",
    )
    rows = [kernel if segment.program is not None else ("unfused: no Go in a forked child", "", "")]
    for operation in segment.operations:
        n = len(operation.inputs)
        types = [str(dtype) for dtype in operation.loop.types]
        rows.append(
            (
                f"  {operation.name}",
                f"{', '.join(types[:n])} -> {', '.join(types[n:])}",
                operation.line,
            )
        )
    return rows
