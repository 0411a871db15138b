"""`events/dumps`: names, files and graphs in dump folders of tfdbg v1."""

from __future__ import annotations

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events import wire
from tb_debugger_plugin.events.dumps import files, graphs
from tb_debugger_plugin.events.dumps.folders import call_files, call_folders
from tb_debugger_plugin.events.dumps.names import (
    CallName,
    DumpName,
    parse_call_folder,
    parse_device_folder,
    parse_dump_path,
)
from tests.support.dumps import CPU, DumpedCall, device_folder, node, tensor_of, training

_DEVICE = device_folder(CPU)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a_0_DebugIdentity_12", ("a", 0, "DebugIdentity", 12, 0)),
        ("scope/in_2/a_b_1_DebugNumericSummary_12-3", ("scope/in_2/a_b", 1, "DebugNumericSummary", 12, 4)),
        ("_arg_x_0_0_0_DebugIdentity_12", ("_arg_x_0_0", 0, "DebugIdentity", 12, 0)),
    ],
)
def test_the_path_of_a_dump_says_what_it_holds(path, name):
    assert parse_dump_path(f"{_DEVICE}/{path}") == DumpName(CPU, *name)


@pytest.mark.parametrize(
    "path",
    [
        "a_0_DebugIdentity",
        "0_DebugIdentity_12",
        "a_x_DebugIdentity_12",
        "a_0_DebugIdentity_" + "9" * 17,
        "a_" + "9" * 10 + "_DebugIdentity_1",
        "a_0_Debug Identity_1",
        "a_0_DebugIdentity_1-",
        "a_0_DebugIdentity_\u0661",
        "",
    ],
)
def test_other_names_are_no_dumps(path):
    assert parse_dump_path(f"{_DEVICE}/{path}") is None
    assert parse_dump_path(path) is None


def test_the_folder_of_a_device_has_its_name():
    assert parse_device_folder(_DEVICE) == CPU
    assert parse_device_folder("_tfdbg_device_") == ""
    assert parse_device_folder("other") is None


def test_the_folder_of_a_call_has_its_time():
    assert parse_call_folder("run_1700000000000000_12") == CallName(1700000000000000, 12)
    assert parse_call_folder("run_x_1") is None and parse_call_folder("run_1_1_1") is None


def test_calls_are_listed_in_their_order(tmp_path):
    for name in ("run_20_1", "run_100_2", "run_9_0", "other"):
        (tmp_path / name).mkdir()
    assert call_folders(tmp_path) == ["run_9_0", "run_20_1", "run_100_2"]
    assert call_folders(tmp_path / "absent") == []


def test_dumps_are_listed_in_order_of_time(tmp_path):
    call = DumpedCall(tmp_path / "run_1_0")
    for name, time in (("b", 30), ("scope/a", 9), ("c", 100)):
        call.dump(name, 1.0, time=time)
    (call.folder / _DEVICE / "no dump").touch()
    (call.folder / _DEVICE / "link_0_DebugIdentity_5").symlink_to(call.folder / "_tfdbg_fetches_info_")
    (call.folder / _DEVICE / "loop").symlink_to(call.folder)
    found = call_files(call.folder)
    assert [name.node for name, _ in found.dumps] == ["scope/a", "b", "c"]
    assert found.devices == [CPU] and len(found.metadata) == len(found.fetches) == len(found.feeds) == 1


def test_the_tensor_of_a_dump_is_found(tmp_path):
    file = DumpedCall(tmp_path / "run_1_0").dump("a", np.arange(3.0), time=1)
    data = file.read_bytes()
    place = files.tensor_place(data)
    assert data[place.offset : place.offset + place.length] == tensor_of(np.arange(3.0)).SerializeToString()


def test_metadata_says_which_call_it_was(tmp_path):
    call = DumpedCall(tmp_path / "run_1_0", session_run=7, fetches="[loss]")
    found = call_files(call.folder)
    assert files.core_metadata((call.folder / found.metadata[0]).read_bytes()).session_run_index == 7
    assert files.log_message((call.folder / found.fetches[0]).read_bytes()) == "[loss]"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "nonsense", '{"global_step": 1e400}', "[" * 100_000, '{"global_step": [1]}']
)
def test_other_texts_are_no_metadata(text):
    event = Event()
    event.log_message.message = text
    with pytest.raises(FormatError):
        files.core_metadata(event.SerializeToString())


def _graph(*nodes):
    data = GraphDef(node=nodes).SerializeToString()
    return graphs.partition_graph(data, files.ByteRange(0, len(data)))


def test_a_graph_is_read_without_the_nodes_of_the_debugger(tmp_path):
    (call,) = training(tmp_path, calls=1)
    path = call_files(call.folder).graphs[CPU]
    data = (call.folder / path).read_bytes()
    graph = graphs.partition_graph(data, files.graph_place(data))
    assert list(graph.nodes) == ["x", "step", "_arg_step_0_0", "log", "log/_0"]
    assert graph.nodes["log"].inputs == ("step",) and graph.nodes["log"].controls == ()
    assert graph.nodes["log/_0"].inputs == ("log",) and graph.nodes["log/_0"].controls == ("x",)
    assert graph.watched == {"step": {0}, "log": {0}} and graph.copied == {"log/_0"}


def test_attributes_are_read_when_they_are_asked_for():
    described = node("Const")
    described.name = "a"
    described.attr["value"].tensor.CopyFrom(tensor_of(np.float32(3)))
    data = GraphDef(node=[described]).SerializeToString()
    graph = graphs.partition_graph(data, files.ByteRange(0, len(data)))
    assert graphs.attributes(data, graph.nodes["a"]) == dict(described.attr)


def test_double_slashes_are_one():
    """TensorFlow's folders cannot show them."""
    described = node("Log", "a//b", "^c///d")
    described.name = "e//f"
    (found,) = _graph(described).nodes.values()
    assert (found.name, found.inputs, found.controls) == ("e/f", ("a/b",), ("c/d",))


def test_copies_without_inputs_and_nodes_without_names_do_no_harm():
    copy, taker = node("Copy"), node("Log", "__copy_a_0", "__copy_b_0")
    copy.name, taker.name = "__copy_a_0", "taker"
    (found,) = _graph(copy, taker, node("Log")).nodes.values()
    assert found.inputs == ("__copy_a_0", "__copy_b_0")


def test_a_graph_with_too_many_nodes_is_refused():
    # A megabyte could otherwise become gigabytes of objects.
    data = b"\n\x03\n\x01a" * 10 + b"\n\x00" * (graphs.MAX_INPUTS // 2)
    assert list(graphs.partition_graph(data, files.ByteRange(0, len(data))).nodes) == ["a"]
    inputs = b"\x1a\x00" * (graphs.MAX_INPUTS + 1)
    length = len(inputs)
    size = bytes([length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14 & 0x7F | 0x80, length >> 21])
    with pytest.raises(FormatError, match="more than"):
        graphs.partition_graph(b"\n" + size + inputs, files.ByteRange(0, length + 5))


@pytest.mark.parametrize(
    "data", [b"\xff", b"\x0a", b"\x0a\x05a", b"\x0b", b"\x00\x00", b"\x0a\xff" * 20, b"\x09\x00"]
)
def test_bytes_that_are_no_message_are_refused(data):
    with pytest.raises(FormatError):
        list(wire.fields(data))


def test_the_fields_of_a_message_are_those_that_protobuf_writes():
    event = Event(wall_time=1.5, step=300, graph_def=b"graph")
    data = event.SerializeToString()
    found = {field.number: field for field in wire.fields(data)}
    assert found[2].value == 300 and data[found[4].begin : found[4].end] == b"graph" and found[1].kind == 1
