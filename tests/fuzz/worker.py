"""Runs cases of hostile inputs in one process, until all are done or the process ends early.

Takes numbers of cases on the command line and prints the result of each case as a line of JSON. The process
limits its own memory, and it ends itself, with the stacks of all threads, if a case takes too long. The
missing line shows its parent in which case it ended.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import TypedDict

from tb_debugger_plugin.live.messages.key import KEY_VARIABLE
from tests.fuzz.inputs import Input, make_input
from tests.fuzz.looking import look
from tests.support.serving import KEY

#: Number of file sets in one case.
CASE_INPUTS = 80
#: Longest time of a case, and the address space that its process may add to that at its start.
CASE_SECONDS = 120
MEMORY_BYTES = 3 << 30


class CaseResult(TypedDict, total=False):
    """What came of a case; `peak_bytes` is that of its process so far."""

    case: int
    kinds: dict[str, int]
    seconds: float
    problems: list[str]
    peak_bytes: int


class _Complaints(logging.Handler):
    """Collects the log messages of the viewer, which logs only what should not happen."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self.format(record))


def look_at_case(seed: int, case: int, inputs: list[Input] | None = None) -> CaseResult:
    """Run the inputs of one case.

    Args:
      seed: Seed of all random choices.
      case: Number of the case; its inputs are the ``CASE_INPUTS`` ones from ``case * CASE_INPUTS``.
      inputs: Inputs to use instead.

    Returns:
      ``case``, ``kinds`` (number of inputs by kind), ``seconds`` and ``problems``.
    """
    numbers = range(case * CASE_INPUTS, (case + 1) * CASE_INPUTS)
    inputs = inputs or [make_input(seed, number) for number in numbers]
    logger, complaints = logging.getLogger("tb_debugger_plugin"), _Complaints()
    logger.addHandler(complaints)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tb_debugger_fuzz_") as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        os.environ["TB_DEBUGGER_CACHE"] = f"{folder}/cache"
        os.environ[KEY_VARIABLE] = KEY
        try:
            problems = look(Path(folder) / "logs", inputs, random.Random(f"{seed}/{case}/questions"))
        except Exception:
            problems = [traceback.format_exc()]
        finally:
            logger.removeHandler(complaints)
            shutil.rmtree(f"{folder}/cache", ignore_errors=True)
    return {
        "case": case,
        "kinds": Counter(one.kind for one in inputs),
        "seconds": time.monotonic() - started,
        "problems": problems + complaints.texts,
    }


def main() -> None:
    """Run the cases of the command line, one after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("cases", type=int, nargs="+")
    args = parser.parse_args()
    logging.getLogger("tb_debugger_plugin").propagate = False
    look_at_case(args.seed, args.cases[0], [make_input(args.seed, 0)])  # loads lazy modules now
    limit = _address_space() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for case in args.cases:
        faulthandler.dump_traceback_later(CASE_SECONDS, exit=True)
        actual = look_at_case(args.seed, case)
        faulthandler.cancel_dump_traceback_later()
        actual["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps(actual), flush=True)


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main())
