"""Hostile inputs as files in one folder, for programs that are not Python.

In come a folder and a number of inputs on the command line, out come their files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.fuzz.inputs import make_input


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.files", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for number in range(args.inputs):
        make_input(args.seed, number).write(args.folder, "host")


if __name__ == "__main__":
    main()
