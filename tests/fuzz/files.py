"""Writes hostile inputs as files into one folder, for programs that are not Python.

The command line has the folder and the number of inputs.
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
