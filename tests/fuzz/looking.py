"""Opens hostile file sets as TensorBoard does, and checks the answers of the viewer.

Takes inputs and returns the problems. One input is a run of its own; the others are the hosts of one job,
which the viewer merges.

After them, a hostile program is asked (:mod:`tests.fuzz.live`).

It checks these invariants: every route answers 200, 400 or 404 with complete JSON or columns, every command
of the shell answers a screen, and every whole record of a file is served. A plain reader of this module finds
the whole records.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import google_crc32c
from google.protobuf.message import DecodeError

from tb_debugger_plugin.analysis.snapshot import open_snapshot
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.messages import DebugEvent
from tests.fuzz.commands import type_commands
from tests.fuzz.inputs import Input
from tests.fuzz.live import ask_program
from tests.support.asking import FITTING, Asker, decoded, facts_of, fitting, hostile

_PATIENCE_S: Final = 120.0
#: Number of runs that get every query; the others get some.
_ASKED_EVERYTHING: Final = 2
_QUESTIONS: Final = 6
_KINDS: Final = {EXECUTION: "execution", GRAPH_EXECUTION_TRACES: "graph_execution_trace"}
_COUNTS: Final = {
    EXECUTION: "SELECT host, count(*) FROM executions GROUP BY host",
    GRAPH_EXECUTION_TRACES: "SELECT host, count(*) FROM graph_executions"
    " JOIN sites USING (site) GROUP BY host",
}


def look(folder: Path, inputs: Sequence[Input], rng: random.Random) -> list[str]:
    """Writes inputs below an empty folder, opens them and checks the answers.

    Args:
      folder: The folder; the first input gets a folder of its own in it, the others share one.
      inputs: At least one input.
      rng: Chooses the queries.

    Returns:
      A sentence for each problem.
    """
    inputs[0].write(folder / "alone", "host")
    for one in inputs[1:]:
        one.write(folder / "job", f"h{one.number}")
    with Asker(folder) as asker:
        problems = list(_missing_runs(asker, inputs))
        for number, run in enumerate(asker.json("/runs", {})):
            asked_everything = number < _ASKED_EVERYTHING
            problems += _ask(asker, run, rng, all_of_them=asked_everything)
            if asked_everything:
                problems += type_commands(folder, facts_of(asker, run, rng), rng)
        problems += _not_served(asker, inputs)
    return problems + list(ask_program(folder.with_name("live"), rng))


def _missing_runs(asker: Asker, inputs: Sequence[Input]) -> Iterator[str]:
    sets = [files for run in asker.plugin._viewer.run_library.runs().values() for files in run.file_sets]
    expected = sum("metadata" in one.files for one in inputs)
    if len(sets) != expected:
        yield f"{len(sets)} file sets were found of {expected}"


def _ask(asker: Asker, run: str, rng: random.Random, *, all_of_them: bool) -> Iterator[str]:
    if not asker.plugin._viewer.run_library.loader(run).wait(_PATIENCE_S):
        yield f"run {run!r} was not read within {_PATIENCE_S:.0f} s"
        return
    facts = facts_of(asker, run, rng)
    questions = fitting(facts) if all_of_them else rng.sample(fitting(facts), _QUESTIONS)
    for path in rng.choices(list(FITTING), k=_QUESTIONS):
        questions.append((path, hostile(rng, facts, path)))
    for path, query in questions:
        response = asker.get(path, query)
        try:
            answer = decoded(response.mimetype, response.data)
        except ValueError as error:
            yield f"{path} {query}: {error}"
            continue
        if response.status_code not in (200, 400, 404) or (response.status_code != 200) != (
            "error" in answer
        ):
            yield f"{path} {query}: {response.status_code} {str(answer)[:200]}"


def _not_served(asker: Asker, inputs: Sequence[Input]) -> Iterator[str]:
    whole = {(1000 + one.number, suffix): one for one in inputs for suffix in _KINDS if not one.has_tail}
    for name in asker.plugin._viewer.run_library.runs():
        loader = asker.plugin._viewer.run_library.loader(name)
        with open_snapshot(loader) as snapshot:
            counts = {suffix: dict(snapshot.rows(query)) for suffix, query in _COUNTS.items()}
        for host, files in enumerate(loader.run.file_sets):
            for suffix in _KINDS:
                one = whole.get((files.start_seconds, suffix))
                actual = counts[suffix].get(host, 0)
                if one is not None and actual != (expected := num_whole(one.files.get(suffix, b""), suffix)):
                    yield f"input {one.number} ({one.kind}): {actual} rows of {suffix}, not {expected}"


def num_whole(content: bytes, suffix: str) -> int:
    """Returns the number of whole records of a file's own kind, counted by a plain reader."""
    return sum(_is_of_kind(payload, _KINDS[suffix]) for payload in _whole_payloads(content))


def _whole_payloads(content: bytes) -> Iterator[bytes]:
    at = 0
    while len(content) - at >= 16:
        length = int.from_bytes(content[at : at + 8], "little")
        if _crc(content[at : at + 8]) != content[at + 8 : at + 12] or at + length + 16 > len(content):
            return
        payload = content[at + 12 : at + 12 + length]
        if _crc(payload) == content[at + 12 + length : at + 16 + length]:
            yield payload
        at += length + 16


def _crc(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    return ((rotated + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def _is_of_kind(payload: bytes, kind: str) -> bool:
    try:
        return bool(DebugEvent.FromString(payload).WhichOneof("what") == kind)
    except DecodeError:
        return False
