"""`capture/graph/attributes.py`: attributes and control inputs are those of TensorFlow's definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.capture.graph.attributes import (
    MAX_TEXT,
    attribute_text,
    attributes_key,
    constant_value,
)
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1


def described(folder: Path) -> dict[tuple[str, str], tuple[dict[str, str], list[str]]]:
    """Attributes and control inputs of each op, by the names of its graph and its own."""
    sets: dict[int, dict[str, str]] = {}
    found = {}
    for event in read(folder).events["graphs"]:
        if event.HasField("op_attributes"):
            assert event.op_attributes.number not in sets
            attributes = event.op_attributes.attributes
            sets[event.op_attributes.number] = {a.name: a.value for a in attributes}
        elif event.HasField("graph_op_creation"):
            op = event.graph_op_creation
            found[op.graph_name, op.op_name] = sets[op.attributes], list(op.control_input_names)
    return found


def check(graph: tf.Graph, graph_name: str, folder: Path) -> None:
    found = described(folder)
    nodes = graph.as_graph_def().node
    assert nodes
    for node in nodes:
        attributes, control_inputs = found[graph_name, node.name]
        assert set(attributes) == set(node.attr), node.name
        waits_for = {name[1:] for name in node.input if name.startswith("^")}
        assert (set(control_inputs), len(control_inputs)) == (waits_for, len(waits_for)), node.name
        for name, text in attributes.items():
            assert len(text) <= MAX_TEXT
            value = node.attr[name]
            if value.WhichOneof("value") == "type":
                assert text == tf.as_dtype(value.type).name
            elif value.WhichOneof("value") == "b":
                assert text == str(value.b).lower()
            elif value.WhichOneof("value") == "i":
                assert int(text) == value.i


def test_the_attributes_and_control_inputs_of_a_function_are_on_record(tmp_path: Path) -> None:
    variable = tf.Variable(np.ones([2, 2, 1, 3], np.float32))

    @tf.function
    def step(image: tf.Tensor) -> tf.Tensor:
        convolved = tf.nn.conv2d(image, variable, strides=[1, 2, 2, 1], padding="SAME")
        variable.assign_add(tf.ones_like(variable))
        tf.debugging.assert_non_negative(convolved)
        large = tf.constant(np.arange(1000).reshape(10, 100), name="large")
        if tf.reduce_sum(convolved) > 0:
            convolved = tf.exp(convolved)
        return convolved + tf.cast(large[0, 0], tf.float32) + variable[0, 0, 0]

    with tb_debugger_plugin.record(tmp_path):
        step(tf.ones([1, 4, 4, 1]))
    graph = step.get_concrete_function(tf.ones([1, 4, 4, 1])).graph
    check(graph, graph.name, tmp_path)
    found = {op: both for (name, op), both in described(tmp_path).items() if name == graph.name}
    attributes, _ = found["Conv2D"]
    assert (attributes["padding"], attributes["strides"]) == ("SAME", "[1, 2, 2, 1]")
    assert found["large"][0] == {"dtype": "int64", "value": "int64 [10, 100]"}
    assert any(waits for _, waits in found.values())


def test_the_graph_of_a_session_has_them_too_also_ops_that_come_later(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path), tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        with tf.control_dependencies([tf.no_op(name="before"), tf.no_op(name="also")]):
            y = tf.reduce_sum(x, axis=1, keepdims=True)
        with v1.Session() as session:
            session.run(y, {x: [[1.0, 2.0]]})
            session.run(tf.argmax(x, output_type=tf.int32), {x: [[1.0, 2.0]]})
        check(graph, "tf.Graph", tmp_path)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (tf.constant([[1, 2]]), "int32 [1, 2]: 1, 2"),
        (tf.constant(2.5), "float32 []: 2.5"),
        (tf.constant(list(range(20))), "int32 [20]: 0, 1, 2, 3, 4, 5, 6, 7, …"),
        (tf.constant(["a", b"\xff"]), "string [2]: a, \ufffd"),
        (tf.constant([], tf.float64), "float64 [0]: "),
        (tf.constant([True, False]), "bool [2]: True, False"),
        (tf.constant(1.5, tf.bfloat16), "bfloat16 []: 1.5"),
        (tf.TensorShape([2, None]), "[2, ?]"),
        (tf.TensorShape(None), "?"),
        (0.1, "0.1"),
        ("long " * 100, ("long " * 100)[: MAX_TEXT - 1] + "…"),
    ],
    ids=str,
)
def test_values_of_each_kind_have_a_short_text(
    value: tf.Tensor | tf.TensorShape | float | str, text: str
) -> None:
    proto = v1.AttrValue()
    if isinstance(value, tf.Tensor):
        proto.tensor.CopyFrom(tf.make_tensor_proto(value.numpy(), value.dtype))
    elif isinstance(value, tf.TensorShape):
        proto.shape.CopyFrom(value.as_proto())
    elif isinstance(value, float):
        proto.f = value
    else:
        proto.s = value.encode()
    assert attribute_text(proto) == text


def test_only_ops_with_equal_attributes_share_a_key() -> None:
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2])
        one, same, other = tf.sqrt(x, name="a"), tf.sqrt(x + 1, name="b"), tf.sqrt(tf.cast(x, tf.float64))
        large = [tf.constant(np.full([50, size], fill)) for size, fill in ((2, 0.0), (2, 1.0), (3, 0.0))]
    keys = [attributes_key(tensor.op)[0] for tensor in (one, same, other, *large)]
    assert keys[0] == keys[1] != keys[2]
    assert keys[3] == keys[4] != keys[5]  # the elements of large constants are not recorded


_FLOAT8 = tf.dtypes.experimental.float8_e4m3fn


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, _FLOAT8, tf.float32])
def test_a_constant_has_its_elements_however_they_are_encoded(dtype: tf.DType) -> None:
    value = tf.cast([[1.0, 2.0], [3.0, 3.0]], dtype).numpy()
    proto = tf.make_tensor_proto(value, dtype)
    short = tf.make_tensor_proto([0.0], tf.float32)
    short.CopyFrom(proto)
    short.tensor_content = b""
    # The last of three elements stands for the fourth.
    three = value.ravel()[:3]
    if dtype == _FLOAT8:
        short.float8_val = three.tobytes()
    elif dtype == tf.float32:
        short.float_val.extend(three)
    else:
        short.half_val.extend(three.view(np.uint16))
    for encoded in (proto, short):
        found = constant_value(encoded)
        assert (found.shape, found.dtype, found.tobytes()) == (value.shape, value.dtype, value.tobytes())
