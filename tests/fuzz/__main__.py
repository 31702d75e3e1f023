"""Runs the fuzzers: `python tests/fuzz [--seconds 10] [--seed N] [FUZZER ...]`.

A fuzzer is a file fuzz_NAME.py with `draw(rng)`, which makes a case of what JSON can say, and
`check(case)`, which raises where gridbuf and the oracle disagree. Cases run in a child, because a
case may end it; the corpus comes first, and every case after it has a random generator of its own,
made from the seed and the case's number. A failure is printed with the command that repeats it and
with the case, ready for corpus/NAME.jsonl:

    python tests/fuzz copies --seed 3 --case 1234        one case, or --case 1200:1234, where
                                                         earlier ones matter
    python tests/fuzz copies --corpus 7                  one line of the corpus
    python tests/fuzz copies --json '{"door": "copyto", ...}'
"""

import argparse
import sys
import time

from cases import NAMES


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python tests/fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "fuzzers",
        nargs="*",
        metavar="FUZZER",
        help=f"some of {', '.join(NAMES)}; all of them unless told",
    )
    parser.add_argument(
        "--seconds", type=float, default=10, help="for each fuzzer, beside the corpus (10)"
    )
    parser.add_argument("--cases", type=int, help="that many instead of seconds")
    parser.add_argument("--seed", type=int, help="a number; another one each time unless told")
    parser.add_argument(
        "--failures", type=int, default=3, help="give a fuzzer up after so many (3)"
    )
    parser.add_argument("--case", metavar="N[:M]", help="only this case, or these, M included")
    parser.add_argument(
        "--corpus",
        type=int,
        metavar="LINE",
        help="only this line of the corpus, from 1; 0 is all of it",
    )
    parser.add_argument("--json", help="only this case")
    parser.add_argument(
        "--without",
        metavar="EXPRESSION",
        help="leave out what is being mended: Python about `case`",
    )
    # In a child: the file in which it says what it is at
    parser.add_argument("--mark", help=argparse.SUPPRESS)
    # And the line of the corpus to go on after
    parser.add_argument("--after", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := set(given.fuzzers) - set(NAMES):
        parser.error(f"no fuzzer is called {min(unknown)}; there are {', '.join(NAMES)}")
    if given.seed is None:
        given.seed = time.time_ns() % 1_000_000
    return given


def main() -> int:
    given = arguments()
    if given.mark:
        import child

        return child.run(given)
    import parent

    failures = [parent.run(name, given) for name in given.fuzzers or NAMES]
    return 1 if any(failures) else 0


if __name__ == "__main__":
    sys.exit(main())
