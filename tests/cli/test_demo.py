"""The demo: its parts against NumPy, and the whole of it once, small."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gridbuf as gb
from gridbuf import machine

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

for package in ("gt4py", "netCDF4", "iris_sample_data", "matplotlib", "rich"):
    pytest.importorskip(package)


@pytest.fixture(scope="module", autouse=True)
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is written beside the tests; DaCe reads this when it is first imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DACE_CONFIG", str(tmp_path_factory.mktemp("dace") / ".dace.conf"))
        yield


def some_values(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(7).uniform(280, 300, shape)


# ---- data ----


def test_the_real_field_is_what_the_file_holds() -> None:
    from demo import data

    weather = data.load()
    assert weather.values.shape == (15, 100, 100) and weather.values.dtype == np.float32
    assert (weather.name, weather.units) == ("air_potential_temperature", "K")
    assert 287 < weather.values.min() < weather.values.max() < 290
    assert len(weather.heights) == 15 and len(weather.latitudes) == len(weather.longitudes) == 100
    assert np.all(np.diff(weather.longitudes) > 0), "no jump where degrees wrap"


def test_tiling_keeps_the_field_and_mirrors_it_without_a_seam() -> None:
    from demo import data

    values = some_values((3, 4, 5)).astype(np.float32)  # K, J, I
    tiled = data.tile(values, (12, 9, 7))
    assert tiled.shape == (12, 9, 7) and tiled.dtype == np.float64 and tiled.flags.c_contiguous
    np.testing.assert_array_equal(tiled[:5, :4, :3], values.transpose(2, 1, 0))
    np.testing.assert_array_equal(tiled[5:10], tiled[:5][::-1])
    np.testing.assert_array_equal(tiled[10:], tiled[:2])


# ---- the reference ----


def test_the_reference_is_the_heat_equation() -> None:
    """A cosine decays by a known factor each step."""
    from demo import data

    n, coefficient, steps = 64, 0.2, 30
    x = np.arange(n)
    wave = np.cos(np.pi * (x[:, None, None] - 0.5) / (n - 2)) * np.ones((1, n, 2))
    result = data.diffuse(wave, steps, coefficient)
    factor = 1 - 2 * coefficient * (1 - np.cos(np.pi / (n - 2)))
    inner = slice(steps + 1, -steps - 1)  # as far in as the closed rim has not reached
    np.testing.assert_allclose(
        result[inner, inner], wave[inner, inner] * factor**steps, rtol=1e-12, atol=1e-14
    )


def test_the_reference_never_writes_the_rim_or_its_input() -> None:
    from demo import data

    values = some_values((7, 8, 3))
    kept = values.copy()
    for steps in (1, 2, 5):
        result = data.diffuse(values, steps, 0.2)
        np.testing.assert_array_equal(values, kept)
        rim = np.ones((7, 8), bool)
        rim[1:-1, 1:-1] = False
        np.testing.assert_array_equal(result[rim], values[rim])
        assert np.all(result[1:-1, 1:-1] != values[1:-1, 1:-1])


def test_an_error_at_one_point_is_found_and_a_nan_does_not_hide() -> None:
    from demo import data

    expected = some_values((5, 6, 7))
    result = expected.copy()
    result[0, 5, 6] += 0.25
    assert data.max_error(result, expected) == pytest.approx(0.25)
    result[2, 2, 2] = np.nan
    assert not data.max_error(result, expected) <= 1e9


# ---- stencils and measurement ----


def test_every_cpu_backend_that_gt4py_registers_is_there() -> None:
    from demo import stencils
    from gt4py.cartesian.backend import REGISTRY

    backends = stencils.cpu_backends()
    assert (
        {"numpy", "debug", "gt:cpu_ifirst", "gt:cpu_kfirst"} <= set(backends) <= set(REGISTRY.names)
    )
    assert not any("gpu" in name for name in backends)


@pytest.mark.parametrize("steps", [1, 7, 23])
def test_each_kind_of_array_ends_where_the_reference_does(steps: int) -> None:
    from demo import data, measure, stencils

    values = some_values((14, 12, 5))
    expected = data.diffuse(values, steps, stencils.COEFFICIENT)
    entered, counted = measure.contenders(values, "numpy"), []
    measure.race(stencils.compiled("numpy"), entered, steps, advance=counted.append)
    assert sum(counted) == 3 * steps
    scores = measure.score("numpy", entered, lambda result: data.max_error(result, expected))
    assert [s.kind for s in scores] == [measure.GRIDBUF, measure.GT4PY, measure.PLAIN]
    assert all(s.error < 1e-11 and s.ms_per_step > 0 for s in scores)
    assert scores[2].speedup == 1 and all(s.unrest >= 1 for s in scores)
    assert len({len(c.round_seconds) for c in entered}) == 1


def test_the_stencil_is_told_nothing_about_fields() -> None:
    from demo import measure

    ours, theirs, plain = measure.contenders(some_values((9, 8, 4)), "gt:cpu_ifirst")
    assert ours.keywords == {} and theirs.keywords == plain.keywords == {"origin": (1, 1, 0)}
    assert type(plain.now) is np.ndarray and plain.now.flags.c_contiguous
    assert gb.Plan.of(ours.now).layout == gb.Plan.of(theirs.now).layout == (2, 1, 0)


def test_warming_up_changes_no_value() -> None:
    from demo import measure, stencils

    values = some_values((9, 8, 4))
    for contender in measure.contenders(values, "numpy"):
        contender.warm_up(stencils.compiled("numpy"))
        np.testing.assert_array_equal(gb.as_numpy(contender.now, "IJK"), values)


def test_a_race_with_uneven_rounds_is_called_disturbed() -> None:
    from demo import measure
    from demo.measure import disturbed

    def score(backend: str, *seconds: float) -> list[measure.Score]:
        plain = measure.Contender(
            measure.PLAIN, np.zeros((3, 3, 1)), None, round_seconds=[1.0] * len(seconds)
        )
        ours = measure.Contender(
            measure.GRIDBUF, np.zeros((3, 3, 1)), None, round_seconds=list(seconds)
        )
        return measure.score(backend, [ours, plain], lambda result: 0.0)

    calm, rough = score("calm", 0.5, 0.5, 0.55), score("rough", 0.5, 2.0, 2.0)
    assert (calm[0].speedup, calm[0].ms_per_step, calm[0].unrest) == (2, 500, 1)
    assert (rough[0].speedup, rough[0].ms_per_step, rough[0].unrest) == (0.5, 2000, 4)
    assert disturbed(calm + rough) == ["rough"]


@pytest.mark.parametrize("offset", [0, 1, 2, 8])
def test_alignment_is_read_off_the_address(offset: int) -> None:
    from gridbuf.strides import boundary

    array = gb.empty(1024, np.uint8, byte_alignment=64)[offset:]
    found = boundary(array.ctypes.data)
    assert array.ctypes.data % found == 0
    assert found == 4096 or array.ctypes.data % (2 * found)


def test_the_field_is_diffused_in_place_of_the_file_order() -> None:
    """K, J, I as in the file, through gt4py, against the reference on I, J, K."""
    from demo import data, stencils

    values = some_values((4, 9, 11))
    now = gb.Field.from_array(values, dims="KJI", halo=(0, 1, 1), backend="numpy")
    after, stencil = now.copy(), stencils.compiled("numpy")
    for _ in range(5):
        stencil(now, after, stencils.COEFFICIENT)
        now, after = after, now
    expected = data.diffuse(values.transpose(2, 1, 0), 5, stencils.COEFFICIENT)
    assert data.max_error(gb.as_numpy(now, "IJK"), expected) < 1e-11


def test_all_pointers_into_a_field_are_one() -> None:
    from demo.stencils import pointers

    field = gb.Field.zeros((5, 6, 7), dims="KJI", halo=(0, 1, 1), backend="gt:cpu_ifirst")
    addresses = pointers(field)
    assert len(addresses) >= 5 and len(set(addresses.values())) == 1


# ---- the whole ----


def demo(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "demo", *words], cwd=EXAMPLES, capture_output=True, text=True,
        env={**os.environ, **env}, timeout=300
    )  # fmt: skip


@pytest.mark.slow
def test_the_demo_from_the_command_line(tmp_path: Path) -> None:
    done = demo(
        "--backend",
        "numpy",
        "--size",
        "20",
        "18",
        "6",
        "--steps",
        "12",
        "--ranks",
        "0",
        "--output",
        str(tmp_path / "out"),
    )
    assert done.returncode == 0, done.stderr
    assert "all pointers are equal" in done.stdout
    assert all(kind in done.stdout for kind in ("gridbuf Field", "gt4py.storage", "plain C order"))
    assert "12 diffusion steps on 20 x 18 x 6 points" in done.stdout
    picture = tmp_path / "out" / "gridbuf-demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 50_000


@pytest.mark.slow
def test_the_demo_on_a_backend_that_compiles(tmp_path: Path) -> None:
    from gridbuf.doctor import cxx_compiler

    if cxx_compiler() is None:
        pytest.skip("no C++ compiler")
    words = (
        "--backend",
        "gt:cpu_ifirst",
        "--size",
        "20",
        "18",
        "6",
        "--steps",
        "12",
        "--ranks",
        "2",
    )
    done = demo(*words, "--output", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "K J I" in done.stdout and "every bit is what one process made" in done.stdout
    assert machine.missing_for_mpi() or "The same 12 steps on 2 processes" in done.stdout, (
        done.stdout
    )
    assert (tmp_path / "out" / "gridbuf-demo-blocks.png").read_bytes().startswith(b"\x89PNG")


def test_a_missing_compiler_is_one_line(tmp_path: Path) -> None:
    done = demo("--output", str(tmp_path), CXX="no-such-compiler")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("demo: no C++ compiler: 'no-such-compiler' is not on PATH")


@pytest.mark.slow
def test_a_compiler_that_fails_is_one_line(tmp_path: Path) -> None:
    done = demo(
        "--output",
        str(tmp_path),
        "--backend",
        "gt:cpu_ifirst",
        CXX="false",
        GT_CACHE_ROOT=str(tmp_path),
    )
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("demo: gt:cpu_ifirst: gt4py could not compile the stencil")


@pytest.mark.slow
def test_a_backend_that_does_not_compile_is_left_out_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from demo import stencils
    from demo.__main__ import main

    def compiled(backend: str) -> object:
        if backend == "numpy":
            return honest(backend)
        os.write(2, f"{backend}.cpp: error: no\n".encode())
        raise SystemExit("error: command 'c++' failed")

    honest = stencils.compiled
    monkeypatch.setattr(stencils, "compiled", compiled)
    monkeypatch.setattr(
        stencils, "PURE_PYTHON", frozenset(stencils.cpu_backends()) - {"numpy", "gt:cpu_ifirst"}
    )
    monkeypatch.setattr("demo.__main__._slow_backends", lambda *_: 0.0)
    assert (
        main(
            [
                "--size",
                "12",
                "12",
                "4",
                "--steps",
                "4",
                "--ranks",
                "0",
                "--output",
                str(tmp_path),
            ]
        )
        == 1
    )
    out, err = capfd.readouterr()
    assert (
        "left out: gt:cpu_ifirst" in out
        and "command 'c++' failed" in out
        and "gridbuf Field" in out
    )
    assert err == "" and (tmp_path / "compile.log").read_text() == "gt:cpu_ifirst.cpp: error: no\n"


def test_a_missing_package_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from demo import __main__
    from demo.__main__ import main

    monkeypatch.setattr(
        __main__, "find_spec", lambda name: None if name in ("rich", "netCDF4") else object()
    )
    assert main([]) == 2
    error = capsys.readouterr().err.strip()
    assert (
        error == "demo: not installed: netCDF4, rich; get what the demo needs with: pip install"
        " 'gridbuf[demo]'"
    )


@pytest.mark.parametrize("name", ["debug", "gt:gpu", "gtcpu"])
def test_a_backend_that_cannot_be_timed_is_one_line_with_the_choice(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from demo.__main__ import main

    assert main(["--backend", name, "--output", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert (
        error.startswith("demo: --backend: ")
        and "gt:cpu_ifirst" in error
        and len(error.splitlines()) == 1
    )


@pytest.mark.slow
def test_a_wrong_result_fails_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from demo import data
    from demo.__main__ import main

    honest = data.diffuse
    monkeypatch.setattr(
        data, "diffuse", lambda values, steps, c, **kw: honest(values, steps, 1.001 * c, **kw)
    )
    assert (
        main(
            [
                "--backend",
                "numpy",
                "--size",
                "12",
                "12",
                "4",
                "--steps",
                "4",
                "--ranks",
                "0",
                "--output",
                str(tmp_path),
            ]
        )
        == 1
    )
    assert "more than rounding" in capsys.readouterr().out


def test_further_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of both tables, and the bits of the fused step."""
    from demo import further, stencils

    monkeypatch.setattr(further, "SHAPES", ((12, 9, 7), (9, 12, 4)))
    values, stencil = some_values((3, 4, 5)), stencils.compiled("numpy")
    assert further.shapes(values, "numpy", stencil).row_count == 2
    table, same = further.notation(values, "numpy", stencil)
    assert same and table.row_count == 3


@pytest.mark.parametrize(
    ("ratio", "said"), [(1.4, "1.40 times as fast"), (0.8, "25% slower"), (1.01, "as fast")]
)
def test_ratios_in_words(ratio: float, said: str) -> None:
    from demo import further

    assert further.in_words(ratio) == said
