"""Storage: the base class of GDP-3's storages, and what all four have in common.

The files about indexing, ufuncs, reductions and copies are written against this class, so it knows
none of them: methods.py, which is loaded before anybody gets a storage, gives it their functions.
"""

from typing import Any, ClassVar, Self

from numpy.lib.mixins import NDArrayOperatorsMixin

from gridbuf.storage import layout
from gridbuf.storage.attributes import Attributes
from gridbuf.storage.axes import check_axes
from gridbuf.storage.declared import Declared
from gridbuf.storage.sync import SyncState


class Storage(Attributes, Declared, NDArrayOperatorsMixin):
    """A field with named axes, a halo and its memory on the host, the device or both.

    The common base class, for type checks; `gridbuf.storage.empty` and its kin make
    storages. A Storage is not an ndarray, but NumPy's ufuncs and operators work on it and
    broadcast along axes of the same name.

    Examples
    --------
    >>> import gridbuf.storage as gs
    >>> a, b = gs.ones((2, 3), axes="IJ"), gs.ones((4,), axes="K")
    >>> (a + b).axes, (a + b).shape
    ('IJK', (2, 3, 4))
    """

    __slots__ = ()
    __array_priority__: ClassVar[int] = 10

    SyncState = SyncState

    def reinterpret(self, axes: Any) -> Self:
        """The same memory, shape and strides, with the indices called otherwise.

        Parameters
        ----------
        axes : str
            The new name of each index.

        Returns
        -------
        Storage
            Of the same class: a view.

        Raises
        ------
        TypeError, ValueError
            When axes does not name each index.

        Examples
        --------
        >>> import gridbuf.storage as gs
        >>> s = gs.zeros((10, 20, 30)).reinterpret("KJI")
        >>> s.shape, s.axes
        ((10, 20, 30), 'KJI')
        """
        names, meta = check_axes(axes), self._meta
        if len(names) != self.ndim:
            raise ValueError(
                f"axes: {names!r} has {len(names)} names, the storage {self.ndim} indices"
            )
        changed = meta.replaced(axes=names, layout=layout.relabelled(meta.layout, meta.axes, names))
        return self._mapped(lambda array: array, changed)

    # --- as a Python object

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a storage without axes")
        return self.shape[0]

    def _scalar(self) -> Any:
        if self.size != 1:
            raise TypeError(
                f"only a storage with one element converts to a scalar; this one has {self.size}"
            )
        return self._values().reshape(())[()]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "the truth value of a storage of other than one element is ambiguous; use np.any or"
                " np.all"
            )
        return bool(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())
