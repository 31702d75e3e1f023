"""Where cases come from: a seed and a number, or a line of the corpus."""

import json
import random
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.py"))
Case = dict[str, Any]


def drawn(fuzzer: ModuleType, seed: int, number: int) -> Case:
    """A case depends on these alone: any one can be repeated without those before it."""
    case = fuzzer.draw(random.Random(f"{seed}/{number}"))
    return json.loads(json.dumps(case))  # what JSON cannot say is an error here, not in the corpus


def corpus(name: str) -> list[Case]:
    path = HERE / "corpus" / f"{name}.jsonl"
    return (
        [json.loads(line) for line in path.read_text().splitlines() if line]
        if path.exists()
        else []
    )
