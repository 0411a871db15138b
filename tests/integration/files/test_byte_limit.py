"""`native/src/event_file.h`: a recording that has reached its byte limit goes on as a circular buffer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tb_debugger_plugin import open_run
from tb_debugger_plugin.capture.options import LEAST_BYTES
from tests.integration.files.test_pinned import executions_of, run, traces_of
from tests.support.recorded import Recorded

pytestmark = pytest.mark.tensorflow

STEPS, BAD_STEP = 12_000, 8_000
OPS = {"x", "root", "negated", "result"}


def _run(root: Path, limit: int, end: str, mode: str = "FULL_NUMERICS") -> tuple[Recorded, str]:
    return run(root, end, mode, steps=(STEPS, BAD_STEP), circular_buffer_size=-1, max_bytes=limit)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A recording below its limit, which says nothing of it."""
    recorded, log = _run(tmp_path_factory.mktemp("all"), 1 << 34, "ends")
    assert "max_bytes" not in log
    assert len(recorded.traces) == len(OPS) * STEPS
    return recorded


def _same_at_begin(some: list[str], every: list[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(some, every, strict=False)) if a != b), len(some))


@pytest.mark.parametrize("end", [pytest.param("ends", marks=pytest.mark.long), "killed"])
def test_what_is_on_record_stays_and_the_first_nan_and_the_end_are_added(
    tmp_path: Path, everything: Recorded, end: str
) -> None:
    recorded, log = _run(tmp_path, LEAST_BYTES, end)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= LEAST_BYTES
    assert log.count("has nearly reached") == 1
    assert len(re.findall(r"grows by 0\.0 MB a step, \d+\.\d GB an hour: .* 4 MB \(max_bytes\) in", log)) == 1

    for told in (traces_of, executions_of):
        held, every = told(recorded), told(everything)
        begin, last = _same_at_begin(held, every), _same_at_begin(held[::-1], every[::-1])
        assert begin > len(every) / 10 and last > 100 and begin + last < len(held) < len(every)
        bad = [row for row in every if "nan" in row]
        assert [row for row in held if "nan" in row] == bad
        # Between them is only what ran around the NaN.
        between = held[begin : len(held) - last]
        around = every.index(bad[0]) - between.index(bad[0])
        assert begin < around and between == every[around : around + len(between)]

    with open_run(tmp_path) as run:
        facts, cause = run.status(), run.origins()[0]
    assert cause.op_type == "Sqrt"
    assert [entry["reason"] for entry in facts["not_recorded"]] == ["bounded"]
    for kind, told in (("graph_executions", traces_of), ("executions", executions_of)):
        assert facts[f"num_{kind}"] + facts[f"dropped_{kind}"] == len(told(everything))
        assert facts[f"pinned_{kind}"] == 0


@pytest.mark.long
def test_whole_tensors_are_bounded_too(tmp_path: Path) -> None:
    recorded, log = _run(tmp_path, LEAST_BYTES, "ends", "FULL_TENSOR")
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= LEAST_BYTES
    assert log.count("has nearly reached") == 1
    assert {trace.op_name for trace in recorded.traces} == OPS
