"""The checksums of checkpoints of version 1, which gridbuf 0.2 wrote: as `_core.checksum`, with
another number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


def first_checksum(words: NDArray[Any], start: Sequence[int], seed: int) -> int:
    """The sum of the states of all elements, each after its place and its words."""
    state: Words = np.array(seed % 2**64, np.uint64)
    for first, n in zip(start, words.shape[:-1], strict=True):
        state = mixed(state[..., None], np.arange(first, first + n, dtype=np.uint64))
    for k in range(words.shape[-1]):
        state = mixed(state, words[..., k].astype(np.uint64))
    return int(state.sum(dtype=np.uint64))


def mixed(state: Words, word: Words) -> Words:
    """A state after one more word, by the finalizer of splitmix64."""
    x = np.atleast_1d(state) * np.uint64(0x9E3779B97F4A7C15) + word
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)
