"""What users of other libraries call, with a Field or a storage in the place of an array: the
values that the plain array gives, or a refusal that REFUSED names.
"""

import copy
import operator
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trials import OURS, A

Calls = dict[str, Callable[[Any], Any]]

ROW = np.array([1.0, 2.0, 3.0, 4.0])
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.lt, operator.ge, operator.eq,
]  # fmt: skip


def changed(obj: Any, change: Callable[[Any], Any]) -> Any:
    change(obj)
    return obj


def beside(theirs: Callable[[np.ndarray], Any]) -> Calls:
    """Operators, ufuncs, functions of NumPy, keys and assignment, with another's array on either
    side.
    """
    calls: Calls = {}
    for op in OPERATORS:
        calls[f"x {op.__name__} theirs"] = lambda x, op=op: op(x, theirs(A))
        calls[f"theirs {op.__name__} x"] = lambda x, op=op: op(theirs(A), x)
    return calls | {
        "add": lambda x: np.add(x, theirs(A)),
        "add turned": lambda x: np.add(theirs(A), x),
        "x += theirs": lambda x: operator.iadd(x, theirs(A)),
        "theirs += x": lambda x: operator.iadd(theirs(A.copy()), x),
        "x * number": lambda x: x * theirs(A)[0, 1],
        "number * x": lambda x: theirs(A)[0, 1] * x,
        "where": lambda x: np.where(x > 3, x, theirs(A)),
        "where turned": lambda x: np.where(theirs(A) > 3, x, 0),
        "concatenate": lambda x: np.concatenate([x, theirs(A)]),
        "stack": lambda x: np.stack([theirs(A), x]),
        "clip": lambda x: np.clip(x, theirs(A) - 1, 5),
        "allclose": lambda x: np.allclose(x, theirs(A)),
        "average": lambda x: np.average(x, weights=theirs(A)),
        "copyto": lambda x: changed(x, lambda x: np.copyto(x, theirs(A + 1))),
        "x[...] = theirs": lambda x: changed(x, lambda x: x.__setitem__(..., theirs(A + 1))),
        "theirs[...] = x": lambda x: changed(theirs(A * 0), lambda t: t.__setitem__(..., x)),
        "x[mask]": lambda x: x[theirs(A > 3)],
        "x[numbers]": lambda x: x[theirs(np.array([2, 0]))],
        "x[mask] = 0": lambda x: changed(x, lambda x: x.__setitem__(theirs(A > 3), 0.0)),
        "theirs[x > 3]": lambda x: theirs(A)[x > 3],
        "take": lambda x: np.take(x, theirs(np.array([2, 0])), axis=0),
    }


def _torch(_: Path) -> Calls:
    torch = pytest.importorskip("torch")
    return beside(lambda a: torch.from_numpy(a.copy())) | {
        "tensor": torch.tensor,
        "tensor of rows": lambda x: torch.tensor([x[0], x[1]]),
        "as_tensor": torch.as_tensor,
        "from_dlpack": torch.from_dlpack,
        "asarray, which gives a row": lambda x: torch.asarray(x).flatten(),
        "written": lambda x: changed(x, lambda x: torch.from_dlpack(x).mul_(2)),
        "pickle": lambda x: pickle.loads(pickle.dumps(torch.as_tensor(x))),
        "deepcopy": lambda x: copy.deepcopy(torch.as_tensor(x)),
        "numpy": lambda x: np.asarray(torch.as_tensor(x)),
        "function": lambda x: torch.nn.functional.relu(torch.as_tensor(x)),
        "sum on either side": lambda x: x.sum() * torch.from_numpy(A) + x.mean(),
    }


def _jax(_: Path) -> Calls:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    return beside(jnp.asarray) | {
        "asarray": jnp.asarray,
        "array of rows": lambda x: jnp.array([x[0], x[1]]),
        "from_dlpack": jnp.from_dlpack,
        "function": lambda x: jnp.sin(jnp.asarray(x)),
        "raw function": jnp.sin,
        "raw jit": lambda x: jax.jit(lambda a: a * 2)(x),
        "at": lambda x: jnp.asarray(A).at[...].set(jnp.asarray(x)),
        "in a closure": lambda x: jax.jit(lambda a: a + jnp.asarray(x))(jnp.asarray(A)),
        "sum on either side": lambda x: x.sum() * jnp.asarray(A) + x.mean(),
        "zeros_like": jnp.zeros_like,
        "pickle": lambda x: pickle.loads(pickle.dumps(jnp.asarray(x))),
        "numpy": lambda x: np.asarray(jnp.asarray(x)),
    }


def _numba(_: Path) -> Calls:
    numba = pytest.importorskip("numba")
    pytest.importorskip("gridbuf.interop.numba")
    half = numba.vectorize(["float64(float64)"])(lambda a: a / 2)
    many = numba.vectorize(["boolean(float64)"])(lambda a: a > 3)
    join = numba.vectorize(["float64(float64,float64)"])(lambda a, b: a + b)
    alone = numba.vectorize(lambda a, b: a + 2 * b)

    @numba.njit
    def total(a: Any) -> Any:
        return a.sum() + a[0, 1] + a.shape[1]

    @numba.njit
    def write(a: Any) -> None:
        a[0, 0] = 7.0

    @numba.stencil
    def beside_it(a: Any) -> Any:
        return a[0, 1] + a[0, -1]

    @numba.guvectorize(["(float64[:],float64[:])"], "(n)->()")
    def rows(row: Any, out: Any) -> None:
        out[0] = row.sum()

    return {
        "ufunc": half,
        "ufunc of views": lambda x: half(x[::2, 1:].T),
        "ufunc, compiled when called": lambda x: alone(x, A) + alone(2.0, x),
        "out": lambda x: half(A, out=x),
        "out by position": lambda x: many(x, np.zeros((3, 4), bool)),
        "casting": lambda x: half(x, casting="unsafe"),
        "dtype": lambda x: join(x, A, dtype="f8"),
        "reduce": lambda x: join.reduce(x, axis=1),
        "accumulate": join.accumulate,
        "outer": lambda x: join.outer(x[0], x[1]),
        "at": lambda x: changed(x, lambda x: join.at(x, (np.array([0, 0]),), 1.0)),
        "guvectorize": rows,
        "njit": total,
        "njit of a view": lambda x: total(x[::2, ::-1].T),
        "njit writes": lambda x: changed(x, write),
        "njit of a list": lambda x: numba.njit(lambda xs: xs[0][0, 1])([x, x]),
        "stencil": beside_it,
    }


def _xarray(folder: Path) -> Calls:
    xr = pytest.importorskip("xarray")

    def wrap(a: Any) -> Any:
        return xr.DataArray(a, dims=tuple("IJ")[: np.ndim(a)])

    return beside(wrap) | {
        "wrapped": wrap,
        "mean": lambda x: wrap(x).mean(),
        "sum": lambda x: wrap(x).sum("I"),
        "where": lambda x: wrap(x).where(wrap(A) > 3, x),
        "where of x": lambda x: wrap(A).where(x > 3, 0),
        "isel": lambda x: wrap(x).isel(I=0) + wrap(A).isel(I=int(x[0].argmin())),
        "coordinates": lambda x: wrap(A).assign_coords(J=x[1]).sel(J=6.0),
        "rolling": lambda x: wrap(x).rolling(J=2).mean(),
        "concat": lambda x: xr.concat([wrap(x), wrap(A)], "I"),
        "groupby": lambda x: wrap(x).assign_coords(g=("I", [0, 0, 1])).groupby("g").sum(),
        "dot": lambda x: xr.dot(wrap(x), wrap(A), dim="J"),
        "apply_ufunc": lambda x: xr.apply_ufunc(np.add, x, wrap(A)),
        "dataset": lambda x: (xr.Dataset({"a": (("I", "J"), x)}) * 2).a,
        "assigned": lambda x: changed(wrap(A * 0), lambda d: d.__setitem__(..., x)),
        "written": lambda x: changed(x, lambda x: wrap(x).__setitem__((0, 0), 9.0)),
        "deepcopy": lambda x: copy.deepcopy(wrap(x)),
        "pickle": lambda x: pickle.loads(pickle.dumps(wrap(x))),
        "pandas": lambda x: wrap(x).to_pandas(),
        "repr": lambda x: len(repr(wrap(x))),
        "chunk": lambda x: wrap(x).chunk({"I": 1}).sum("J"),
    }


def _dask(_: Path) -> Calls:
    da = pytest.importorskip("dask.array")

    def chunked(x: Any) -> Any:
        return da.from_array(x, chunks=2)

    return beside(lambda a: chunked(np.asarray(a))) | {
        "asarray": da.asarray,
        "sum": lambda x: chunked(x).sum(),
        "mean": lambda x: chunked(x).mean(axis=1),
        "std": lambda x: chunked(x).std(axis=0),
        "cumsum": lambda x: chunked(x).cumsum(axis=0),
        "transpose": lambda x: chunked(x).T + 1,
        "reshape": lambda x: chunked(x).reshape(12),
        "rechunk": lambda x: chunked(x).rechunk((3, 1)),
        "concatenate chunks": lambda x: da.concatenate([chunked(x), chunked(A)]),
        "where chunks": lambda x: da.where(chunked(x) > 3, chunked(x), 0),
        "mask": lambda x: chunked(x)[chunked(x) > 3],
        "dot": lambda x: chunked(x).dot(chunked(A.T)),
        "tensordot": lambda x: da.tensordot(chunked(x), chunked(A), axes=((0,), (0,))),
        "map_blocks": lambda x: chunked(x).map_blocks(lambda b: b * 2),
        "store": lambda x: changed(x, lambda x: da.store(da.from_array(A + 1), x)),
        "pickle": lambda x: pickle.loads(pickle.dumps(chunked(x))),
        "deepcopy": lambda x: copy.deepcopy(chunked(x)),
    }


def _scipy(_: Path) -> Calls:
    pytest.importorskip("scipy")
    from scipy import fft, integrate, interpolate, linalg, ndimage, signal, sparse, special, stats

    return {
        "filter": lambda x: ndimage.gaussian_filter(x, 1),
        "label": lambda x: ndimage.label(x > 3)[0],
        "coordinates": lambda x: ndimage.map_coordinates(A, x[:2] / 4),
        "interp1d": lambda x: interpolate.interp1d(ROW, x)(1.5),
        "spline": lambda x: interpolate.CubicSpline(ROW, x[0])(x[0] + 0.5),
        "solve": lambda x: linalg.solve(x[:, :3] + 9 * np.eye(3), x[:, 3]),
        "svd": lambda x: linalg.svd(x)[1],
        "convolve": lambda x: signal.fftconvolve(x, A),
        "detrend": signal.detrend,
        "zscore": stats.zscore,
        "regression": lambda x: stats.linregress(x[0], x[1])[0],
        "csr": lambda x: sparse.csr_array(x).toarray(),
        "csr @ x": lambda x: sparse.csr_array(A.T) @ x,
        "x @ csr": lambda x: x @ sparse.csr_array(A.T),
        "csr * x": lambda x: (sparse.csr_array(A) * x).toarray(),
        "csr + x": lambda x: sparse.csr_array(A) + x,
        "trapezoid": integrate.trapezoid,
        "initial values": lambda x: integrate.solve_ivp(lambda t, y: -y, (0, 1), x[0]).y,
        "right side": lambda x: integrate.solve_ivp(lambda t, y: -y * x[0], (0, 1), ROW).y,
        "fft2": fft.fft2,
        "gamma": special.gamma,
        "logsumexp": lambda x: special.logsumexp(x, axis=0),
        "out": lambda x: special.expit(A, out=x),
    }


def _pandas(_: Path) -> Calls:
    pd = pytest.importorskip("pandas")
    return {
        "DataFrame": pd.DataFrame,
        "columns": lambda x: pd.DataFrame({"a": x[0], "b": x[1]}),
        "series + row": lambda x: pd.Series(ROW) + x[0],
        "row + series": lambda x: x[0] + pd.Series(ROW),
        "frame + x": lambda x: pd.DataFrame(A) + x,
        "where": lambda x: pd.DataFrame(A).where(x > 3),
        "assign": lambda x: pd.DataFrame(A).assign(z=x[:, 0]),
        "index": lambda x: pd.Series(ROW, index=x[0]),
        "deepcopy": lambda x: copy.deepcopy(pd.DataFrame(x)),
        "pickle": lambda x: pickle.loads(pickle.dumps(pd.DataFrame(x))),
        "dot": lambda x: pd.DataFrame(A) @ x.T,
    }


def _numexpr(_: Path) -> Calls:
    ne = pytest.importorskip("numexpr")
    return {
        "expression": lambda x: ne.evaluate("2 * x + a", {"x": x, "a": A}),
        "of views": lambda x: ne.evaluate("2 * x", {"x": x[::2, 1:]}),
        "sum": lambda x: ne.evaluate("sum(x, axis=0)", {"x": x}),
        "where": lambda x: ne.evaluate("where(x > 3, x, 0)", {"x": x}),
        "out": lambda x: ne.evaluate("a + 1", {"a": A}, out=x),
    }


def _zarr(folder: Path) -> Calls:
    zarr = pytest.importorskip("zarr")

    def new(data: np.ndarray = A) -> Any:
        return zarr.create_array({}, data=data.copy(), chunks=(2, 2))

    def written(key: Any, value: Any) -> Any:
        return changed(new(), lambda z: z.__setitem__(key, value))[...]

    def saved(x: Any) -> Any:
        path = folder / f"{len(list(folder.iterdir()))}.zarr"
        zarr.save(str(path), x)
        return zarr.load(str(path))

    return {
        "array": lambda x: zarr.array(x)[...],
        "create_array": lambda x: zarr.create_array({}, data=x)[...],
        "save": saved,
        "z[...] = x": lambda x: written(..., x + 1),
        "z[0] = row": lambda x: written(0, x[1]),
        "z[:, 1] = column": lambda x: written((slice(None), 1), x[:, 2]),
        "z[mask] = number": lambda x: written(x > 3, x[0, 0]),
        "z[...] = number": lambda x: written(..., x[0, 0]),
        "z[mask]": lambda x: new()[x > 3],
        "x[...] = z": lambda x: changed(x, lambda x: x.__setitem__(..., new(A + 1))),
        "x + z": lambda x: x + new(),
        "x + z[...]": lambda x: x + new()[...],
    }


def _netcdf(_: Path) -> Calls:
    netcdf = pytest.importorskip("netCDF4")

    def written(key: Any, value: Any, unlimited: bool = False) -> Any:
        with netcdf.Dataset("memory.nc", "w", diskless=True) as dataset:
            for name, size in {"t": None, "i": 3, "j": 4}.items():
                dataset.createDimension(name, size)
            dims = ("t", "i", "j") if unlimited else ("i", "j")
            stored = dataset.createVariable("v", "f8", dims)
            stored[key] = value
            return np.ma.filled(stored[...], -1)

    return {
        "v[...] = x": lambda x: written(..., x),
        "v[...] = transposed twice": lambda x: written(..., x.T.T),
        "v[0] = row": lambda x: written(0, x[1]),
        "v[:, 1] = column": lambda x: written((slice(None), 1), x[:, 0]),
        "v[t] = x": lambda x: written(1, x, unlimited=True),
        "v[...] = integers": lambda x: written(..., x.astype("i4")),
        "v[...] = number": lambda x: written(..., x[0, 1]),
        "v[rows] = rows": lambda x: written(slice(0, 3, 2), x[::2]),
        "x + v[...]": lambda x: x + written(..., A),
        "v[...] + x": lambda x: written(..., A) + x,
    }


def _numpys(folder: Path) -> Calls:
    """What is often handed to functions that take arrays of NumPy's own."""
    return beside(lambda a: a) | {
        "tofile": lambda x: (x.tofile(folder / "x.bin"), np.fromfile(folder / "x.bin"))[1],
        "save": lambda x: (np.save(folder / "x.npy", x), np.load(folder / "x.npy"))[1],
        "savetxt": lambda x: (np.savetxt(folder / "x.txt", x), np.loadtxt(folder / "x.txt"))[1],
        "transpose by a list": lambda x: x.transpose([1, 0]),
        "transpose by an array": lambda x: x.transpose(np.array([1, 0])),
        "outer": lambda x: np.multiply.outer(x[0], x[1]),
        "view": lambda x: x.view(),
        "masked": lambda x: np.ma.masked_greater(x, 3).filled(0),
        "random choice": lambda x: np.random.default_rng(1).permutation(x),
        "polynomial": lambda x: np.polynomial.Polynomial(x[0])(x),
        "deepcopy": copy.deepcopy,
        "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    }


CONSUMERS = [
    _numpys, _torch, _jax, _numba, _xarray, _dask, _scipy, _pandas, _numexpr, _zarr, _netcdf,
]  # fmt: skip

ALL = "named unnamed storage"
BESIDE = beside(np.asarray)
# Storages go by name, and leave an array of another library that has none.
NAMELESS = {
    name: "storage" for name in BESIDE if "[" not in name and name not in ("x += theirs", "take")
}
# What a plain array does and ours does not, for which of OURS: by names (a matrix product, `outer`,
# numbers with names as a key), because a file is read by intent alone, or because the other library
# asks for numpy.ndarray itself, or for a type that it knows. xarray's ufuncs refuse an operand that
# they do not know, its operators do not.
REFUSED: dict[str, dict[str, str]] = {
    "numpys": {"outer": "named"},
    "torch": {"theirs[x > 3]": ALL},
    "jax": {"raw function": ALL, "raw jit": ALL, "theirs[x > 3]": ALL},
    "numba": {
        "outer": "named",
        "guvectorize": "named",
        **dict.fromkeys(
            ("at", "njit", "njit of a view", "njit writes", "njit of a list", "stencil"), "storage"
        ),
    },
    "xarray": {
        "x[numbers]": "named",
        "x += theirs": ALL,
        **dict.fromkeys(("add", "add turned", "clip"), "storage"),
    },
    "dask": NAMELESS,
    "scipy": {"csr + x": ALL},
    "pandas": {"frame + x": ALL},
    "numexpr": {"out": ALL},
    "zarr": {"x + z": ALL},
    "netcdf": {},
}


def plain(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return [plain(each) for each in result]
    detached = result.detach() if hasattr(result, "detach") else result
    return np.asarray(detached.compute() if hasattr(detached, "compute") else detached)


def attempt(call: Callable[[Any], Any], x: Any) -> Any:
    """The values, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(call(x))
        except Exception as error:
            return error


@pytest.mark.parametrize("ours", OURS)
@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda each: each.__name__[1:])
def test_the_values_are_those_of_an_array(
    consumer: Callable[[Path], Calls], ours: str, tmp_path: Path
) -> None:
    refused = REFUSED[consumer.__name__[1:]]
    calls = consumer(tmp_path)
    differing = [f"{name} is no call" for name in refused if name not in calls]
    for name, call in calls.items():
        wanted, found = attempt(call, A.copy()), attempt(call, OURS[ours](A.copy()))
        if isinstance(wanted, Exception):
            if name not in BESIDE:
                differing.append(f"{name} fails with an array: {wanted}")
        elif ours in refused.get(name, "").split():
            if not isinstance(found, Exception):
                differing.append(f"{name} is not refused")
        elif isinstance(found, Exception):
            differing.append(f"{name}: {type(found).__name__}: {str(found)[:200]}")
        elif not (wanted.shape == found.shape and np.allclose(wanted, found, equal_nan=True)):
            differing.append(f"{name}: {found}, not {wanted}")
    assert not differing, "\n".join(differing)
