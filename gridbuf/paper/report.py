"""The figures of a run in words: the cut, what an exchange costs, other cuts, and a picture."""

from collections.abc import Iterator

from gridbuf.common import columns
from gridbuf.distributed.draw_blocks import picture
from gridbuf.explain import nbytes_text
from gridbuf.paper.figures import Figures, Network, Run


def times(numbers: tuple[int, ...]) -> str:
    return " x ".join(map(str, numbers))


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def widths(run: Run) -> str:
    return " ".join(str(low) if low == high else f"{low}:{high}" for low, high in run.halo)


def seconds_text(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def head(run: Run, kind: str) -> str:
    tiles = run.topology.tiles
    shape = f"{len(tiles)} tiles of {times(tiles[0])}" if len(tiles) > 1 else times(tiles[0])
    levels = "" if run.levels is None else f", {run.levels} levels"
    fields = f"{plural(run.fields, 'field')} of {run.dtype}"
    backend = f" for {run.backend}" if run.backend else ""
    return (
        f"{''.join(run.topology.names)}: {shape}{levels}, {kind}, halo {widths(run)};"
        f" {fields}{backend} on {plural(run.ranks, 'rank')}"
    )


def lines(run: Run, own: Figures, network: Network) -> Iterator[tuple[str, str]]:
    """(what, how much) of a cut."""
    tiles, total = len(run.topology.tiles), own.decomposition.number_of_blocks
    of_each = " of each tile" if tiles > 1 else ""
    few, many = total // run.ranks, -(-total // run.ranks)
    per_rank = (
        "one a rank"
        if total == run.ranks
        else f"{few} a rank"
        if few == many
        else f"{few} to {many} a rank"
    )
    yield (
        "cut",
        (
            f"{times(own.counts)}"
            f" blocks{of_each}{f', {total} in all' if total != own.counts[0] else ''}, {per_rank}"
        ),
    )
    if own.idle:
        yield "", f"{plural(own.idle, 'rank')} without a point: fewer do the same"
    same = own.smallest == own.largest
    yield (
        "blocks",
        (
            f"{times(own.largest)} points, all alike"
            if same
            else f"{times(own.smallest)} to {times(own.largest)} points"
        ),
    )
    least, mean, most = own.points
    yield (
        "load",
        (
            f"{most / mean:.3f} times the mean on the rank with most ({least:,} to {most:,} points"
            " of a level)"
        ),
    )
    if any(low > n or high > n for n, (low, high) in zip(own.smallest, run.halo, strict=True)):
        yield "", "the halo is wider than a block: the next but one sends too"
    yield (
        "exchange",
        (
            f"{nbytes_text(own.received)} in {plural(own.messages, 'message')}, on the rank that"
            " gets most"
        ),
    )
    if own.copied:
        yield "", f"and {nbytes_text(own.copied)} copied within a rank"
    yield (
        "neighbours",
        (
            f"{own.messages} of rank {own.busiest}: {' '.join(map(str, own.peers))}"
            if own.peers
            else "none"
        ),
    )
    yield (
        "surface",
        (
            f"{100 * own.surface:.1f} halo points are filled for 100 own points, on the rank where"
            " they are most"
        ),
    )
    yield "memory", f"{nbytes_text(own.memory)} a rank for these fields, halos and padding included"
    moved = 2 * own.received + own.copied
    yield (
        "time",
        (
            f"{seconds_text(own.seconds(network))} an exchange:"
            f" {seconds_text(moved / network.copying)} for copies at {network.copying / 1e9:.1f}"
            " GB/s,"
            f" {seconds_text(own.messages * network.latency + own.received / network.bandwidth)}"
            f" for messages of {network.latency * 1e6:g} us at {network.bandwidth / 1e9:g} GB/s"
        ),
    )


def table(
    run: Run, own: Figures, cuts: list[Figures], network: Network, most: int
) -> Iterator[str]:
    """Other cuts, those that take least time first; this one is marked."""
    ranked = sorted(cuts, key=lambda each: (each.idle > 0, each.seconds(network)))
    drawn = ranked[:most]
    if own.counts not in [each.counts for each in drawn]:
        drawn = [
            *drawn[: most - 1],
            next((each for each in ranked if each.counts == own.counts), own),
        ]
    rows = [("", "cut", "largest block", "load", "bytes a rank", "messages", "time")]
    for each in drawn:
        mark = ">" if each.counts == own.counts else ""
        load = f"{each.points[2] / each.points[1]:.3f}"
        estimate = seconds_text(each.seconds(network)) if not each.idle else f"{each.idle} idle"
        rows.append(
            (
                mark,
                times(each.counts),
                times(each.largest),
                load,
                nbytes_text(each.received),
                str(each.messages),
                estimate,
            )
        )
    yield from (f"  {line}" for line in columns(rows, right=True))
    if len(ranked) > len(drawn):
        yield f"  and {len(ranked) - len(drawn)} more"


def program(run: Run, own: Figures) -> str:
    """What makes this grid."""
    tiles = run.topology.tiles
    halo = run.halo[0][0] if len({n for pair in run.halo for n in pair}) == 1 else run.halo
    given = [str(tiles[0][0])] if len(tiles) == 6 else [str(tiles[0])]
    given += (
        []
        if run.topology.names == tuple("IJK"[: run.topology.ndim])
        else [repr("".join(run.topology.names))]
    )
    name = "cubed_sphere" if len(tiles) == 6 else "grid"
    if run.pivot:
        name, given = "tripolar", [*given, f"pivot={run.pivot!r}"]
    elif any(run.periodic):
        given.append(
            f"periodic={''.join(n for n, yes in zip(run.topology.names, run.periodic, strict=True) if yes)!r}"
        )
    return f"gbd.{name}({', '.join([*given, f'blocks={own.counts}', f'halo={halo}', 'comm=MPI.COMM_WORLD'])})"


def text(
    run: Run, kind: str, own: Figures, cuts: list[Figures], network: Network, most: int
) -> str:
    """All of it."""
    parts = [head(run, kind), ""]
    parts += [f"  {what:<12}{how}" for what, how in lines(run, own, network)]
    parts.append(f"  {'program':<12}{program(run, own)}")
    if most and len(cuts) > 1:
        parts += ["", "cuts", *table(run, own, cuts, network, most)]
    drawn = picture(own.decomposition.blocks(), run.topology.names, len(run.topology.tiles))
    return "\n".join([*parts, "", "ranks", *("  " + line for line in drawn.splitlines())])
