"""Calling gt4py.cartesian stencils on anything that has `__gt_interface__`."""

import inspect
from typing import Any

from gridbuf import _core
from gridbuf.interface.acquiring import acquired
from gridbuf.interface.origins import resolve_origins
from gridbuf.names import get_dims

_READ_OR_WRITE, _WRITE = 3, 2  # gt4py's AccessKind


class StencilCall:
    """A stencil that acquires, touches and releases what it is called with; see `stencil_call`."""

    def __init__(self, stencil: Any, policy: str = "raise") -> None:
        self._frozen = stencil if hasattr(stencil, "stencil_object") else None
        self.stencil = stencil if self._frozen is None else stencil.stencil_object
        for attribute in ("field_info", "parameter_info", "backend"):
            if not hasattr(self.stencil, attribute):
                raise TypeError(f"stencil: expected a gt4py.cartesian stencil, got {type(stencil).__name__}")
        self.policy = policy
        self._signature = inspect.signature(self.stencil.__call__)
        self._dims = {
            name: (*info.axes, *(str(d) for d in range(len(info.data_dims)))) for name, info in self.stencil.field_info.items()
        }  # fmt: skip
        plan = _core.plan((1,), backend=self.stencil.backend) if self.stencil.backend in _core.backends() else None
        self._device = None if plan is None or plan.device == "cpu" else "gpu"

    def __repr__(self) -> str:
        return f"StencilCall({self.stencil.options['name']!r}, backend={self.stencil.backend!r}, policy={self.policy!r})"

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Run the stencil; its own arguments, with origin and domain found from the fields where not given."""
        given = self._signature.bind(*args, **kwargs).arguments
        infos = self.stencil.field_info
        fields = {
            name: given[name] for name, info in infos.items() if info.access & _READ_OR_WRITE and given.get(name) is not None
        }
        outputs = tuple(name for name in fields if infos[name].access & _WRITE)
        dims = {name: self._dims[name] for name in fields}
        dtypes = {name: infos[name].dtype for name in fields}
        with acquired(
            fields, outputs, self._device, dims, dtypes, self.policy, backend=self.stencil.backend, stacklevel=4
        ) as buffers:
            call = {**given, **buffers}
            if self._frozen is not None:
                self._frozen(**{name: call[name] for name in call if name not in ("domain", "origin", "validate_args")})
                return
            origins = resolve_origins(fields, given.get("origin"), dims)
            if given.get("origin") is None and given.get("domain") is None:
                call["domain"] = self._domain(fields, buffers, origins)
            call["origin"] = origins
            self.stencil(**call)

    def _domain(self, fields: dict[str, Any], buffers: dict[str, Any], origins: dict[str, tuple[int, ...]]) -> Any:
        """The points in every field's domain; None, gt4py's own rule, where no field has a halo."""
        halos = {name: _canonical_halo(obj) for name, obj in fields.items()}
        if not any(halos.values()):
            return None
        size: dict[str, int] = {}
        for name, halo in halos.items():
            info = self.stencil.field_info[name]
            for i, axis in enumerate(info.axes):
                upper = max(info.boundary["IJK".index(axis)][1], halo[i][1] if halo else 0)
                own = buffers[name].shape[i] - origins[name][i] - upper
                size[axis] = min(size.get(axis, own), own)
        return tuple(size.get(axis, 1) for axis in "IJK")


def _canonical_halo(obj: Any) -> list[tuple[int, int]] | None:
    """The halo of a storage or Field in the order I, J, K; None where it has none."""
    from gridbuf.storage import Storage

    halo = obj.halo if isinstance(obj, (Storage, _core.Field)) else None
    dims = get_dims(obj)
    if halo is None or dims is None:
        return None
    return [halo[dims.index(axis)] for axis in "IJK" if axis in dims]


def stencil_call(stencil: Any, *, policy: str = "raise") -> StencilCall:
    """Wrap a gt4py.cartesian stencil so that it takes storages and whatever has `__gt_interface__`.

    Parameters
    ----------
    stencil
        A stencil object, or a frozen one.
    policy : {"raise", "copy"}, optional
        For fields of the wrong dtype or on the wrong device, as in `acquired`.

    Returns
    -------
    StencilCall
        Called like the stencil. Around the run it calls acquire, touch and release. Without
        `origin` and `domain`, the halos of storages and Fields say where to compute.

    Raises
    ------
    TypeError
        When stencil is none of gt4py.cartesian's.

    Notes
    -----
    Layouts that are slow on the stencil's backend give a `LayoutWarning`.

    Examples
    --------
    >>> from gridbuf.interface import stencil_call
    >>> copy = stencil_call(copy_stencil)  # doctest: +SKIP
    >>> copy(inp=storage, out=gb.Field.zeros((8, 8, 4), halo=(1, 1, 0)))  # doctest: +SKIP
    """
    return StencilCall(stencil, policy)
