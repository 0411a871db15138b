"""`server/routes.py`: every query ends, also for graphs that only damage or an attacker makes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.asking import Asker, Facts, fitting, has_answered
from tests.support.events import Recording, full_health

_NUM = 4000
#: A question that takes the square of :data:`_NUM` takes minutes.
_PATIENCE_S = 30.0


def _graph(recording: Recording, graph_id: str, name: str, outer: str):
    event = recording.event()
    graph = event.debugged_graph
    graph.graph_id, graph.graph_name, graph.outer_context_id = graph_id, name, outer
    return event


def _op(recording: Recording, graph_id: str, name: str, kind: str, *inputs: str):
    event = recording.event()
    op = event.graph_op_creation
    op.graph_id, op.op_name, op.op_type, op.num_outputs = graph_id, name, kind, 1
    op.input_names.extend(inputs)
    return event


def _tower(recording):
    """Each graph inside the one before."""
    for n in range(_NUM):
        yield _graph(recording, f"g{n}", f"f{n}", f"g{n - 1}")
        yield _op(recording, f"g{n}", "op", "Log", "op:0")


def _circle_of_calls(recording):
    """Each function made inside the next one, and calling the one before."""
    for n in range(_NUM):
        yield _graph(recording, f"g{n}", f"f{n}", f"g{(n + 1) % _NUM}")
    for n in range(_NUM):
        yield _op(recording, f"g{n}", "op", f"f{n - 1}", "op:0")


def _broad(recording):
    """One graph with as many calls and loops as functions that they could run."""
    yield _graph(recording, "g0", "f", "")
    for n in range(1, _NUM):
        yield _graph(recording, f"g{n}", f"op_body_{n}", "g0")
        yield _op(recording, f"g{n}", "op", "Placeholder")
        yield _op(recording, "g0", f"call{n}", "PartitionedCall", "op:0")
        yield _op(recording, "g0", f"loop{n}", "While", "op:0")


def _fan(recording):
    """One op with very many inputs and consumers."""
    yield _graph(recording, "g0", "f", "")
    yield _op(recording, "g0", "op", "AddN", *(f"in{n}:{n}" for n in range(_NUM)))
    for n in range(_NUM):
        yield _op(recording, "g0", f"out{n}", "Log", "op:0")


@pytest.mark.parametrize("shape", [_tower, _circle_of_calls, _broad, _fan])
def test_every_question_has_an_end(tmp_path: Path, shape):
    recording = Recording(tmp_path)
    recording.writer.write("graphs", *shape(recording))
    value = full_health([1.0])
    traces = [recording.trace_event(f"g{n}", "op", value) for n in range(_NUM)]
    recording.writer.write("graph_execution_traces", *traces)
    recording.execution("__inference_f_1", [value], graph_id="g0", stack=["f1"])
    recording.source("a.py", [])
    recording.frame("f1", 0, 1, "f")
    recording.close()
    with Asker(tmp_path) as asker:
        assert asker.plugin._viewer.run_library.loader(".").wait(_PATIENCE_S)
        for path, query in fitting(Facts(".", 0, _NUM - 1, "g0", "op")):
            begin = time.monotonic()
            assert has_answered(path, asker.get(path, query).status_code), (path, query)
            assert time.monotonic() - begin < _PATIENCE_S, (path, query)
