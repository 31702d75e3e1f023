"""A model in NumPy with an emulator of its physics in JAX: the state is shared, and a gradient goes
through the emulator.

    python jax_emulator.py --steps 20 --rounds 5

Each step advects the state in NumPy, then adds what the emulator says; the emulator, two dense
layers along the column, is trained on the way. The same is done on copies of the state, and by JAX
alone, all timed in turns. A Field that XLA can share is compact and begins at a multiple
of 64 bytes:
`gridbuf.interop.jax.empty` makes one.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gridbuf.interop.jax as gbj
from gridbuf.interop import numpy as handler

jax.config.update("jax_enable_x64", True)
WIDTH = 32


def parameters(levels: int) -> dict[str, jax.Array]:
    """The weights of the emulator, small and the same in each run."""
    rng = np.random.default_rng(1)
    return {
        "in": jnp.asarray(rng.normal(size=(levels, WIDTH)) * 0.05),
        "out": jnp.asarray(rng.normal(size=(WIDTH, levels)) * 0.05),
    }


def tendency(weights: dict[str, jax.Array], state: jax.Array) -> jax.Array:
    return jnp.tanh(state @ weights["in"]) @ weights["out"]


def loss(weights: dict[str, jax.Array], state: jax.Array) -> jax.Array:
    """How far the emulated tendency is from a relaxation to the column's mean."""
    wanted = 0.1 * (state.mean(axis=-1, keepdims=True) - state)
    return jnp.mean((tendency(weights, state) - wanted) ** 2)


@jax.jit
def trained(weights: dict[str, jax.Array], state: jax.Array) -> tuple[Any, jax.Array, jax.Array]:
    """Weights after a step of training, the tendency, and the loss."""
    found, gradient = jax.value_and_grad(loss)(weights, state)
    weights = jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradient)
    return weights, tendency(weights, state), found


def advect(state: np.ndarray[Any, Any]) -> None:
    """Upwind to the east, in place."""
    state -= 0.25 * (state - np.roll(state, 1, axis=0))


def run(
    state: np.ndarray[Any, Any], weights: Any, steps: int, into_jax: Callable[[Any], jax.Array]
) -> float:
    """Steps of the whole program; the last loss."""
    found = 0.0
    for _ in range(steps):
        advect(state)
        weights, change, value = trained(weights, into_jax(state))
        state += np.asarray(change)
        found = float(value)
    return found


@jax.jit
def stepped(state: jax.Array, weights: Any) -> tuple[jax.Array, Any, jax.Array]:
    """A step of the program in JAX alone."""
    state = state - 0.25 * (state - jnp.roll(state, 1, axis=0))
    weights, change, found = trained(weights, state)
    return state + change, weights, found


def run_in_jax(start: np.ndarray[Any, Any], weights: Any, steps: int) -> float:
    """Steps of the program in JAX alone; the last loss."""
    state, found = jnp.array(start), 0.0
    for _ in range(steps):
        state, weights, value = stepped(state, weights)
        found = float(value)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shape", nargs=3, type=int, default=[64, 64, 40])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    start = np.random.default_rng(0).random(given.shape)
    weights = parameters(given.shape[-1])

    field = gbj.empty(tuple(given.shape), "float64")
    shared = field.numpy()
    plain = start.copy()
    ways: dict[str, tuple[Any, Callable[[Any], jax.Array]]] = {
        "a copy into JAX": (plain, lambda a: jnp.array(a, copy=True)),
        "shared with JAX": (shared, lambda a: gbj.to_array(field)),
    }
    assert gbj.to_array(field).unsafe_buffer_pointer() == shared.ctypes.data

    for enabled in (False, True):
        if enabled:
            handler.enable()
        least = dict.fromkeys([*ways, "JAX alone"], float("inf"))
        losses = {}
        for _ in range(given.rounds):
            for name, (state, into_jax) in ways.items():
                state[...] = start
                before = time.process_time()
                losses[name] = run(state, weights, given.steps, into_jax)
                least[name] = min(least[name], (time.process_time() - before) / given.steps)
            before = time.process_time()
            losses["JAX alone"] = run_in_jax(start, weights, given.steps)
            least["JAX alone"] = min(
                least["JAX alone"], (time.process_time() - before) / given.steps
            )
        assert np.allclose([*losses.values()], losses["JAX alone"], rtol=1e-9), losses
        memory = "gridbuf's memory" if enabled else "NumPy's memory"
        for name, seconds in least.items():
            print(
                f"{memory}, {name}: {seconds * 1e3:.2f} ms of CPU a step, loss {losses[name]:.6f}"
            )


if __name__ == "__main__":
    main()
