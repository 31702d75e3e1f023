"""Large blocks in use lie at no distance that aliases: a multiple of 32 MiB, nearly."""

import itertools
import random

import in_child
import pytest

import gridbuf as gb

MB = 1 << 20
ALIASES, NEAR = 32 * MB, 48 << 10  # as in alloc/policy.c
MOST = 8  # blocks of 30 MiB and more have 15 places, of which each other block takes two at most


def near_pairs(addresses: list[int]) -> int:
    distances = ((a - b) % ALIASES for a, b in itertools.combinations(addresses, 2))
    return sum(min(d, ALIASES - d) < NEAR for d in distances)


def address(array: object) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("megabytes", [30, 32, 62, 126, 254])
def test_blocks_of_one_size_do_not_alias(megabytes: int) -> None:
    held = [gb.empty((megabytes * MB,), dtype="u1") for _ in range(MOST)]
    assert near_pairs([address(a) for a in held]) == 0


@pytest.mark.parametrize("seed", range(6))
def test_blocks_of_drawn_sizes_do_not_alias_new_or_used_before(seed: int) -> None:
    draw = random.Random(seed)
    sizes = [30 * MB, 32 * MB - 4096, 32 * MB, 40 * MB, draw.randrange(30 * MB, 70 * MB)]
    held = []
    for _ in range(80):
        if len(held) == MOST or (held and draw.random() < 0.4):
            del held[draw.randrange(len(held))]
        else:
            kind = {
                "shape": (draw.choice(sizes),),
                "dtype": "u1",
                "aligned_index": (draw.randrange(9),),
            }
            held.append(gb.zeros(**kind) if draw.random() < 0.2 else gb.empty(**kind))
        assert near_pairs([address(a) for a in held]) == 0, [hex(address(a)) for a in held]


def test_a_block_alone_comes_back_where_it_was() -> None:
    a = gb.empty((33 * MB,), dtype="u1")
    at = address(a)
    del a
    assert address(gb.empty((33 * MB,), dtype="u1")) == at


@pytest.mark.parametrize("size", [3 * MB, 30 * MB, 300 * MB])
def test_places_cost_a_few_per_cent_and_stay_aligned(size: int) -> None:
    plan = gb.plan((size,), dtype="u1")
    assert plan.alloc_nbytes <= size * 1.032 + 3 * 4096
    held = [gb.empty((size,), dtype="u1", byte_alignment=b) for b in (64, 2048, 4096, 2 * MB)]
    assert [address(a) % b for a, b in zip(held, (64, 2048, 4096, 2 * MB), strict=True)] == [0] * 4
    for a in held:
        a[-1] = 1


PACKED = """
import gridbuf as gb
held = [gb.empty((30 << 20,), dtype="u1") for _ in range(8)]
addresses = (a.__array_interface__["data"][0] for a in held)
print(gb.plan((30 << 20,), dtype="u1").alloc_nbytes, *addresses)
"""


def test_packed_blocks_have_one_place() -> None:
    nbytes, *addresses = map(int, in_child.python(PACKED, GRIDBUF_PLACEMENT="packed").split())
    assert nbytes <= 30 * MB + 3 * 4096
    assert len({a // 4096 % 512 for a in addresses}) == 1  # on the first page of a huge one
