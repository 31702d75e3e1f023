"""Installs and runs the built wheels, this machine's and the other one's: `make test-wheels`. The
end says how many tests passed where.

python wheels/tests.py oldest     only with each Python's oldest NumPy, as `make test` does, whose suite has the newest
"""

import sys

import emulated
import installed


def main(ends: list[str]) -> None:
    if unknown := set(ends) - set(installed.ENDS):
        sys.exit(f"gridbuf: {sorted(unknown)} is neither of {installed.ENDS}")
    found = [*installed.outcomes(ends or installed.ENDS), *emulated.outcomes()]
    print("\n== the wheels: core tests per platform", *found, sep="\n", flush=True)
    if any(outcome.failed for outcome in found):
        sys.exit("gridbuf: a wheel does not pass its core tests")


if __name__ == "__main__":
    main(sys.argv[1:])
