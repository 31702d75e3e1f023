"""Numbers of a whole field that do not depend on how it is cut: sums are exact and rounded once,
and every point counts once.
"""

from typing import Any

from gridbuf.distributed.constructors import Fields
from gridbuf.distributed.moving import Moving
from gridbuf.distributed.whole_fields.counting import checking, multiplying, summing, truths
from gridbuf.distributed.whole_fields.extremes import extreme
from gridbuf.docstrings import as_in
from gridbuf.exact.sums import Total


class Reducing(Moving):
    """What makes numbers of fields. All ranks call these, and all get the result."""

    def sum(self, *fields: Fields) -> Any:
        """The sum of all points, rounded once. All ranks call this.

        Parameters
        ----------
        *fields : Field or list of Field
            On this rank's blocks. Halos do not count, and of points that exist more than once the
            owner's does.

        Returns
        -------
        int, float, complex or tuple
            The bits of `math.fsum` of the whole field, on every rank, for any cut, layout and
            number of threads; of bools and integers the Python int. A tuple for several fields.

        Raises
        ------
        TypeError, ValueError
            When a field is not such a Field, has elements that are not summed, or does not fit this
            rank's blocks.
        RevokedError
            When another rank has raised; DisagreementError, which is one, when ranks do not call
            the same. The grid is made again then.
        TimeoutError
            When a rank does not come.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 5), blocks=(2, 2), halo=1)
        >>> grid.sum(grid.full(0.1)), grid.sum(grid.ones(dtype="int32"), grid.full(0.5))
        (2.0, (20, 10.0))
        """
        found = self._call(
            "sum", lambda ranks: summing(ranks, self._ground, "sum", fields, Total.sum)
        )
        return found[0] if len(fields) == 1 else tuple(found)

    @as_in(sum)
    def mean(self, field: Fields) -> Any:
        """The exact sum divided by the number of points, rounded once. All ranks call this.

        Parameters
        ----------
        field : Field or list of Field
            As for `sum`.

        Returns
        -------
        float or complex
            NaN where there are no points.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((3, 1), blocks=(3, 1))
        >>> grid.mean(grid.full(0.1))
        0.1
        """
        return self._call(
            "mean", lambda ranks: summing(ranks, self._ground, "mean", [field], Total.mean)
        )[0]

    @as_in(sum)
    def dot(self, a: Fields, b: Fields) -> Any:
        """The sum of the products of two fields at the same points, rounded once; nothing is
        conjugated. All ranks call this.

        Parameters
        ----------
        a, b : Field or list of Field
            As for `sum`, of the same dims, in any order, and positions.

        Returns
        -------
        int, float or complex
            As `gb.exact.dot` of the whole fields.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 5), blocks=(2, 2))
        >>> grid.dot(grid.full(0.5), grid.full(3.0))
        30.0
        """
        total = self._call(
            "dot", lambda ranks: multiplying(ranks, self._ground, "dot", [a, b], False)
        )
        return total.sum()

    @as_in(sum)
    def norm(self, field: Fields) -> float:
        """The square root of the sum of all squares, rounded once. All ranks call this.

        Parameters
        ----------
        field : Field or list of Field
            As for `sum`; of complex numbers the magnitudes count.

        Returns
        -------
        float
            As `gb.exact.norm` of the whole field.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.norm(grid.full(3.0))
        12.0
        """
        total = self._call(
            "norm", lambda ranks: multiplying(ranks, self._ground, "norm", [field], True)
        )
        return float(total.root())

    @as_in(sum)
    def min(self, field: Fields) -> Any:
        """The smallest value: NaN where there is one, and -0.0 is below 0.0. All ranks call this.

        Parameters
        ----------
        field : Field or list of Field
            As for `sum`; of bools, integers or reals.

        Returns
        -------
        bool, int or float
            The same on every rank.

        Raises
        ------
        TypeError, ValueError
            When the field has no points, or elements without an order; and as for `sum`.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.min(grid.full(3.0))
        3.0
        """
        return self._call(
            "min", lambda ranks: extreme(ranks, self._ground, "min", field, True, False)
        )

    @as_in(min)
    def max(self, field: Fields) -> Any:
        """The largest value: NaN where there is one, and 0.0 is above -0.0. All ranks call this.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.max(grid.full(3, dtype="uint8"))
        3
        """
        return self._call(
            "max", lambda ranks: extreme(ranks, self._ground, "max", field, False, False)
        )

    @as_in(min)
    def argmin(self, field: Fields) -> tuple[int, ...]:
        """Where the smallest value lies on the grid: of equal ones the lowest index. All ranks call
        this.

        Returns
        -------
        tuple of int
            An index for each of the field's dims, the tile first where there are several.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> T = grid.zeros()
        >>> T[2][1, 0] = -1.0
        >>> grid.argmin(T)
        (3, 0)
        """
        found: tuple[int, ...] = self._call(
            "argmin", lambda ranks: extreme(ranks, self._ground, "argmin", field, True, True)
        )
        return found

    @as_in(argmin)
    def argmax(self, field: Fields) -> tuple[int, ...]:
        """Where the largest value lies on the grid: of equal ones the lowest index. All ranks call
        this.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.argmax(grid.ones())
        (0, 0)
        """
        found: tuple[int, ...] = self._call(
            "argmax", lambda ranks: extreme(ranks, self._ground, "argmax", field, False, True)
        )
        return found

    @as_in(sum)
    def any(self, field: Fields) -> bool:
        """Whether some point is not zero. All ranks call this.

        Parameters
        ----------
        field : Field or list of Field
            As for `sum`, of any elements that NumPy counts.

        Returns
        -------
        bool
            The same on every rank; of no points False.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.any(grid.zeros(dtype=bool))
        False
        """
        true, _ = self._call("any", lambda ranks: truths(ranks, self._ground, "any", field))
        return bool(true)

    @as_in(any)
    def all(self, field: Fields) -> bool:
        """Whether no point is zero. All ranks call this.

        Returns
        -------
        bool
            The same on every rank; of no points True.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> grid = gbd.grid((4, 4), blocks=(2, 2))
        >>> grid.all(grid.ones(dtype=bool))
        True
        """
        true, points = self._call("all", lambda ranks: truths(ranks, self._ground, "all", field))
        return bool(true == points)

    def checksum(self, field: Fields) -> int:
        """A number of a field's dims, dtype and values that does not depend on blocks, ranks,
        layouts and the order of dims.

        Parameters
        ----------
        field : Field or list of Field
            On this rank's blocks. Halos do not count, and of points that exist more than once the
            owner's does.

        Returns
        -------
        int
            Of 64 bits, the same on every rank.

        Examples
        --------
        >>> import gridbuf.distributed as gbd
        >>> one, four = gbd.grid((6, 6), halo=2), gbd.grid((6, 6), blocks=(2, 2))
        >>> one.checksum(one.ones(faces="I")) == four.checksum(four.ones(faces="I", backend="F"))
        True
        """
        found: int = self._call("checksum", lambda ranks: checking(ranks, self._ground, field))
        return found
