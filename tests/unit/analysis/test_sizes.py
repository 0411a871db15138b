"""`analysis/sizes.py`: what fills a recording, beside a reader that measures each record of the files."""

from __future__ import annotations

from collections import Counter

import pytest

from tb_debugger_plugin.analysis import sizes as module
from tb_debugger_plugin.analysis.sizes import sizes
from tb_debugger_plugin.events.framing import frame, read_records
from tb_debugger_plugin.events.messages import parse_event
from tests.support.dumps import training
from tests.support.events import Recording, small_program, snapshot_of, values_program, whole

_TYPES = {"x": "Placeholder", "mul": "Mul"}


def _measured(*recordings: Recording) -> tuple[Counter[str], Counter[str]]:
    """Returns bytes and numbers of the records of each op, of the files themselves."""
    size: Counter[str] = Counter()
    number: Counter[str] = Counter()
    for recording in recordings:
        for suffix in ("execution", "graph_execution_traces"):
            records, _ = read_records(recording.files.path(suffix).read_bytes())
            for _, payload in records:
                event = parse_event(payload)
                kind = event.WhichOneof("what")
                if kind == "execution":
                    name = event.execution.op_type
                elif kind == "graph_execution_trace":
                    name = _TYPES.get(
                        event.graph_execution_trace.op_name, event.graph_execution_trace.op_name
                    )
                else:
                    continue
                size[name] += len(frame(payload))
                number[name] += 1
    return size, number


def _answered(folder):
    with snapshot_of(folder) as snapshot:
        answer = sizes(snapshot)
    parts = answer["by_op"]
    return answer, (
        {one["name"]: one["bytes"] for one in parts},
        {one["name"]: one["records"] for one in parts},
    )


def test_each_op_takes_what_its_records_take_in_the_files_of_all_hosts(tmp_path):
    recordings = [small_program(tmp_path, steps=7, host=host) for host in ("a", "b")]
    recordings.append(values_program(tmp_path))
    recordings[-1].close()
    for recording in recordings[:2]:
        recording.trace("g1", "mul", whole([1.5] * 300, 1))
        recording.close()
    answer, found = _answered(tmp_path)
    assert answer["is_measured"]
    assert found == _measured(*recordings)
    assert answer["files"]["graphs"] == sum(one.files.path("graphs").stat().st_size for one in recordings)
    by_function = {one["name"]: one["bytes"] for one in answer["by_function"]}
    assert sum(by_function.values()) == sum(found[0].values()) and by_function["loss"] > by_function[None]
    assert [one["bytes"] for one in answer["by_op"]] == sorted(found[0].values(), reverse=True)


def test_of_a_long_recording_a_part_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MEASURED", 256)
    recording = small_program(tmp_path, steps=200)
    answer, (found, numbers) = _answered(recording.close())
    size, number = _measured(recording)
    assert not answer["is_measured"] and numbers == number
    assert found.keys() == size.keys()
    assert found == pytest.approx(size, rel=0.02)


def test_a_filter_saves_what_the_tensors_take_that_it_leaves_out(tmp_path):
    recording = small_program(tmp_path, steps=20)
    recording.op("g1", "count", "Size", ["x:0"], ids=[14], outputs=[(3, [])])
    for step in range(20):
        recording.trace("g1", "count", whole([step], 3))
    answer, (size, number) = _answered(recording.close())
    savings = {one["argument"].partition("=")[0]: one for one in answer["savings"]}
    assert savings["tensor_dtypes"]["argument"] == "tensor_dtypes=['float32']"
    assert (savings["tensor_dtypes"]["records"], savings["tensor_dtypes"]["bytes"]) == (20, size["Size"])
    left_out = savings["op_regex"]["argument"].removeprefix("op_regex='(?!(").removesuffix(")$)'").split("|")
    assert len(left_out) == 3
    assert savings["op_regex"]["bytes"] == sum(size[name] for name in left_out)
    assert savings["every_n_steps"]["records"] == round(0.9 * sum(number.values()))


def test_where_no_record_has_a_place_their_number_is_known(tmp_path, tbdbg):
    training(tmp_path)
    _, (size, number) = _answered(tmp_path)
    assert set(size.values()) == {None} and min(number.values()) > 0
    assert " records" in tbdbg("info", tmp_path)


def test_of_a_circular_buffer_a_filter_saves_nothing(tmp_path):
    small_program(tmp_path, steps=20, circular_buffer_size=10).close()
    answer, _ = _answered(tmp_path)
    assert answer["by_op"] and not answer["savings"]


def test_an_empty_recording_is_filled_by_nothing(tmp_path, tbdbg):
    Recording(tmp_path).close()
    answer, _ = _answered(tmp_path)
    assert (answer["by_op"], answer["by_function"], answer["savings"]) == ([], [], [])
    (facts,) = tbdbg.json("info", tmp_path).values()
    assert facts["sizes"] == answer
