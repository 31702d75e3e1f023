"""What type checkers are told of the methods that methods.py gives to Storage."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

_Method = Callable[..., Any]


class Declared:
    """Names and types, and nothing at run time."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
        def copy(self) -> Self: ...
        def __copy__(self) -> Self: ...
        def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self: ...
        def __reduce__(self) -> tuple[Any, ...]: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __contains__(self, value: Any) -> bool: ...
        def __index__(self) -> int: ...
        def __round__(self, ndigits: int | None = None) -> Any: ...

        # an ndarray's methods
        all: _Method
        any: _Method
        argmax: _Method
        argmin: _Method
        argsort: _Method
        astype: Callable[..., Self]
        choose: _Method
        clip: Callable[..., Self]
        compress: _Method
        conj: Callable[..., Self]
        conjugate: Callable[..., Self]
        cumprod: _Method
        cumsum: _Method
        diagonal: _Method
        dot: _Method
        fill: Callable[[Any], None]
        flatten: _Method
        item: _Method
        max: _Method
        mean: _Method
        min: _Method
        nonzero: _Method
        prod: _Method
        ravel: _Method
        repeat: _Method
        reshape: _Method
        round: _Method
        searchsorted: _Method
        squeeze: Callable[..., Self]
        std: _Method
        sum: _Method
        swapaxes: Callable[..., Self]
        take: _Method
        tobytes: Callable[..., bytes]
        tolist: _Method
        trace: _Method
        transpose: Callable[..., Self]
        var: _Method
        T: Self
        real: Self
        imag: Self
        itemsize: int
