"""What a wheel holds besides gridbuf: Go's runtime, in CycloneDX."""

import json
import subprocess
from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel


def bill_of_materials(version: str) -> str:
    """The text of gridbuf.cdx.json."""
    command = ["go", "env", "GOVERSION"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    go = said.split()[0].removeprefix("go")
    licenses = [{"license": {"id": "BSD-3-Clause"}}]
    own, runtime = f"pkg:pypi/gridbuf@{version}", f"pkg:golang/std@{go}"

    def part(name: str, number: str, purl: str) -> dict[str, object]:
        return {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": number,
            "purl": purl,
            "licenses": licenses,
        }

    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": part("gridbuf", version, own)},
        "components": [part("std", go, runtime)],
        "dependencies": [{"ref": own, "dependsOn": [runtime]}],
    }
    return json.dumps(bill, indent=1) + "\n"


class bdist_with_bill(bdist_wheel):
    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        bill = Path(distinfo_path) / "sboms" / "gridbuf.cdx.json"
        bill.parent.mkdir(exist_ok=True)
        bill.write_text(bill_of_materials(self.distribution.get_version()))
