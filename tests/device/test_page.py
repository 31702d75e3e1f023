"""The code of docs/device.md and docs/tutorials/gpus.md runs, with CuPy's arrays."""

import pytest
from pages_of_docs import ROOT, blocks

pytest.importorskip("cupy")


@pytest.mark.parametrize("page", ["device.md", "tutorials/gpus.md"])
def test_the_code_of_a_page_on_devices(page: str) -> None:
    names: dict[str, object] = {}
    exec("import gridbuf as gb", names)
    code = [block.text for block in blocks(ROOT / "docs" / page) if block.kind == "python"]
    assert code
    for text in code:
        exec(text, names)
    assert names["h"].device == "cpu"  # type: ignore[attr-defined]
