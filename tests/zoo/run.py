"""`make zoo`: records every program of the zoo in several ways and asks the debugger for the cause.

The edit that the first answer offers is applied to a copy of the program and run, in the first way. Prints a
table of programs and ways with the wrong answers, and counts. The exit code is 1 if an answer is wrong, or an
edit crashed or broke a program; 2 if a program could not be recorded.
"""

from __future__ import annotations

import argparse
import json
import runpy
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, get_args

import tb_debugger_plugin
from tests.support import forked
from tests.zoo.answer import Answer, alarms, first_answer, is_right
from tests.zoo.edits import Trial, Verdict, trial
from tests.zoo.truth import Program, all_programs


class Way(NamedTuple):
    """How a program is recorded.

    Attributes:
      mode: The mode of the recording.
      circular_buffer_size: Records to keep; -1 for all.
    """

    mode: str
    circular_buffer_size: int = -1


WAYS: Final = {
    "full": Way("FULL_HEALTH"),
    "concise": Way("CONCISE_HEALTH"),
    "curt": Way("CURT_HEALTH"),
    "ring": Way("FULL_HEALTH", 200),
    "numerics": Way("FULL_NUMERICS"),
    "guard": Way("GUARD"),
}


class Replayed(NamedTuple):
    """What came of the first call that GUARD has kept, in another process.

    Attributes:
      same_tensors: Whether the same tensors were bad; None if the call is not found on record.
      same_bits: Whether its results had the same bits; None if it failed.
      cured: Whether nothing was bad with an input in range; None if nothing was tried.
      words: What the debugger says of it.
    """

    same_tensors: bool | None
    same_bits: bool | None
    cured: bool | None
    words: str


class Outcome(NamedTuple):
    """What came of a program and a way.

    Attributes:
      program: The program.
      way: Name of the way.
      answer: The first answer of the debugger; None if there is none.
      is_right: Whether that is the truth.
      alarms: What alert rules find in a healthy program above *low*.
      failure: Why there is no recording; empty if there is.
      seconds: How long it took.
      trial: What came of the edit that it offered; None if it offered none, or none was tried.
      replayed: What came of the first kept call; None if none was kept.
    """

    program: Program
    way: str
    answer: Answer | None
    is_right: bool
    alarms: list[str]
    failure: str
    seconds: float
    trial: Trial | None = None
    replayed: Replayed | None = None

    def __str__(self) -> str:
        if self.failure:
            return "failed"
        return "right" if self.is_right else str(self.answer or "; ".join(self.alarms) or "nothing")


def record_and_ask(
    path: str, arguments: tuple[str, ...], way: Way, logdir: str
) -> tuple[Answer | None, list[str]]:
    """Record a program, unchanged, and ask for its first bad value, and what alert rules find.

    Call it in a process of its own. The recording begins when TensorFlow has been imported, as with
    `tbdbg run`.
    """
    tb_debugger_plugin.enable_dump_debug_info(logdir, way.mode, circular_buffer_size=way.circular_buffer_size)
    sys.argv = [path, *arguments]
    try:
        runpy.run_path(path, run_name="__main__")
    finally:
        tb_debugger_plugin.disable_dump_debug_info()
    return first_answer(logdir), alarms(logdir)


def record_training(path: str, logdir: str) -> tuple[list[str], int]:
    """Record a training in FULL_NUMERICS; call it in a process of its own.

    Returns:
      What alert rules find above *low*, and how often the most frequent gradient was computed.
    """
    _, found = record_and_ask(path, (), Way("FULL_NUMERICS"), logdir)
    with tb_debugger_plugin.open_run(logdir) as run:
        counts = run.sql(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM graph_executions JOIN sites USING (site)"
            " JOIN gradients USING (op, slot) GROUP BY site)"
        )
        return found, int(counts.fetchall()[0][0])


def replay_kept(logdir: str) -> Replayed | None:
    """Run the first call again that GUARD has kept; return None if there is none."""
    with tb_debugger_plugin.open_run(logdir) as run:
        if not run.bundles():
            return None
        done = run.replay()
        as_it_was, *_, last = done.tried
        cured = last.is_finite if len(done.tried) == 3 and not last.error else None
        return Replayed(as_it_was.same_tensors, as_it_was.same_bits, cured, str(done))


def outcome(program: Program, way: str, folder: Path, *, tries_edit: bool = False) -> Outcome:
    """Try one program in one way, with its recording in a folder, and the edit that is offered."""
    started = time.monotonic()
    logdir = folder / f"{program.name}-{way}"
    shutil.rmtree(logdir, ignore_errors=True)  # of an earlier time, with --keep
    answer, failure = None, ""
    found: list[str] = []
    try:
        arguments = (str(program.path), program.arguments, WAYS[way], str(logdir))
        answer, found = forked.call(record_and_ask, *arguments)
    except forked.CallError as error:
        failure = str(error)
    false_alarms = [] if program.cause else found
    right = not failure and is_right(answer, program) and not false_alarms
    edit = None if answer is None or not tries_edit else answer.edit
    tried = None if edit is None else trial(program, edit)
    replayed = None if failure or WAYS[way].mode != "GUARD" else replay_kept(str(logdir))
    seconds = time.monotonic() - started
    return Outcome(program, way, answer, right, false_alarms, failure, seconds, tried, replayed)


def outcomes(
    programs: Iterable[Program], ways: Sequence[str], folder: Path, workers: int, *, edits: bool = True
) -> Iterator[Outcome]:
    """Try every program in every way, several at once, and edits in the first way; yields in order."""
    cases = [(program, way) for program in programs for way in ways]
    pool = ThreadPoolExecutor(workers)

    def tried(case: tuple[Program, str]) -> Outcome:
        program, way = case
        return outcome(program, way, folder, tries_edit=edits and way == ways[0])

    try:
        yield from pool.map(tried, cases)
    finally:
        pool.shutdown(cancel_futures=True)  # Ctrl-C waits only for what has begun


def table(results: list[Outcome]) -> str:
    """Returns the outcomes as a table, a program a line."""
    ways = list(dict.fromkeys(each.way for each in results))
    lines = [
        f"| program | true cause | {' | '.join(ways)} | edit |",
        f"| -- | -- |{' -- |' * len(ways)} -- |",
    ]
    for program in dict.fromkeys(each.program for each in results):
        of_program = [each for each in results if each.program == program]
        edit = next((each.trial.verdict for each in of_program if each.trial), "")
        cells = [*map(str, of_program), edit]
        lines.append(f"| {program.name} | {program.cause or 'healthy'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def counts(results: list[Outcome]) -> str:
    """Returns a line for each way: right answers of buggy programs, false alarms of healthy ones."""
    lines = []
    for way in dict.fromkeys(each.way for each in results):
        of_way = [each for each in results if each.way == way]
        buggy = [each.is_right for each in of_way if each.program.cause]
        healthy = [each.is_right for each in of_way if not each.program.cause]
        alarms = healthy.count(False)
        lines.append(
            f"{way}: {sum(buggy)} of {len(buggy)} right, {alarms} of {len(healthy)} healthy with an alarm"
        )
    verdicts = Counter(each.trial.verdict for each in results if each.trial)
    if verdicts:
        lines.append("edits: " + ", ".join(f"{verdicts[each]} {each}" for each in get_args(Verdict)))
    replayed = [each.replayed for each in results if each.replayed]
    if replayed:
        tensors, bits = (sum(map(bool, each)) for each in list(zip(*replayed, strict=True))[:2])
        tried = [each.cured for each in replayed if each.cured is not None]
        lines.append(
            f"replayed: {len(replayed)} kept, {tensors} with the same bad tensors, {bits} with the same "
            f"bits; {len(tried)} tried with an input in range, nothing bad in {sum(tried)}"
        )
    return "\n".join(lines)


def main() -> int:
    """Run the command and return its exit code."""
    args = _arguments()
    chosen = [each for each in all_programs() if not args.programs or each.name in args.programs]
    with tempfile.TemporaryDirectory(prefix="zoo-") as temporary, forked.server():
        folder = Path(args.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        results = []
        for each in outcomes(chosen, args.ways, folder, args.workers, edits=not args.no_edits):
            results.append(each)
            print(
                f"{each.program.name}, {each.way}: {each} ({each.seconds:.1f} s)", file=sys.stderr, flush=True
            )
    print(table(results), counts(results), sep="\n\n")
    failures = [each for each in results if each.failure]
    for each in failures:
        print(f"{each.program.name}, {each.way}: {each.failure}", file=sys.stderr)
    harmful = [each for each in results if each.trial and each.trial.verdict != "cured"]
    for each in harmful:
        assert each.trial is not None
        print(f"{each.program.name}, the edit {each.trial.verdict}: {each.trial.detail}", file=sys.stderr)
    if args.json:
        Path(args.json).write_text(json.dumps([_row(each) for each in results], indent=1), "utf-8")
    return 2 if failures else int(bool(harmful) or not all(each.is_right for each in results))


def _row(each: Outcome) -> dict[str, object]:
    return {
        "program": each.program.name,
        "cause": str(each.program.cause or "healthy"),
        "way": each.way,
        "is_right": each.is_right,
        "answer": None if each.answer is None else each.answer._asdict(),
        "alarms": each.alarms,
        "failure": each.failure,
        "replayed": each.replayed and each.replayed._asdict(),
        "edit": None if each.trial is None else [each.trial.verdict, each.trial.detail, *each.trial.edit],
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.run", description=__doc__)
    parser.add_argument("programs", nargs="*", help="names of programs (default: all)")
    parser.add_argument(
        "--ways", nargs="+", choices=WAYS, default=list(WAYS), help="how to record (default: all)"
    )
    parser.add_argument("--no-edits", action="store_true", help="do not run the programs with the edits")
    parser.add_argument("--workers", type=int, default=2, help="programs at once (default: 2)")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the recordings in a folder")
    parser.add_argument("--json", metavar="FILE", help="also write the outcomes to a file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
