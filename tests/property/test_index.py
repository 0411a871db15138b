"""`index/indexer.py`: the tables hold what a slow, obvious twin keeps of the same program in Python lists."""

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.analysis.alerts import alerts
from tb_debugger_plugin.analysis.calls.call_health import call_health
from tb_debugger_plugin.analysis.lists import graph_executions, tables
from tb_debugger_plugin.analysis.snapshot import Range, open_snapshot
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import find_runs
from tests.support.events import PATIENCE_S, Recording, full_health, snapshot_of
from tests.support.examples import examples

_VALUES = {
    "good": full_health([1.0, 0.0, -1.0]),
    "nan": full_health([math.nan]),
    "inf": full_health([[-math.inf, math.inf]]),
    "none": None,
}
_HEALTH = {"good": 1, "nan": 2, "inf": 2, "none": 0}
_OPS = ("a", "b", "c")

_TRACE = st.tuples(st.just("trace"), st.sampled_from(_OPS), st.sampled_from(sorted(_VALUES)))
_EAGER = st.tuples(st.just("eager"), st.just("Add"), st.sampled_from(sorted(_VALUES)))
_CALL = st.tuples(st.just("call"), st.just("__inference_f_1"), st.sampled_from(sorted(_VALUES)))
_PROGRAM = st.lists(st.one_of(_TRACE, _TRACE, _EAGER, _CALL), max_size=40)
_SETTINGS = settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow])


@dataclass
class Twin:
    """What a program did, told one thing at a time."""

    executions: list[tuple[str, str]] = field(default_factory=list)
    traces: list[tuple[str, str]] = field(default_factory=list)
    owners: list[int | None] = field(default_factory=list)
    #: ("eager", position) or ("trace", position), in the order of time.
    bad: list[tuple[str, int]] = field(default_factory=list)

    def run(self, kind: str, name: str, value: str) -> None:
        if kind == "trace":
            self._note_bad("trace", len(self.traces), value)
            self.traces.append((name, value))
            self.owners.append(None)
            return
        if kind == "call":
            here = len(self.executions)
            self.owners = [here if owner is None else owner for owner in self.owners]
        self._note_bad("eager", len(self.executions), value)
        self.executions.append((name, value))

    def _note_bad(self, kind: str, position: int, value: str) -> None:
        if _HEALTH[value] == 2:
            self.bad.append((kind, position))

    def call_health(self) -> list[int]:
        worst = [0] * len(self.executions)
        for (_, value), owner in zip(self.traces, self.owners, strict=True):
            if owner is not None:
                worst[owner] = max(worst[owner], _HEALTH[value])
        return worst


def _record(folder: Path, program: list[tuple[str, str, str]]) -> Twin:
    twin = Twin()
    recording = Recording(folder)
    recording.graph("g", "f")
    for name in _OPS:
        recording.op("g", name, name.upper())
    for step in program:
        twin.run(*step)
    _run_on(recording, program)
    recording.close()
    return twin


@given(_PROGRAM, st.integers(1, 1000))
@_SETTINGS
def test_the_tables_say_what_the_program_did(program, commit_bytes):
    with tempfile.TemporaryDirectory() as folder:
        twin = _record(Path(folder), program)
        with snapshot_of(Path(folder), commit_bytes=commit_bytes) as snapshot:
            _compare(snapshot, twin)


def _compare(snapshot, twin: Twin) -> None:
    page = tables.graph_executions_page(snapshot, Range(0, snapshot.num_graph_executions))
    names = page.dictionaries["op_name"]
    assert [names[code] for code in page.columns["op_name"]] == [name for name, _ in twin.traces]
    assert page.columns["health"].tolist() == [_HEALTH[value] for _, value in twin.traces]
    owners = [None if math.isnan(owner) else owner for owner in page.columns["owner"].tolist()]
    assert owners == twin.owners
    assert call_health(snapshot).tolist() == twin.call_health()
    eager = tables.executions_page(snapshot, Range(0, snapshot.num_executions))
    assert eager.columns["health"].tolist() == [_HEALTH[value] for _, value in twin.executions]
    _compare_bad(snapshot, twin)
    for call, (name, _) in enumerate(twin.executions):
        own = [index for index, owner in enumerate(twin.owners) if owner == call]
        actual = graph_executions.locate_execution(snapshot, call)
        expected = (min(own), max(own) + 1) if own and name.startswith("__") else (None, None)
        assert (actual["graph_execution_begin"], actual["graph_execution_end"]) == expected


def _compare_bad(snapshot, twin: Twin) -> None:
    actual = alerts.alert_list(snapshot)
    listed = [
        ("trace" if slot < 0 else "eager", index)
        for index, slot in zip(actual.index.tolist(), actual.slot.tolist(), strict=True)
    ]
    assert listed == twin.bad
    assert len(alerts.page(snapshot, actual, Range(0, len(actual)))) == len(twin.bad)
    only_bad = tables.graph_executions_page(
        snapshot, Range(0, snapshot.num_bad_graph_executions), only_bad=True
    )
    assert only_bad.columns["index"].tolist() == [place for kind, place in twin.bad if kind == "trace"]


@given(_PROGRAM.filter(bool), st.data())
@_SETTINGS
def test_a_flipped_bit_anywhere_is_survived_and_everything_before_it_kept(program, data):
    with tempfile.TemporaryDirectory() as folder:
        twin = _record(Path(folder), program)
        victims = sorted(p for p in Path(folder).iterdir() if p.suffix != ".metadata" and p.stat().st_size)
        victim = data.draw(st.sampled_from(victims))
        content = bytearray(victim.read_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= 1 << data.draw(st.integers(0, 7))
        victim.write_bytes(content)
        with snapshot_of(Path(folder)) as snapshot:
            assert snapshot.rows("SELECT count(*) FROM notices") == [(1,)] or _is_truncated(snapshot)
            assert snapshot.num_graph_executions <= len(twin.traces) and snapshot.num_executions <= len(
                twin.executions
            )
            lost = {"execution": "executions", "graph_execution_traces": "graph_executions"}.get(
                victim.suffix[1:]
            )
            for table, rows in (("executions", twin.executions), ("graph_executions", twin.traces)):
                if table != lost:
                    assert snapshot.rows(f"SELECT count(*) FROM {table}") == [(len(rows),)]
            tables.graph_executions_page(snapshot, Range(0, snapshot.num_graph_executions))
            alerts.page(snapshot, alerts.alert_list(snapshot), Range(0, len(alerts.alert_list(snapshot))))


def _is_truncated(snapshot) -> bool:
    return bool(snapshot.rows("SELECT 1 FROM files WHERE state = 'truncated'"))


@given(st.lists(_PROGRAM, min_size=2, max_size=4), st.booleans())
@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.too_slow])
def test_what_is_kept_of_a_growing_run_is_what_a_new_look_finds(parts, described_late):
    with tempfile.TemporaryDirectory() as folder:
        recording = Recording(Path(folder))
        (run,) = find_runs(Path(folder))
        loader = RunLoader(run, poll_seconds=0.001)
        try:
            for number, part in enumerate(parts):
                if number == described_late:
                    recording.graph("g", "f")
                _run_on(recording, [*part, *_MANY_CALLS])
                _wait_for(loader, sum(map(len, parts[: number + 1])) + len(_MANY_CALLS) * (number + 1))
                with open_snapshot(loader) as snapshot:
                    kept = call_health(snapshot).tolist()
                    worst = tables.overview(snapshot, "executions", 3)
                    loader.memory.clear()
                    assert kept == call_health(snapshot).tolist()
                    assert worst == tables.overview(snapshot, "executions", 3)
        finally:
            loader.close()
            recording.close()


_CALL_OF_ONE = (("trace", "a", "nan"), ("call", "__inference_f_1", "good"))
_MANY_CALLS = [step for n in range(12) for step in _CALL_OF_ONE]


def _run_on(recording: Recording, program: list[tuple[str, str, str]]) -> None:
    for kind, name, value in program:
        if kind == "trace":
            recording.trace("g", name, _VALUES[value])
        else:
            recording.execution(name, [_VALUES[value]], graph_id="g" if kind == "call" else "", ids=[1])


def _wait_for(loader: RunLoader, rows: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with open_snapshot(loader) as snapshot:
            if snapshot.num_executions + snapshot.num_graph_executions == rows:
                return
        assert time.monotonic() < deadline
        time.sleep(0.002)
