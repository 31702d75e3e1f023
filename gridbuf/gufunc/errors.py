"""Errors of a call, facts about failed elements, and the end of a call that has some."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridbuf._core import DIVIDE, INVALID, OVERFLOW, PANIC, STATUS

_REASONS = {
    INVALID: "invalid value",
    DIVIDE: "division by zero",
    OVERFLOW: "overflow",
    STATUS: "kernel status",
    PANIC: "panic",
}


class ErrorInfo:
    """Which elements of a call failed.

    Attributes
    ----------
    codes : ndarray of uint8
        One per element of the outer shape: the sum of 1 (invalid), 2 (divide by zero),
        4 (overflow), 8 (the kernel's own status) and 0x80 (a Go kernel panicked).
    nfailed, nelements : int
        Failed elements, and elements that were asked for (`where` leaves some out).

    Examples
    --------
    >>> import numpy as np
    >>> from gridbuf import gufunc
    >>> _, info = gufunc.sqrt(np.array([4.0, -1.0]), errors="return")
    >>> info.failed
    array([False,  True])
    """

    def __init__(self, codes: NDArray[np.uint8], nfailed: int, nelements: int) -> None:
        self.codes, self.nfailed, self.nelements = codes, nfailed, nelements

    @property
    def failed(self) -> NDArray[np.bool_]:
        """A bool for every element."""
        return np.asarray(self.codes != 0)

    @property
    def indices(self) -> tuple[NDArray[np.intp], ...]:
        """Where they are, as `numpy.nonzero` gives it."""
        return np.nonzero(np.atleast_1d(self.codes))

    @property
    def first(self) -> tuple[int, ...] | None:
        """The index of the first of them; None when nothing failed."""
        if not self.nfailed:
            return None
        return (
            tuple(int(i) for i in np.unravel_index(int(np.argmax(self.failed)), self.codes.shape))
            if self.codes.ndim
            else ()
        )

    def __bool__(self) -> bool:
        return self.nfailed > 0

    def __repr__(self) -> str:
        if not self.nfailed:
            return f"ErrorInfo(none of {self.nelements} failed)"
        why = ", ".join(text for bit, text in _REASONS.items() if np.any(self.codes & bit))
        return f"ErrorInfo({self.nfailed} of {self.nelements} failed, first at {self.first}: {why})"


class GufuncError(Exception):
    """Base class of gridbuf.gufunc's own errors."""


class SignatureError(GufuncError, TypeError, ValueError):
    """A gufunc or a call that cannot be set up; the message shows the place."""


class _Failure(GufuncError):
    """A call that ran and in which elements failed.

    `results` is what the call would have returned; the other attributes are those of
    `ErrorInfo`, which `info` holds.
    """

    def __init__(self, message: str, results: Any, info: ErrorInfo) -> None:
        super().__init__(message)
        self.results, self.info = results, info

    def __reduce__(self) -> Any:
        return type(self), (self.args[0], self.results, self.info)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """A bool for every element."""
        return self.info.failed

    @property
    def codes(self) -> NDArray[np.uint8]:
        """Why, for every element."""
        return self.info.codes

    @property
    def nfailed(self) -> int:
        """How many failed."""
        return self.info.nfailed

    @property
    def nelements(self) -> int:
        """How many were asked for."""
        return self.info.nelements

    @property
    def first(self) -> tuple[int, ...] | None:
        """The index of the first failed one."""
        return self.info.first

    @property
    def indices(self) -> tuple[NDArray[np.intp], ...]:
        """The indices of the failed ones."""
        return self.info.indices


class PartialSuccess(_Failure):
    """Some elements failed; `results` has the others."""


class TotalFailure(_Failure):
    """Every element failed."""


def conclude(
    g: Any,
    result: Any,
    codes: Any,
    failed: int,
    selected: int,
    errors: str,
    shape: tuple[int, ...] = (),
) -> Any:
    """The result, with or without what went wrong, a warning or an error. Without codes nothing
    failed; shape is theirs.
    """
    info = ErrorInfo(np.zeros(shape, np.uint8) if codes is None else codes, failed, selected)
    if errors == "return":
        return result, info
    if not failed or errors == "ignore":
        return result
    message = f"{g.name}: {failed} of {selected} elements failed, the first at {info.first}"
    if errors == "warn":
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        return result
    raise (TotalFailure if failed == selected else PartialSuccess)(message, result, info)
