"""docs/fused.svg is what bench/fused_picture.py draws: nobody draws it by hand."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_picture_of_fused_is_what_its_program_draws(tmp_path: Path) -> None:
    drawn = tmp_path / "fused.svg"
    program = ROOT / "bench" / "fused_picture.py"
    subprocess.run([sys.executable, program, "--output", drawn], check=True)
    assert drawn.read_text() == (ROOT / "docs" / "fused.svg").read_text()
