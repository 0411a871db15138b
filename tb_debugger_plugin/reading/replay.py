"""Runs bad calls again that GUARD has kept, and says what came of it.

The calls run in a process of their own (`tb_debugger_plugin.replay.program`), which needs TensorFlow. Their
recordings are read here as any other.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tb_debugger_plugin.analysis.beside import keep_trial, kept_calls
from tb_debugger_plugin.analysis.diagnosis.trials import TRIALS
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.snapshot import Json, JsonObject
from tb_debugger_plugin.errors import FormatError, NotReadyError
from tb_debugger_plugin.events.bundle import Header, read_header
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.events.tensorflow_names import is_of_pipeline
from tb_debugger_plugin.index.runs import FoundRun, find_runs
from tb_debugger_plugin.reading import choose

if TYPE_CHECKING:
    from tb_debugger_plugin.reading.rows import GraphExecution
    from tb_debugger_plugin.reading.run import Run

_PROGRAM: Final = "tb_debugger_plugin.replay.program"
#: Types of ops whose values a function is given.
_GIVEN: Final = ("Placeholder", "Const")
#: Bad tensors of a call: op and slot, with the numbers of -inf, +inf and NaN, and how often.
BadTensors = Counter[tuple[str, int, int, int, int]]


@dataclass(frozen=True)
class Tried(JsonObject):
    """A way in which a call was run.

    Attributes:
      way: The way in words: ``as it was``, ``in float64``, ``with …``.
      is_finite: Whether nothing bad was computed but what is expected; None if the call failed.
      first: The first bad value, such as "Log:0 (loss/Log), train.py:25"; None if there was none.
      num_bad: How many bad tensors were computed, those that are expected too.
      same_tensors: Whether the same tensors had the same numbers of bad elements as in the recording; None
        where they were not compared.
      same_bits: Whether all results have the bits that the call had; None where they were not compared.
      results: dtype, shape, numbers of -inf, +inf and NaN (``bad``), min, max and mean of each result.
      seconds: How long it ran.
      error: Why it failed; empty if it did not.
      words: What came of it, in one sentence.
    """

    MEMBERS = "way is_finite first num_bad same_tensors same_bits results seconds error words"

    way: str
    is_finite: bool | None
    first: str | None
    num_bad: int
    same_tensors: bool | None
    same_bits: bool | None
    results: list[dict[str, Any]]
    seconds: float
    error: str

    @property
    def outcome(self) -> str:
        """What came of it, in a few words."""
        if self.error:
            return f"{self.way}: failed: {self.error}"
        if self.is_finite:
            return f"{self.way}, nothing is bad{' that is not expected' if self.num_bad else ''}"
        tensors = "1 tensor is" if self.num_bad == 1 else f"{self.num_bad:,} tensors are"
        return f"{self.way}, {tensors} bad"

    @property
    def words(self) -> str:
        """What came of it, in one sentence."""
        if self.error:
            return self.outcome
        recorded = {None: "", True: ", the same as on record", False: ", not the same as on record"}
        bits = {None: "", True: ", and the results have the same bits", False: ", and the results differ"}
        first = "" if self.first is None else f" First: {self.first}."
        return f"{self.outcome}{recorded[self.same_tensors]}{bits[self.same_bits]}.{first}"


@dataclass(frozen=True)
class Replay(JsonObject):
    """What came of running a call again.

    Attributes:
      title: The function of the call, in the program.
      call: Number of the call, among those of the function in its process, from 0.
      step: The step of the program; None where it is not known.
      versions: Versions of the packages with which it was recorded.
      tried: The ways in which it was run.
    """

    title: str
    call: int
    step: int | None
    versions: Mapping[str, str]
    tried: Sequence[Tried]

    def __str__(self) -> str:
        """Return the sentences."""
        head = f"Call {self.call:,} of {self.title}, TensorFlow {self.versions.get('tensorflow', '?')}"
        return "\n".join([head, *(f"  {_capital(one.words)}" for one in self.tried)])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class ReplayOptions:
    """How a call is run.

    Attributes:
      dtype: The dtype to compute in; None for float64, besides the own.
      tensors: Expressions by the names of the tensors that get their values.
      until: The op with which the call ends; None for all of it.
      device: Where it runs; None for where TensorFlow places it.
      record: The folder for the recording of the last way; None for none.
      mode: The mode of that recording.
      script: The file for a program that runs the call with TensorFlow alone; None for none.
      timeout: Seconds that it may take.
    """

    dtype: str | None = None
    tensors: Mapping[str, str] | None = None
    until: str | None = None
    device: str | None = None
    record: str | None = None
    mode: str = "FULL_HEALTH"
    script: str | None = None
    timeout: float = 600.0


def replay(path: Path, options: ReplayOptions, run: Run | None = None) -> Replay:
    """Run a call that GUARD has kept.

    Args:
      path: Its bundle.
      options: How it is run.
      run: The recording, which knows lines of the program; None if it is not known.

    Returns:
      What came of it; a change that cannot be made is an `error` of its way.

    Raises:
      FormatError: It is no bundle, damaged, or refused.
      NotReadyError: The process has failed, or TensorFlow is not installed.
      OSError: A file cannot be read or written.
    """
    header = read_header(path)
    known = _Known() if run is None else _known(run, header)
    variants = _variants(options, known.op)
    with tempfile.TemporaryDirectory(prefix="tbdbg-replay-") as folder:
        for number, variant in enumerate(variants):
            variant["record"] = variant["record"] or str(Path(folder, f"run_{number}"))
        task = {"bundle": str(path), "variants": variants, "script": options.script}
        outcomes = _run(task, Path(folder), options.timeout)
        ways = zip(variants, outcomes, strict=True)
        tried = [_tried(variant, outcome, header, known) for variant, outcome in ways]
    if known.op is not None:
        _keep_trial(path, known.op.name, tried)
    return Replay(header.title, header.call, header.step, header.versions, tried)


def run_of(bundle: Path) -> FoundRun | None:
    """Return the run that has kept a call; None if it is not in the folder of the bundle."""
    for found in find_runs(bundle.absolute().parent, lambda problem: None):
        if bundle.absolute() in kept_calls(found):
            return found
    return None


class _Op(NamedTuple):
    """The op that made the first bad value of the call."""

    name: str
    type: str


@dataclass(frozen=True)
class _Known:
    """What the recording knows of a call.

    Attributes:
      op: The op that made its first bad value; None if none is known.
      lines: Lines of the program by the names of ops.
      bad: The bad tensors of the call; None if it is not found.
    """

    op: _Op | None = None
    lines: Mapping[str, str] = field(default_factory=dict)
    bad: BadTensors | None = None


def _known(run: Run, header: Header) -> _Known:
    origins = _wrong(run)
    lines = {name: one.source.name for name, one in origins if one.source is not None}
    step = header.call if header.step is None else header.step
    calls = [one.index for one in run.executions(step=step) if one.op_type == header.original]
    if len(calls) != 1:
        return _Known(lines=lines)
    found = run.graph_executions(health="bad", call=calls[0])
    # What an input pipeline computed meanwhile is no part of the call.
    rows = [row for row in found if not is_of_pipeline(row.function or "")]
    here = {row.index for row in rows}
    ops = [_Op(name, one.op_type) for name, one in origins if one.graph_execution_index in here]
    return _Known(ops[0] if ops else None, lines, _counted(rows))


def _wrong(run: Run) -> list[tuple[str, Origin]]:
    """Return the origins of a run that are ops of graphs and not expected, with the names of the ops."""
    return [
        (one.op_name, one) for one in run.origins() if one.op_name is not None and one.category != "expected"
    ]


def _keep_trial(path: Path, op_name: str, tried: Sequence[Tried]) -> None:
    """Let `why` say what was tried, if the folder can be written to."""
    words = "; ".join(one.outcome for one in tried[1:] if not one.error)
    if words and not (tried[0].error or tried[0].is_finite):
        with contextlib.suppress(OSError):
            keep_trial(path, op_name, f"Tried with the call that was kept: {words}.")


def _variants(options: ReplayOptions, op: _Op | None) -> list[dict[str, Any]]:
    """Return the ways in which a call is run: as it was first, and what was asked for or may tell more."""
    tensors = list((options.tensors or {}).items())
    ways: list[dict[str, Any]] = [{}]
    if tensors or options.dtype:
        ways.append({"dtype": options.dtype or "", "tensors": tensors})
    elif options.until is None and options.record is None:
        ways.append({"dtype": "float64"})
        ways += [{"trial": op.name}] if op is not None and op.type in TRIALS else []
    common = {"until": options.until or "", "device": options.device or "", "mode": options.mode}
    variants = [{**common, "record": "", **way} for way in ways]
    variants[-1]["record"] = options.record or ""
    return variants


def _run(task: Json, folder: Path, timeout: float) -> list[Json]:
    asked, answer = folder / "task.json", folder / "answer.json"
    asked.write_text(json.dumps(task), "utf-8")
    command = [sys.executable, "-m", _PROGRAM, str(asked), str(answer)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise NotReadyError(f"The call has not ended after {timeout:,.0f} seconds.") from None
    if done.returncode or not answer.exists():
        raise NotReadyError(_why(done))
    found = json.loads(answer.read_text("utf-8"))
    if found["refused"]:
        raise FormatError(found["refused"])
    outcomes: list[Json] = found["outcomes"]
    return outcomes


def _why(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return a sentence on a process that has failed."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    last = lines[-1] if lines else ""
    if "No module named 'tensorflow'" in last:
        return "TensorFlow is needed to run a call again: install it, or look at the bundle where it is."
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
    return f"The process that runs the call has ended with {how}: {last[:500]}"


def _tried(variant: Json, outcome: Json, header: Header, known: _Known) -> Tried:
    is_as_it_was = not any(variant.get(change) for change in ("dtype", "tensors", "trial", "until"))
    bad = None if outcome["error"] else _bad_in(variant["record"], known.lines)
    compares = is_as_it_was and bad is not None
    digests = [one["digest"] for one in outcome["results"]]
    return Tried(
        _way(variant, outcome),
        None if bad is None else not bad.is_wrong,
        None if bad is None else bad.first,
        0 if bad is None else bad.num_tensors,
        bad.tensors == known.bad if compares and bad is not None and known.bad is not None else None,
        digests == [one.digest for one in header.results] if compares else None,
        outcome["results"],
        outcome["seconds"],
        outcome["error"],
    )


def _way(variant: Json, outcome: Json) -> str:
    parts = [f"{name} = {text}" for name, text in variant.get("tensors", ())]
    parts += [outcome["changed"]] if outcome["changed"] else []
    parts += [f"a change of {variant['trial']}"] if variant.get("trial") and not outcome["changed"] else []
    words = f"with {' and '.join(parts)}" if parts else ""
    dtype = f"in {variant['dtype']}" if variant.get("dtype") else ""
    until = f"until {variant['until']}" if variant["until"] else ""
    return ", ".join(one for one in (words, dtype, until) if one) or "as it was"


@dataclass(frozen=True)
class _Bad:
    """What is bad in the recording of a replay.

    Attributes:
      tensors: The bad tensors that ops computed.
      num_tensors: How many are bad, with arguments and constants.
      is_wrong: Whether any of them is not expected.
      first: The first that is not expected, in words; None if there is none.
    """

    tensors: BadTensors
    num_tensors: int
    is_wrong: bool
    first: str | None


def _bad_in(folder: str, lines: Mapping[str, str]) -> _Bad:
    """Return what is bad in a recording."""
    from tb_debugger_plugin.reading.run import Run

    with Run(choose.only(location(folder), None, "")) as run:
        rows = run.graph_executions(health="bad")
        is_wrong = any(one.category != "expected" for one in run.origins())
        first = None
        for name, origin in _wrong(run)[:1]:
            line = lines.get(name)
            first = f"{name}:{origin.output_slot} ({origin.op_type})" + (f", {line}" if line else "")
        return _Bad(_counted(rows), len(rows), is_wrong, first)


def _counted(rows: Sequence[GraphExecution]) -> BadTensors:
    bad = BadTensors()
    for row in rows:
        # Arguments have other names in the functions of a bundle.
        if row.op_type not in _GIVEN:
            bad[row.op_name, row.slot, row.neg_inf or 0, row.pos_inf or 0, row.nan or 0] += 1
    return bad
