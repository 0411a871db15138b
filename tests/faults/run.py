"""Breaks the product in one line at a time, and demands that the tests fail that are named for it. ::

    python -m tests.faults.run                  # every fault
    python -m tests.faults.run ring 07          # those whose names contain one of the words
    python -m tests.faults.run --take 07-words  # the fault becomes what was edited in the checkout

Each fault is a patch beside this file. What stands above the patch is a sentence about what is wrong, and a
line `Fails: TEST` for each test of `make test` that must fail: its id in pytest, or `FILE::NAME` in Vitest.

The product is broken in a copy of the checkout. A fault fails the run if its patch no longer applies, or if a
named test passes with it, fails without it, or cannot be run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.checkout import ROOT, tracked_files
from tests.support.suites import is_fast, slow_part

_FOLDER: Final = Path(__file__).parent
_PRODUCT: Final = ("tb_debugger_plugin", "frontend/src")
_PAGE: Final = "frontend/test/"
#: What is built, and not compiled again for each fault.
_BUILT: Final = (
    "frontend/src/api/generated",
    "tb_debugger_plugin/static",
    "tb_debugger_plugin/*/*.so",
    "tb_debugger_plugin/**/*.binpb",
    "tb_debugger_plugin/native/src/generated",
)
#: A change of these is compiled.
_COMPILED: Final = re.compile(r".*\.(cc|h|proto)|tb_debugger_plugin/events/modes\.py")
#: Seconds that a test may take, and a process of tests: in the first, there are those of all faults.
_TEST_S: Final = 60
_RUN_S: Final = 900


class FaultError(Exception):
    """What is wrong with a fault, in a sentence."""


@dataclass(frozen=True)
class Fault:
    """A patch and what must notice it.

    Attributes:
      path: The patch.
      what: What is wrong with the product, in a sentence.
      tests: The tests that must fail.
    """

    path: Path
    what: str
    tests: tuple[str, ...]

    @property
    def is_compiled(self) -> bool:
        """Whether the native libraries change."""
        return any(map(_COMPILED.fullmatch, re.findall(r"^\+\+\+ b/(.+)$", self.path.read_text(), re.M)))


def read_fault(path: Path) -> Fault:
    """Read a fault, and check what it says.

    Raises:
      FaultError: It has no sentence, or a test that `make test` does not run.
    """
    head = path.read_text("utf-8").partition("--- a/")[0]
    what, *lines = re.split(r"^Fails: ", head, flags=re.M)
    tests = tuple(line.strip() for line in lines)
    strange = [
        test
        for test in tests
        if not (test.startswith(_PAGE) or is_fast(test) or test.partition("[")[0] in slow_part())
    ]
    if not what.strip() or not tests or strange:
        raise FaultError(
            f"{path.stem} says not what is wrong, or `make test` does not run its tests: {strange}"
        )
    return Fault(path, " ".join(what.split()), tests)


class Copy:
    """A copy of the tracked files of the checkout, and of what is built of them.

    Args:
      folder: An empty folder, outside of the checkout.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        built = (path for pattern in _BUILT for path in ROOT.glob(pattern))
        for path in (*tracked_files(), *built):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, target)
            else:
                shutil.copy2(path, target)
        (folder / "frontend" / "node_modules").symlink_to(ROOT / "frontend" / "node_modules")
        self._environment = {**os.environ, "PYTHONPATH": str(folder)}

    def keep_no_bytecode(self) -> None:
        """Import changed modules from now on as they are: Python compares seconds and sizes of files only."""
        self._environment["PYTHONDONTWRITEBYTECODE"] = "1"

    def apply(self, fault: Fault, *options: str) -> None:
        """Break the product; with `-R`, mend it."""
        code, output = self._run("git", "apply", "-C1", *options, str(fault.path))
        if code:
            raise FaultError(f"the patch does not apply: {output.strip()}")
        if fault.is_compiled:
            code, output = self._run(sys.executable, "setup.py", "-q", "build_ext", "--inplace")
            if code or "error:" in output:
                raise FaultError(f"the native libraries cannot be compiled: {output[-500:]}")

    def failing(self, tests: Iterable[str]) -> set[str]:
        """Run tests and return those that fail.

        Raises:
          FaultError: They cannot be run.
        """
        tests = dict.fromkeys(tests)
        page = [test for test in tests if test.startswith(_PAGE)]
        # Tests without TensorFlow start quickly, and some want to be without it.
        fast = [test for test in tests if is_fast(test)]
        slow = [test for test in tests if test not in {*page, *fast}]
        return self._failing(fast) | self._failing(slow) | self._failing_of_the_page(page)

    def _failing(self, tests: Sequence[str]) -> set[str]:
        if not tests:
            return set()
        options = ["-q", "-rf", "--tb=no", "-p", "no:cacheprovider", f"--timeout={_TEST_S}"]
        properties = ["-p", "tests.support.examples", "--hypothesis-profile=unshrunk", "--hypothesis-seed=0"]
        code, output = self._run(sys.executable, "-m", "pytest", *options, *properties, *tests)
        if code not in (0, 1):
            raise FaultError(f"the tests cannot be run:\n{output[-2000:]}")
        return {test for test in tests if re.search(rf"^FAILED {re.escape(test)}(?=[\[ \n])", output, re.M)}

    def _failing_of_the_page(self, tests: Sequence[str]) -> set[str]:
        if not tests:
            return set()
        files = sorted({test.partition("::")[0].removeprefix("frontend/") for test in tests})
        answer = self._folder / "vitest.json"
        answer.unlink(missing_ok=True)
        npm = [sys.executable, "-m", "build_steps.node", "exec", "--"]
        options = ["--reporter=json", f"--outputFile={answer}"]
        _, output = self._run(*npm, "vitest", "run", *options, *files)
        if not answer.exists():
            raise FaultError(f"the tests of the page cannot be run:\n{output[-2000:]}")
        statuses = {
            f"frontend/{Path(file['name']).relative_to(self._folder / 'frontend')}::{test['fullName']}": test[
                "status"
            ]
            for file in json.loads(answer.read_text("utf-8"))["testResults"]
            for test in file["assertionResults"]
        }
        if unknown := [test for test in tests if test not in statuses]:
            raise FaultError(f"there are no such tests: {unknown}; {output[-2000:]}")
        return {test for test in tests if statuses[test] == "failed"}

    def _run(self, *command: str) -> tuple[int, str]:
        with subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=_RUN_S)
            except BaseException as error:
                os.killpg(process.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise FaultError(f"{command} took longer than {_RUN_S} s") from None
                raise
        return process.returncode, output


def check(copy: Copy, fault: Fault) -> None:
    """Run the named tests with a fault.

    Raises:
      FaultError: Not all of them fail.
    """
    copy.apply(fault)
    try:
        passing = sorted({*fault.tests} - copy.failing(fault.tests))
    finally:
        copy.apply(fault, "-R")
    if passing:
        raise FaultError(f"is not noticed by {', '.join(passing)}")


def take(name: str) -> None:
    """Write the changes of the product that are not committed into a fault, and undo them."""
    path = _FOLDER / f"{name}.patch"
    head = (
        path.read_text("utf-8").partition("--- a/")[0] if path.exists() else "What is wrong.\n\nFails: TEST\n"
    )
    git = ["git", "-C", str(ROOT)]
    diff = subprocess.run(
        [*git, "diff", "-U2", "--", *_PRODUCT], capture_output=True, text=True, check=True
    ).stdout
    if not diff:
        raise SystemExit(f"Nothing is edited in {' or '.join(_PRODUCT)}.")
    path.write_text(head + diff[diff.index("--- a/") :], "utf-8")
    subprocess.run([*git, "apply", "-R", "-"], input=diff, text=True, check=True)


def main() -> int:
    """Run the faults that the command line chooses; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="faults whose names contain one of these (default: all)")
    parser.add_argument(
        "--take", metavar="NAME", help="write what is not committed into this fault, and undo it"
    )
    options = parser.parse_args()
    if options.take:
        take(options.take)
        return 0
    began = time.monotonic()
    try:
        paths = [path for path in sorted(_FOLDER.glob("*.patch")) if _is_chosen(path, options.words)]
        faults = list(map(read_fault, paths))
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            copy = Copy(Path(folder).resolve())
            if failing := copy.failing(test for fault in faults for test in fault.tests):
                raise FaultError("\n".join(["These tests fail without any fault:", *sorted(failing)]))
            copy.keep_no_bytecode()
            print(f"{'the checkout as it is':40} {time.monotonic() - began:5.1f} s", flush=True)
            wrong = sum(_report(copy, fault) for fault in faults)
    except FaultError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(faults)} faults, {wrong} wrong, {time.monotonic() - began:.0f} s")
    return min(wrong, 1)


def _is_chosen(path: Path, words: Sequence[str]) -> bool:
    return not words or any(word in path.stem for word in words)


def _report(copy: Copy, fault: Fault) -> bool:
    """Print one line; returns whether something is wrong."""
    began = time.monotonic()
    try:
        check(copy, fault)
    except FaultError as error:
        print(f"{fault.path.stem}: {error}", flush=True)
        return True
    print(f"{fault.path.stem:40} {time.monotonic() - began:5.1f} s", flush=True)
    return False


if __name__ == "__main__":
    sys.exit(main())
