"""GHEX: descriptors of structured fields, by which it sends and fills halos; here between two
domains on one rank.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.consumers.consumer import DTYPES, Absent, Cannot, Cell, Consumer, Refusals
from gridbuf.interop.ghex import DTYPES as TYPES

COPY = "`field.copy()`"
UNREAD = Cannot(
    "rows are read as if their elements touched", r"GHEX reads rows as.*field.copy", COPY
)
NO_TYPE = Cannot("no such type", r"GHEX has no .*field.to\(dtype", "`field.to(dtype='float64')`")


class Described(NamedTuple):
    """GHEX tells neither address nor strides: what it sends and where it writes shows whose memory
    it has.
    """

    sent: Any  # all rows are a domain
    filled: Any  # the last row is a halo
    # A copy: the other domain of an exchange has its dtype and order of strides
    like: np.ndarray[Any, Any]


class Ghex(Consumer):
    """A descriptor keeps the Field, and GHEX packs and unpacks by its strides."""

    package, modules = "ghex", ("mpi4py", "ghex")
    takes, gives = "gridbuf.interop.ghex.field_descriptor(domain, field)", "nothing"
    refuses: ClassVar[Refusals] = {
        **{("take", layout): UNREAD for layout in ("sliced", "reversed")},
        **{
            ("take", layout): Absent("domains have points and indices")
            for layout in ("0-d", "size 0")
        },
        ("take", "read-only"): Cannot(
            "halos are written", "is read-only, and GHEX writes.*field.copy", COPY
        ),
        **{("take", dtype): NO_TYPE for dtype in DTYPES if dtype not in TYPES},
        ("give", "*"): Absent("it holds no memory of its own that others could use"),
    }

    def take(self, field: _core.Field) -> Any:
        edge = _core.Field(field, field.dims, halo=((0, 1), *((0, 0),) * (field.ndim - 1)))
        return Described(
            _descriptor(0, 0, field), _descriptor(0, 0, edge), np.copy(field.numpy(), "K")
        )

    def make(self, cell: Cell) -> Any:
        raise NotImplementedError

    def address(self, theirs: Any) -> int | None:
        return None

    def strides(self, theirs: Any) -> tuple[int, ...] | None:
        return None

    def values(self, theirs: Any) -> np.ndarray[Any, Any]:
        rows, *others = theirs.like.shape
        received = np.empty_like(theirs.like, shape=(2 * rows, *others))
        other = _core.Field(received, halo=((rows, 0), *((0, 0),) * len(others)))
        _exchange(received.shape, (rows, 0), theirs.sent, _descriptor(1, rows, other))
        return received[:rows]

    def write(self, theirs: Any, index: tuple[int, ...], value: Any) -> None:
        rows, *others = theirs.like.shape
        sent = np.empty_like(theirs.like, shape=(rows, *others))
        sent[0] = self.values(theirs)[-1]
        sent[0][index[1:]] = value
        _exchange(
            (2 * rows - 1, *others),
            (0, 1),
            theirs.filled,
            _descriptor(1, rows - 1, _core.Field(sent)),
        )


def _box(start: int, stop: int, others: Any) -> Any:
    from ghex.structured.cartesian_sets import ProductSet, UnitRange

    return ProductSet(UnitRange(start, stop), *(UnitRange(0, n) for n in others))


def _descriptor(number: int, start: int, field: _core.Field) -> Any:
    """The rows inside a Field's halo are a domain of a grid, from row `start` on."""
    from ghex.structured.regular import DomainDescriptor

    from gridbuf.interop.ghex import field_descriptor

    rows = field.domain.shape[0]
    domain = DomainDescriptor(number, _box(start, start + rows, field.shape[1:]))
    return domain, field_descriptor(domain, field)


def _exchange(shape: tuple[int, ...], halo: tuple[int, int], *described: Any) -> None:
    """Fill the halos of two domains that divide the rows of a grid."""
    from ghex.context import make_context
    from ghex.structured.regular import HaloGenerator, make_communication_object, make_pattern
    from mpi4py import MPI

    context = make_context(MPI.COMM_SELF, MPI.Query_thread() == MPI.THREAD_MULTIPLE)
    halos = HaloGenerator(
        _box(0, shape[0], shape[1:]), (halo, *((0, 0),) * (len(shape) - 1)), (False,) * len(shape)
    )
    pattern = make_pattern(context, halos, [domain for domain, _ in described])
    make_communication_object(context).exchange([pattern(field) for _, field in described]).wait()


consumer = Ghex
