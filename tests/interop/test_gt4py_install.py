"""gt4py's own functions exchanged for gridbuf's: the same answers, in every module that has them,
and put back exactly.
"""

import sys
import types
from collections.abc import Iterator

import numpy as np
import pytest
from in_child import python

import gridbuf as gb

pytest.importorskip("gt4py.storage")
import gt4py.storage
from gt4py.storage.cartesian import interface

gbg = pytest.importorskip("gridbuf.interop.gt4py")

NAMES = ("empty", "zeros", "ones", "full", "from_array")
THEIRS = {name: getattr(interface, name) for name in NAMES}
HOST = [
    name
    for name, info in gbg.registry.REGISTRY.items()
    if info["device"] == "cpu" and name in gb.backends()
]


def next_allocators() -> types.ModuleType:
    try:
        from gt4py.next import custom_layout_allocators
    except ImportError:  # gt4py 1.0 and 1.1.0
        from gt4py.next import allocators as custom_layout_allocators
    return custom_layout_allocators


def ours(array: np.ndarray) -> bool:
    return gb.memory.buffer_id(array) is not None


@pytest.fixture(autouse=True)
def balance() -> Iterator[None]:
    assert not gbg.installed()
    yield
    gbg.uninstall()
    assert all(
        getattr(interface, name) is getattr(gt4py.storage, name) is THEIRS[name] for name in NAMES
    )


# ---- what gt4py's own storage tests ask ----


@pytest.fixture(scope="module")
def functions() -> dict:
    """The functions that gt4py has while ours are installed."""
    with gbg.install():
        return {name: getattr(gt4py.storage, name) for name in NAMES}


@pytest.mark.parametrize("backend", HOST)
@pytest.mark.parametrize("dims", ["IJK", "IJ", "IK", "JK", "K", "I", "IJK0", "IJK01"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool"])
def test_arrays_are_as_theirs(functions: dict, backend: str, dims: str, dtype: str) -> None:
    shape, index = (5, 7, 4, 2, 3)[: len(dims)], (1, 2, 0, 1, 2)[: len(dims)]
    asked = {"backend": backend, "dimensions": tuple(dims), "aligned_index": index}
    for name, values in (("empty", ()), ("zeros", ()), ("ones", ()), ("full", (1,))):
        expected = THEIRS[name](shape, *values, dtype, **asked)
        array = functions[name](shape, *values, dtype, **asked)
        assert type(array) is np.ndarray and ours(array) and not ours(expected)
        assert (array.shape, array.dtype, array.strides) == (
            expected.shape,
            expected.dtype,
            expected.strides,
        )
        assert array[tuple(slice(i, None) for i in index)].ctypes.data % 64 == 0
        assert name == "empty" or np.array_equal(array, expected)
        array[...] = 1
        assert array.all()


@pytest.mark.parametrize("dtype", [(), (None,), (np.float32,), (np.int32,), (bool,)], ids=str)
@pytest.mark.parametrize(
    "data",
    [
        np.array([[1.7, 2.5], [3.0, 0.0]]),
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.ones((3, 4), "f4")),
    ],
)
def test_values_are_converted_as_theirs(functions: dict, dtype: tuple, data: np.ndarray) -> None:
    with gbg.install():  # where gridbuf converts less, gt4py's own function assigns to our memory
        arrays = {
            backend: functions["from_array"](data, *dtype, backend=backend) for backend in HOST
        }
    for backend, array in arrays.items():
        expected = THEIRS["from_array"](data, *dtype, backend=backend)
        assert (
            ours(array) and array.dtype == expected.dtype and array.strides == expected.strides
        ), backend
        assert np.array_equal(array, expected) and not np.shares_memory(array, data), backend


def test_more_than_two_gibibytes() -> None:
    """gt4py 1.2 counts these bytes in 32 bits under NumPy 2, and fails."""
    with gbg.install():
        assert (
            gt4py.storage.empty((2048, 2048, 90), backend="gt:cpu_ifirst").nbytes
            == 2048 * 2048 * 90 * 8
        )


@pytest.mark.parametrize(
    ("error", "args", "asked"),
    [
        (TypeError, (), {"backend": "numpy"}),
        (TypeError, ((2, 3),), {}),
        ((ValueError, RuntimeError), ((2, 3),), {"backend": "nonsense"}),
        ((ValueError, TypeError), ((2, -3),), {"backend": "numpy"}),
        ((ValueError, TypeError), ((2, 3),), {"backend": "numpy", "aligned_index": (1,)}),
        ((ValueError, TypeError), ((2, 3),), {"backend": "numpy", "dimensions": "I"}),
        (TypeError, ((2, 3),), {"backend": "numpy", "colour": 1}),
    ],
)
def test_wrong_calls_are_errors_as_theirs(error: type, args: tuple, asked: dict) -> None:
    with pytest.raises(error):
        THEIRS["zeros"](*args, **asked)
    with gbg.install(), pytest.raises(error):
        gt4py.storage.zeros(*args, **asked)


# ---- whose functions are where ----


def test_modules_that_imported_a_function_have_ours_and_get_theirs_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = types.ModuleType("imported_before")
    exec(
        "from gt4py.storage import zeros as nulls, full\nKEPT = [full]\nimport numpy", vars(before)
    )
    monkeypatch.setitem(sys.modules, before.__name__, before)
    monkeypatch.setitem(sys.modules, "no_module", 3)  # type: ignore[arg-type]
    names = dict(vars(before))
    installed = gbg.install()
    assert (
        gbg.installed()
        and before.nulls is gt4py.storage.zeros is interface.zeros is not THEIRS["zeros"]
    )
    assert ours(before.nulls((3,), backend="numpy"))
    during = types.ModuleType("imported_during")
    exec("from gt4py.storage import zeros, empty", vars(during))
    monkeypatch.setitem(sys.modules, during.__name__, during)
    with gbg.install():  # it was on before
        pass
    assert gbg.installed() and isinstance(installed, type(gbg.install()))
    gbg.uninstall()
    assert not gbg.installed() and dict(vars(before)) == names
    assert during.zeros is THEIRS["zeros"] and during.empty is THEIRS["empty"]
    assert before.KEPT[0] is THEIRS["full"] and gb.zeros is gb._core.zeros


def test_modules_that_load_themselves_when_asked_are_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Lazy(types.ModuleType):
        def __getattribute__(self, name: str) -> object:
            raise AssertionError(f"{name} was asked for")

    monkeypatch.setitem(sys.modules, "lazy", Lazy("lazy"))
    with gbg.install():
        pass


def test_a_layout_that_somebody_registered_is_that_one_s() -> None:
    def c_order(dims: object) -> tuple[int, ...]:
        return tuple(range(len(dims)))  # type: ignore[arg-type]

    known = dict(gbg.registry.REGISTRY)
    try:
        with gbg.install():
            assert ours(gt4py.storage.zeros((4, 5), backend="gt:cpu_ifirst"))
            for name in ("gt:cpu_ifirst", "my machine"):  # also one that was known until now
                info = {**known["gt:cpu_ifirst"], "layout_map": c_order, "alignment": 1}
                gt4py.storage.register(name, info)
                array = gt4py.storage.zeros((4, 5), backend=name)
                assert array.strides == (40, 8) and not ours(array)
    finally:
        gbg.registry.REGISTRY.clear()
        gbg.registry.REGISTRY.update(known)


def test_the_functions_look_like_theirs() -> None:
    import inspect

    with gbg.install():
        for name, function in THEIRS.items():
            assert inspect.signature(getattr(gt4py.storage, name)) == inspect.signature(function)
            assert getattr(gt4py.storage, name).__doc__ == function.__doc__


# ---- gt4py.next ----


def test_fields_of_gt4py_next_whoever_allocates_them() -> None:
    gtx = pytest.importorskip("gt4py.next")
    custom_layout_allocators = next_allocators()

    cell, k = gtx.Dimension("Cell"), gtx.Dimension("K", gtx.DimensionKind.VERTICAL)
    theirs = custom_layout_allocators.BaseFieldBufferAllocator.__gt_allocate__
    plain = gtx.zeros({cell: (3, 13), k: 5}).ndarray
    with gbg.install():
        for allocator in (
            None,
            gtx.gtfn_cpu,
            custom_layout_allocators.StandardCPUFieldBufferAllocator(),
        ):
            array = gtx.zeros({cell: (3, 13), k: 5}, allocator=allocator).ndarray
            assert ours(array) and array.strides == plain.strides and array.ctypes.data % 64 == 0
        assert ours(gtx.as_field((cell,), np.arange(4.0)).ndarray)
    assert custom_layout_allocators.BaseFieldBufferAllocator.__gt_allocate__ is theirs
    assert not ours(gtx.zeros({cell: 3}).ndarray)


@pytest.mark.slow
def test_gt4py_next_imported_later() -> None:
    if python("import sys, gt4py.storage; print('gt4py.next' in sys.modules)") == "True":
        pytest.skip("gt4py.storage imports gt4py.next in this version")
    code = (
        "import sys, gridbuf as gb, gridbuf.interop.gt4py as gbg\ngbg.install()\nassert"
        " 'gt4py.next' not in sys.modules\nimport gt4py.next as gtx\nmade ="
        " gtx.zeros({gtx.Dimension('I'):"
        " 4}).ndarray\ngbg.uninstall()\nprint(gb.memory.buffer_id(made),"
        " gb.memory.buffer_id(gtx.zeros({gtx.Dimension('I'): 4}).ndarray))"
    )
    assert python(code) == "1 None"


class TestAllocator:
    """The questions of gt4py.next's own tests of allocators, to `allocator()` and to theirs while
    ours is installed.
    """

    @pytest.fixture(params=["ours", "theirs"])
    def allocator(self, request: pytest.FixtureRequest) -> Iterator[object]:
        allocators = next_allocators()
        if request.param == "ours":
            yield gbg.allocator()
        else:
            with gbg.install():
                yield allocators.StandardCPUFieldBufferAllocator()

    @pytest.mark.parametrize(
        ("spans", "index", "relative"),
        [
            ({"Cell": (0, 10), "K": (0, 5)}, None, (0, 0)),
            ({"Cell": (0, 10), "K": (0, 5)}, {"Cell": 3}, (3, 0)),
            ({"Cell": (100, 110), "K": (0, 5)}, {"Cell": 103}, (3, 0)),
            ({"Cell": (50, 60), "K": (10, 15)}, {"Cell": 53, "K": 12}, (3, 2)),
            ({"Cell": (100, 110), "K": (20, 25)}, {"Cell": 100, "K": 20}, (0, 0)),
            ({"Cell": (100, 110), "K": (0, 5)}, {"Cell": 103, "Edge": 207}, (3, 0)),
            ({"Edge": (200, 212), "K": (0, 5)}, {"Cell": 103, "Edge": 207}, (7, 0)),
            ({"Edge": (200, 212)}, {"Cell": 103}, (0,)),
        ],
    )
    def test_the_aligned_index(
        self, allocator, spans: dict, index: dict | None, relative: tuple
    ) -> None:  # type: ignore[no-untyped-def]
        import gt4py._core.definitions as definitions
        from gt4py.next import common

        dims = {
            name: common.Dimension(name, common.DimensionKind.HORIZONTAL)
            for name in ("Cell", "Edge")
        }
        dims["K"] = common.Dimension("K", common.DimensionKind.VERTICAL)
        domain = common.domain({dims[name]: span for name, span in spans.items()})
        named = (
            None
            if index is None
            else [common.NamedIndex(dims[name], at) for name, at in index.items()]
        )
        made = allocator.__gt_allocate__(domain, definitions.dtype(float), aligned_index=named)
        assert made.aligned_index == relative and ours(made.ndarray)
        assert (
            made.shape
            == made.ndarray.shape
            == tuple(stop - start for start, stop in spans.values())
        )
        assert (made.ndim, made.strides, made.dtype) == (
            len(spans),
            made.ndarray.strides,
            definitions.dtype(float),
        )
        assert made.layout_map == tuple(len(spans) - 1 - i for i in range(len(spans)))
        assert made.device == definitions.Device(definitions.DeviceType.CPU, 0)
        assert (
            made.byte_alignment == 64
            and made.ndarray[tuple(slice(i, None) for i in relative)].ctypes.data % 64 == 0
        )
        assert made.memory_address + made.byte_offset == made.ndarray.ctypes.data
        assert (
            np.shares_memory(np.asarray(made), made.ndarray)
            and np.from_dlpack(made).shape == made.shape
        )
        assert (
            made.__array_interface__["data"][0] == made.ndarray.ctypes.data
            and made.buffer is made.ndarray.base
        )

    @pytest.mark.parametrize("outside", [50, 99, 110, 120])
    def test_an_index_outside(self, allocator, outside: int) -> None:  # type: ignore[no-untyped-def]
        import gt4py._core.definitions as definitions
        from gt4py.next import common

        cell = common.Dimension("Cell")
        with pytest.raises(
            ValueError,
            match=f"aligned_index: {outside} along Cell is outside the domain range, 100 to 109",
        ):
            allocator.__gt_allocate__(
                common.domain({cell: (100, 110)}),
                definitions.dtype(float),
                aligned_index=[common.NamedIndex(cell, outside)],
            )
        with pytest.raises(ValueError, match="device_id: 1"):
            allocator.__gt_allocate__(
                common.domain({cell: (100, 110)}), definitions.dtype(float), 1
            )


@pytest.mark.skipif(
    not hasattr(gt4py.storage.cartesian, "layout_registry"), reason="this gt4py is one of those"
)
def test_a_gt4py_whose_registry_is_in_layout() -> None:
    """gt4py before 1.1.10, as NDSL pins it."""
    code = """
import sys
from gt4py.storage.cartesian import layout_registry
sys.modules["gt4py.storage.cartesian.layout"] = layout_registry
import gt4py.storage.cartesian
gt4py.storage.cartesian.layout = layout_registry
del gt4py.storage.cartesian.layout_registry
sys.modules["gt4py.storage.cartesian.layout_registry"] = None
import numpy as np, gridbuf as gb, gridbuf.interop.ndsl
import gt4py.storage
with gridbuf.interop.ndsl.install():
    a, b = np.zeros(10), gt4py.storage.zeros((4, 5), backend="gt:cpu_ifirst")
print(all(gb.memory.buffer_id(each) is not None for each in (a, b)))
"""
    assert python(code).strip() == "True"
