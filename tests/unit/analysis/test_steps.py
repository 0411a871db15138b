"""`analysis/calls/steps.py`: each row has the step that the program marked, or that follows from its time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_debugger_plugin import open_run
from tb_debugger_plugin.analysis.calls import steps
from tb_debugger_plugin.analysis.lists.filters import parse_range
from tb_debugger_plugin.errors import BadQueryError
from tests.support.events import Recording, full_health, small_program, snapshot_of

BAD = float("nan")


def train(folder: Path, *marked: int, host: str = "worker0", start: float = 1000.0) -> None:
    """Writes a program that calls a function after an eager op for each of the marks."""
    with Recording(folder, host=host, start=start, host_name=host) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "Log", "Log", ids=[11])
        recording.op("g1", "mul", "Mul", ["Log:0"], ids=[12])
        for number, step in enumerate(marked):
            recording.step = step
            recording.execution("Fill", [full_health([0.0])], ids=[10 * number])
            recording.trace("g1", "Log", full_health([BAD if number % 2 else 1.0], 11))
            recording.trace("g1", "mul", full_health([1.0], 12))
            result = [full_health([1.0])]
            recording.execution("__inference_loss_7", result, graph_id="g1", ids=[10 * number + 1])
        recording.trace("g1", "Log", full_health([1.0], 11))


def expected_steps(folder: Path) -> tuple[list[int], list[int]]:
    """The steps of executions and of graph executions, one row after another: an oracle."""
    with open_run(folder) as run:
        rows = [list(run.executions()), list(run.graph_executions())]
        marks = [
            [step for (step,) in run.sql(f"SELECT step FROM internal.{table} ORDER BY idx").fetchall()]
            for table in ("executions", "graph_executions")
        ]
    pairs = [pair for of_list in zip(rows, marks, strict=True) for pair in zip(*of_list, strict=True)]
    marking = {row.host for row, step in pairs if step > 0}

    def of(row, step: int) -> int:
        if row.host in marking:
            return step
        ends = [call.wall_time for call in rows[0] if call.is_function and call.host == row.host]
        return sum(end < row.wall_time for end in ends)

    both = [of(row, step) for row, step in pairs]
    return both[: len(rows[0])], both[len(rows[0]) :]


def _marked(folder: Path) -> None:
    train(folder, 0, 0, 1, 3, 4)


def _not_marked(folder: Path) -> None:
    train(folder, 0, 0, 0, 0)


def _of_two_hosts(folder: Path) -> None:
    train(folder, 0, 1, 2, host="a")
    train(folder, 0, 0, 0, 0, host="b", start=1000.0005)


def _eager(folder: Path) -> None:
    with Recording(folder) as recording:
        for number in range(3):
            recording.execution("Fill", [full_health([0.0])], ids=[number])


MAKERS = pytest.mark.parametrize("make", [_marked, _not_marked, _of_two_hosts, _eager])


@MAKERS
def test_rows_have_the_steps_of_their_hosts(tmp_path: Path, make) -> None:
    make(tmp_path)
    executions, traces = expected_steps(tmp_path)
    with open_run(tmp_path) as run:
        assert [row.step for row in run.executions()] == executions
        assert [row.step for row in run.graph_executions()] == traces
        assert run.graph_executions().columns()["step"].tolist() == traces
        for table, expected in (("calls", executions), ("tensors WHERE NOT is_eager", traces)):
            in_words = run.sql(f"SELECT step FROM {table} ORDER BY idx").fetchall()
            assert [step for (step,) in in_words] == expected


@MAKERS
@pytest.mark.parametrize("step", [0, 1, (1, 2), (2, 9), (3, 3), (7, 9)])
def test_a_filter_finds_the_rows_of_some_steps(tmp_path: Path, make, step: int | tuple[int, int]) -> None:
    make(tmp_path)
    first, last = step if isinstance(step, tuple) else (step, step)
    with open_run(tmp_path) as run:
        for every, found in (
            (run.executions(), run.executions(step=step)),
            (run.graph_executions(), run.graph_executions(step=step)),
        ):
            wanted = [row.index for row in every if first <= row.step <= last]
            assert [row.index for row in found] == wanted


@MAKERS
@pytest.mark.parametrize("bins", [1, 2, 100])
def test_steps_begin_at_their_first_rows(tmp_path: Path, make, bins: int) -> None:
    make(tmp_path)
    with snapshot_of(tmp_path) as snapshot:
        found = [{**host, "kind": None} for host in steps.steps(snapshot, bins)["hosts"]]
    with open_run(tmp_path) as run:
        rows = {"execution": list(run.executions()), "graph_execution": list(run.graph_executions())}
    assert found == [_expected_bins(rows, host["host"], bins) for host in found]


def _expected_bins(rows, host: str, bins: int) -> dict[str, object]:
    own = {kind: [row for row in of_kind if row.host == host] for kind, of_kind in rows.items()}
    num_steps = max((row.step + 1 for of_kind in own.values() for row in of_kind), default=0)
    width = max(1, -(-num_steps // bins))
    found = []
    for begin in range(0, num_steps, width):
        inside = {
            kind: [row for row in of_kind if begin <= row.step < begin + width]
            for kind, of_kind in own.items()
        }
        if any(inside.values()):
            bad = sum(row.health == "bad" for of_kind in inside.values() for row in of_kind)
            firsts = {
                f"first_{kind}": min((row.index for row in of_kind), default=None)
                for kind, of_kind in inside.items()
            }
            found.append({"step": begin, **firsts, "num_bad": bad})
    return {"host": host, "kind": None, "num_steps": num_steps, "bins": found}


def test_what_decides_the_steps_is_said(tmp_path: Path) -> None:
    _of_two_hosts(tmp_path)
    with snapshot_of(tmp_path) as snapshot:
        kinds = {one["host"]: one["kind"] for one in steps.steps(snapshot, 10)["hosts"]}
    assert kinds == {"a": "marked", "b": "calls"}


def test_runs_of_a_session_are_steps(tmp_path: Path) -> None:
    with Recording(tmp_path) as recording:
        recording.graph("g1")
        recording.op("g1", "Log", "Log", ids=[11])
        for run in (1, 2, 5):  # what a circular buffer has kept
            recording.trace("g1", "Log", full_health([1.0], 11))
            recording.session_run(run)
        recording.trace("g1", "Log", full_health([1.0], 11))
    with open_run(tmp_path) as run:
        assert [row.step for row in run.graph_executions()] == [0, 1, 4, 5]
        assert [row.index for row in run.graph_executions(step=(1, 4))] == [1, 2]


def test_a_growing_run_gets_marks_later(tmp_path: Path) -> None:
    recording = small_program(tmp_path, steps=3)
    with open_run(tmp_path) as run:
        assert [row.step for row in run.graph_executions(op_name="Log")] == [0, 1, 2]
    recording.step = 1
    recording.trace("g1", "Log", full_health([1.0]))
    recording.close()
    with open_run(tmp_path) as run:
        assert [row.step for row in run.graph_executions(op_name="Log")] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", (3, 3)), ("3..9", (3, 9)), ("3..", (3, 2**53)), ("..9", (0, 9))],
)
def test_steps_are_a_number_or_a_range(text: str, expected: tuple[int, int]) -> None:
    assert parse_range("step", text) == expected


@pytest.mark.parametrize("text", ["..", "a", "-1", "3...4", "3.4", "9" * 30])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadQueryError, match="step must be like"):
        parse_range("step", text)


@pytest.mark.parametrize("number", [2**62, -(2**62), 0])
def test_runs_with_numbers_that_no_session_has_are_counted(tmp_path: Path, number: int) -> None:
    with Recording(tmp_path) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "Log", "Log", ids=[11])
        for more in range(2):
            recording.trace("g1", "Log", full_health([1.0], 11))
            recording.session_run(number + more)
    with open_run(tmp_path) as run:
        assert [row.step for row in run.graph_executions()] == [0, 1]
