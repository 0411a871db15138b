"""`analysis/values/bad_element.py`: where a recorded tensor is bad is found, and said in one sentence."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin import open_run
from tests.support.events import Recording, full_health

pytestmark = pytest.mark.timeout(60)

INF = math.inf


def array(shape, **places):
    """Ones, and bad elements: `inf` and `nan` give their positions."""
    made = np.ones(shape, np.float32)
    for word, position in places.items():
        made.reshape(-1)[position] = float(word)
    return made


def recorded(folder, value, element, nan_element=None, *, shape, calls=1):
    """A run whose op Log makes a bad value, and whose recorder noted where the first one is bad."""
    with Recording(folder) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "x", "Placeholder", ids=[10])
        recording.op("g1", "Log", "Log", ["x:0"], ids=[11])
        for call in range(calls):
            recording.trace("g1", "x", full_health(np.zeros_like(value), 10))
            event = recording.trace_event("g1", "Log", full_health(value, 11))
            recording.writer.write("graph_execution_traces", event)
            if call == 0:
                recording.bad_element(event, element, nan_element, shape=shape)
            recording.execution("__inference_loss_7", [full_health(value)], graph_id="g1")
    return folder


@pytest.mark.parametrize(
    ("value", "element", "nan", "shape", "words"),
    [
        (array((32, 10), nan=53), 53, 53, (32, 10), "Its first bad element is [5, 3] of [32, 10]."),
        (array((2, 3, 4), inf=7), 7, None, (2, 3, 4), "Its first bad element is [0, 1, 3] of [2, 3, 4]."),
        (
            array((4, 5), inf=13, nan=16),
            *(13, 16, (4, 5)),
            "Its first bad element is [2, 3] of [4, 5], its first NaN [3, 1].",
        ),
        (array((9,), inf=8), 8, None, (9,), "Its first bad element is [8] of [9]."),
        (
            array((2000,), inf=1999),
            1999,
            None,
            None,
            "Its first bad element is number 1,999, counted from 0.",
        ),
        (array((), nan=0), 0, 0, (), ""),
        # Damage: the shape has no such element.
        (array((9,), inf=8), 8, None, (2, 2), "Its first bad element is number 8, counted from 0."),
        (
            array((9,), inf=8),
            2**63,
            None,
            (-1, 3),
            f"Its first bad element is number {2**63 - 1:,}, counted from 0.",
        ),
    ],
)
def test_every_answer_has_the_sentence_on_the_first_bad_element(
    tmp_path: Path, tbdbg, value, element, nan, shape, words
):
    recorded(tmp_path, value, element, nan, shape=shape)
    with open_run(tmp_path) as run:
        origin = run.origins()[0]
        what = run.why().sentences[0]
        assert origin.element is not None and origin.element.words == words
        assert origin.explanation.startswith(what)
        assert what.endswith(f" {words}" if words else "its only value.")
        assert run.why().facts["element"] == origin.element.to_json()
        assert what in str(run.verdict())
        assert run.value("Log:0", function="loss").bad_element == (
            None if origin.element.index is None else tuple(origin.element.index)
        )
    for verb in ("why", "origins"):
        assert what in tbdbg(verb, tmp_path)


def test_only_the_value_that_was_noted_is_known(tmp_path: Path):
    recorded(tmp_path, array((2, 2), nan=1), 1, 1, shape=(2, 2), calls=2)
    with open_run(tmp_path) as run:
        first, second = run.graph_executions(op_name="^Log$")
        assert first.value().bad_element == (0, 1)
        assert second.value().bad_element is None
        assert [row.value().bad_element for row in run.graph_executions(op_name="^x$")] == [None, None]
        assert run.executions()[0].value().bad_element is None


def test_an_output_of_an_eager_op_is_found_by_its_slot(tmp_path: Path):
    with Recording(tmp_path) as recording:
        good, bad = full_health([1.0]), full_health([[1.0, INF]])
        event = recording.execution_event("Split", [good, bad], ids=[1, 2])
        recording.writer.write("execution", event)
        recording.bad_element(event, 1, slot=1, shape=(1, 2))
    with open_run(tmp_path) as run:
        assert run.value(execution=0, slot=1).bad_element == (0, 1)
        assert run.value(execution=0, slot=0).bad_element is None
        rows = run.sql("SELECT graph_id, op_name, slot, element, nan_element FROM bad_elements").fetchall()
    assert rows == [(None, "Split", 1, 1, None)]
