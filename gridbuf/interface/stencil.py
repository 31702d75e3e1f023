"""Calling gt4py.cartesian stencils on anything that has `__gt_interface__`."""

import inspect
from typing import Any, NamedTuple

import numpy as np

from gridbuf import _core
from gridbuf.common import BoundedCache
from gridbuf.interface.acquiring import acquired
from gridbuf.interface.domains import (
    Sizing,
    broadcast_shape,
    check_room,
    find_domain,
    halo_of,
    repeated,
    resolve_origins,
)
from gridbuf.storage.classes import CPUStorage

_READ_OR_WRITE, _WRITE = 3, 2  # gt4py's AccessKind
_NUMBERS = (bool, int, float, complex, np.generic)

# How an argument's array becomes the stencil's: in which order its indices go, and the shape to
# broadcast it to.
_Adapt = tuple[str, tuple[int, ...] | None, tuple[int, ...] | None]


class _Known(NamedTuple):
    """The run that a kind of call comes to: it depends on types, shapes, strides, dtypes and what
    objects say of their indices alone.
    """

    run: Any  # a frozen stencil
    adapts: tuple[_Adapt, ...]


class StencilCall:
    """A stencil that acquires, touches and releases what it is called with; see `stencil_call`."""

    def __init__(self, stencil: Any, policy: str = "raise") -> None:
        self._frozen = stencil if hasattr(stencil, "stencil_object") else None
        self.stencil = stencil if self._frozen is None else stencil.stencil_object
        for attribute in ("field_info", "parameter_info", "backend"):
            if not hasattr(self.stencil, attribute):
                raise TypeError(
                    f"stencil: expected a gt4py.cartesian stencil, got {type(stencil).__name__}"
                )
        self.policy = policy
        self._signature = inspect.signature(self.stencil.__call__)
        infos = self.stencil.field_info
        self._dims = {
            name: (*info.axes, *(str(d) for d in range(len(info.data_dims))))
            for name, info in infos.items()
        }
        backend = self.stencil.backend
        on_gpu = backend in _core.backends() and _core.preset(backend)[2] != "cpu"
        self._device = "gpu" if on_gpu else None
        # For calls that came before.
        parameters = self._signature.parameters.values()
        self._positional = tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)
        defaults = {p.name: None if p.default is p.empty else p.default for p in parameters}
        self._defaults = {
            name: defaults.get(name) for name in (*infos, *self.stencil.parameter_info)
        }
        self._fields = tuple(
            (name, bool(info.access & _WRITE))
            for name, info in infos.items()
            if info.access & _READ_OR_WRITE
        )
        self._calls: BoundedCache[_Known] = BoundedCache(256)

    def __repr__(self) -> str:
        return (
            f"StencilCall({self.stencil.options['name']!r}, backend={self.stencil.backend!r},"
            f" policy={self.policy!r})"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "stencil":
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )
        return getattr(self.stencil, name)  # backend, field_info, options, ...

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Run the stencil; its own arguments, with origin and domain found from the fields where
        not given.
        """
        given = {**dict(zip(self._positional, args, strict=False)), **kwargs} if args else kwargs
        arrays: dict[str, Any] = {}
        key = self._key(given, len(args) + len(kwargs), arrays)
        known = None if key is None else self._calls.get(key)
        if known is None:
            self._general(key, arrays, args, kwargs)
            return
        call = {**self._defaults, **given, **arrays}
        for name, order, shape in known.adapts:
            array = arrays[name] if order is None else arrays[name].transpose(order)
            call[name] = array if shape is None else repeated(array, shape)
        if "origin" in call or "domain" in call:
            call = {name: value for name, value in call.items() if name not in ("origin", "domain")}
        known.run(**call)

    def _key(
        self, given: dict[str, Any], count: int, arrays: dict[str, Any]
    ) -> tuple[Any, ...] | None:
        """The facts that the answer for these arguments depends on; fills in the arrays. None: the
        arguments have to be looked at each time.
        """
        if self._device is not None or len(given) != count:
            return None
        key: list[Any] = [_core.registrations()]
        for name, output in self._fields:
            obj = given.get(name)
            if type(obj) is CPUStorage:
                array = obj._host
                key += (obj._meta, array.shape, array.strides, array.dtype)
            elif type(obj) is np.ndarray:
                array = obj
                key += (None, array.shape, array.strides, array.dtype)
            elif type(obj) is _core.HostField:
                array = _core.host_array(obj)
                key += (
                    getattr(obj, "__gt_dims__", None),
                    obj.origin,
                    obj.halo,
                    array.shape,
                    array.strides,
                    array.dtype,
                )
            else:
                return None
            if output:
                key.append(array.flags.writeable)
            arrays[name] = array
        for name, value in given.items():
            if name in arrays:
                continue
            key.append(name)
            if name in ("origin", "domain"):
                constant = _core.constant(tuple(value.items()) if type(value) is dict else value)
                if constant is None and value is not None:
                    return None
                key.append(constant)
            elif name in self._defaults:
                key.append(type(value))
            else:
                return None
        return tuple(key)

    def _general(
        self, key: tuple[Any, ...] | None, arrays: dict[str, Any], args: Any, kwargs: Any
    ) -> None:
        """The call for any arguments; answers for host storages, Fields and arrays are
        remembered.
        """
        given = self._signature.bind(*args, **kwargs).arguments
        infos = self.stencil.field_info
        fields = {name: given[name] for name, _ in self._fields if given.get(name) is not None}
        outputs = tuple(name for name, output in self._fields if output and name in fields)
        dims = {name: self._dims[name] for name in fields}
        dtypes = {name: infos[name].dtype for name in fields}
        with acquired(
            fields,
            outputs,
            self._device,
            dims,
            dtypes,
            self.policy,
            backend=self.stencil.backend,
            stacklevel=5,
        ) as buffers:
            call = {**given, **buffers}
            run = self._frozen
            if run is not None:
                shapes = self._fit(run, call, fields, buffers, outputs)
                run(
                    **{
                        name: call[name]
                        for name in call
                        if name not in ("domain", "origin", "validate_args")
                    }
                )
            else:
                shapes = self._origin_and_domain(call, fields, buffers, outputs, dims)
                self.stencil(**call)
                if key is not None and len(fields) == len(self._fields):
                    none = {name: (0,) * info.ndim for name, info in infos.items()}
                    run = self.stencil.freeze(
                        origin={**none, **call["origin"]}, domain=tuple(call["domain"])
                    )
            if key is not None and run is not None and self._can_be_remembered(given, arrays):
                self._calls[key] = _Known(run, self._adapts(fields, shapes))

    def _origin_and_domain(
        self,
        call: dict[str, Any],
        fields: dict[str, Any],
        buffers: dict[str, Any],
        outputs: tuple[str, ...],
        dims: dict[str, Any],
    ) -> dict[str, tuple[int, ...]]:
        """Origin and domain of the call, and fields of size 1 broadcast to it: their shapes."""
        origin, domain = call.get("origin"), call.get("domain")
        origins = resolve_origins(fields, origin, dims)
        infos = self.stencil.field_info
        for_all = origin is not None and (not isinstance(origin, dict) or "_all_" in origin)
        sizing = [
            Sizing(
                name, infos[name], buffers[name].shape, origins[name], halo_of(obj),
                output=name in outputs,
                told=for_all or (origin is not None and name in origin),
            )
            for name, obj in fields.items()
        ]  # fmt: skip
        call["domain"] = find_domain(sizing, domain, halos_count=origin is None, stacklevel=5)
        call["origin"] = origins
        shapes = {}
        for field in sizing:
            shape = broadcast_shape(field, call["domain"]) if len(call["domain"]) == 3 else None
            if shape is not None:
                shapes[field.name] = shape
                call[field.name] = repeated(buffers[field.name], shape)
                origins[field.name] = tuple(
                    lower if here != there else at
                    for at, here, there, lower in zip(
                        field.origin,
                        field.shape,
                        shape,
                        [b[0] for b in field.boundary] + [0] * len(shape),
                        strict=False,
                    )
                )
        return shapes

    def _fit(
        self,
        frozen: Any,
        call: dict[str, Any],
        fields: dict[str, Any],
        buffers: dict[str, Any],
        outputs: tuple[str, ...],
    ) -> dict[str, tuple[int, ...]]:
        """Fields of size 1 broadcast to a frozen stencil's domain: their shapes. Each has the
        points that it takes.
        """
        shapes = {}
        for name, obj in fields.items():
            array = buffers[name]
            field = Sizing(
                name,
                self.stencil.field_info[name],
                array.shape,
                frozen.origin[name],
                halo_of(obj),
                output=name in outputs,
                told=True,
            )
            shape = broadcast_shape(field, frozen.domain)
            check_room(field, shape or array.shape, frozen.domain)
            if shape is not None:
                shapes[name] = shape
                call[name] = repeated(array, shape)
        return shapes

    def _can_be_remembered(self, given: dict[str, Any], arrays: dict[str, Any]) -> bool:
        """Not where each call has to copy, nor where gt4py turns a parameter into a number."""
        infos = self.stencil.field_info
        return all(array.dtype == infos[name].dtype for name, array in arrays.items()) and all(
            isinstance(given.get(name, 0), _NUMBERS) for name in self.stencil.parameter_info
        )

    def _adapts(
        self, fields: dict[str, Any], shapes: dict[str, tuple[int, ...]]
    ) -> tuple[_Adapt, ...]:
        found = []
        for name, obj in fields.items():
            axes = (
                obj._meta.axes
                if type(obj) is CPUStorage
                else getattr(obj, "__gt_dims__", None) or self._dims[name]
            )
            order = tuple(axes.index(axis) for axis in self._dims[name])
            plain = order == tuple(range(len(order)))
            if not plain or name in shapes:
                found.append((name, None if plain else order, shapes.get(name)))
        return tuple(found)


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
        `origin` and `domain`, the halos of storages and Fields say where to compute; a field
        that is read and has one element along an axis is broadcast there.

    Raises
    ------
    TypeError
        When stencil is not one of gt4py.cartesian's.

    Notes
    -----
    Layouts that are slow on the stencil's backend give a `LayoutWarning`, fields whose domains
    differ a `DomainWarning`, unless `domain` is given. The resolution of a call with host
    storages, Fields and arrays is kept: the next such call is gt4py's frozen one, without these
    warnings.

    Examples
    --------
    >>> from gridbuf.interface import stencil_call
    >>> copy = stencil_call(copy_stencil)  # doctest: +SKIP
    >>> copy(inp=storage, out=gb.Field.zeros((8, 8, 4), halo=(1, 1, 0)))  # doctest: +SKIP
    """
    return StencilCall(stencil, policy)
