"""`capture/naming`: layers, variables, gradients and called graphs are recorded with the program's names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.keras import DebuggerCallback
from tests.support.recorded import read

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras's own
]

X = np.linspace(0, 3, 32, dtype=np.float32).reshape(8, 4)
Y = np.zeros((8, 2), np.float32)


class Ops:
    """The op creations of a recording, of the graphs that this file made; others may live."""

    def __init__(self, root: Path, within: str = "") -> None:
        recorded = read(root)
        self.graph_names = recorded.graph_names()
        self._outer = {one.graph_id: one.outer_context_id for one in recorded.records("debugged_graph")}
        ops = recorded.records("graph_op_creation")
        here = {frame_id for frame_id, (path, *_) in recorded.frames.items() if path == __file__}
        made_here = {op.graph_id for op in ops if here.intersection(op.code_location.stack_frame_ids)}
        self.all = [
            op
            for op in ops
            if op.graph_id in made_here and (not within or within in self._around(op.graph_id))
        ]

    def _around(self, graph_id: str) -> Iterator[str]:
        while graph_id:
            yield self.graph_names[graph_id]
            graph_id = self._outer[graph_id]

    def gradients(self) -> dict[str, tuple[int, ...]]:
        """Shape by variable of what is recorded as a gradient."""
        return {
            name: tuple(output.dims)
            for op in self.all
            for output in op.outputs
            for name in output.gradient_of
        }

    def losses(self) -> list[tuple[str, str, list[int]]]:
        """Graph, op type and shape of what is recorded as a loss."""
        return [
            (op.graph_name, op.op_type, list(output.dims))
            for op in self.all
            for output in op.outputs
            if output.is_loss
        ]


def model() -> tf.keras.Model:
    # Keras counts layers from the start again, whatever tests ran before.
    tf.keras.backend.clear_session()
    tf.keras.utils.set_random_seed(1)
    layers = tf.keras.layers
    inputs = tf.keras.Input([4])
    x = layers.Embedding(5, 3)(tf.keras.ops.cast(inputs, "int32"))
    x = layers.Flatten()(x)
    # Its ops stand in the scope "dense_1", which is also the name of the next layer.
    x = layers.Dense(6, activation="relu", name="dense")(x)
    x = layers.BatchNormalization()(x)
    inner = tf.keras.Sequential([tf.keras.Input([6]), layers.Dense(2, name="dense_1")], name="head")
    made = tf.keras.Model(inputs, inner(x))
    made.compile(tf.keras.optimizers.SGD(0.1), "mse", jit_compile=False)
    return made


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[tf.keras.Model, Ops]:
    root = tmp_path_factory.mktemp("keras")
    made = model()
    made.fit(X, Y, batch_size=4, verbose=0, callbacks=[DebuggerCallback(root)])
    return made, Ops(root)


def test_the_gradient_of_each_weight_is_known_by_the_path_that_keras_gives_it(
    trained: tuple[tf.keras.Model, Ops],
) -> None:
    made, ops = trained
    gradients = ops.gradients()
    assert set(gradients) == {weight.path for weight in made.trainable_weights}
    for weight in made.trainable_weights:
        if "embedding" not in weight.path:  # of which only the rows that were looked up
            assert gradients[weight.path] == weight.shape


def test_the_loss_of_a_keras_model_is_known(trained: tuple[tf.keras.Model, Ops]) -> None:
    _, ops = trained
    assert [(name, shape) for name, _, shape in ops.losses()] == [("one_step_on_data", [])]


def test_ops_belong_to_the_layer_that_made_them_whatever_their_scope_is_called(
    trained: tuple[tf.keras.Model, Ops],
) -> None:
    _, ops = trained
    layers = {op.layer for op in ops.all} - {""}
    assert layers >= {"embedding", "flatten", "dense", "batch_normalization", "head/dense_1"}
    for op in ops.all:
        if op.op_type == "ReadVariableOp" and not op.op_name.startswith(("SGD", "sgd")) and op.layer:
            assert op.variable.rpartition("/")[0] == op.layer
    assert {op.layer for op in ops.all if op.op_type == "Relu"} == {"dense"}


def test_ops_of_a_gradient_belong_to_the_layer_whose_gradient_they_are_part_of(
    trained: tuple[tf.keras.Model, Ops],
) -> None:
    _, ops = trained
    backward = [op for op in ops.all if op.op_name.startswith("gradient_tape/functional")]
    assert {op.layer for op in backward if op.op_type == "ReluGrad"} == {"dense"}
    assert all(op.layer for op in backward)
    for op in ops.all:
        for name in (name for output in op.outputs for name in output.gradient_of):
            assert name.rpartition("/")[0] == op.layer


def test_what_assigns_a_weight_says_which(trained: tuple[tf.keras.Model, Ops]) -> None:
    made, ops = trained
    assigned = {op.variable for op in ops.all if op.op_type in ("AssignSubVariableOp", "ResourceScatterSub")}
    assert assigned >= {weight.path for weight in made.trainable_weights}


def test_variables_and_layers_of_a_model_that_was_trained_before_are_known(tmp_path: Path) -> None:
    made = model()
    made.fit(X, Y, batch_size=4, verbose=0)
    made.fit(X, Y, batch_size=4, verbose=0, callbacks=[DebuggerCallback(tmp_path)])
    ops = Ops(tmp_path)
    assert {op.layer for op in ops.all if op.op_type in ("Relu", "ReluGrad")} == {"dense"}
    assert {op.variable for op in ops.all} >= {weight.path for weight in made.weights}
    assert not ops.gradients()


def test_gradients_through_functions_loops_and_branches_name_their_variable(tmp_path: Path) -> None:
    w = tf.Variable(2.0, name="w")

    @tf.function
    def cubed(x: tf.Tensor) -> object:
        _, product = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * w), [0, x])
        return tf.cond(product > 0, lambda: product + w, lambda: product - w)

    @tf.function
    def step(x: tf.Tensor) -> object:
        with tf.GradientTape(persistent=True) as tape:
            y = cubed(x)
        return tape.gradient(y, {"of w": w, "of x": x}), tf.gradients(x * w, w)

    with tb_debugger_plugin.record(tmp_path):
        (gradients, plain) = step(tf.constant(1.0))
    assert float(gradients["of w"]) == 13.0 and float(plain[0]) == 1.0
    ops = Ops(tmp_path, "step")
    assert set(ops.gradients()) == {"w"}
    assert {op.graph_name for op in ops.all for output in op.outputs if output.gradient_of} >= {"step"}
    reads = [op for op in ops.all if op.op_type == "ReadVariableOp"]
    assert len(reads) >= 3 and {op.variable for op in reads} == {"w"}
    # Not what its function and its loop return: TensorFlow made their gradients, the program did not.
    assert ops.losses() == [("step", "StatefulPartitionedCall", []), ("step", "Mul", [])]


def test_what_only_gradients_of_its_inputs_were_asked_of_is_no_loss(tmp_path: Path) -> None:
    w = tf.Variable(2.0, name="w")

    @tf.function
    def penalised(x: tf.Tensor) -> object:
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(x)
                score = tf.square(w * x)
            loss = tf.abs(inner.gradient(score, x))
        return tape.gradient(loss, w)

    with tb_debugger_plugin.record(tmp_path):
        assert float(penalised(tf.constant(1.0))) == 8.0
    assert Ops(tmp_path, "penalised").losses() == [("penalised", "Abs", [])]


def test_a_variable_without_a_name_is_called_by_where_it_stands_in_its_module(tmp_path: Path) -> None:
    class Dense(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kernel = tf.Variable(2.0)
            self.named = tf.Variable(3.0, name="mine")

    class Network(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [Dense(), Dense()]

    network = Network()

    @tf.function
    def step(x: tf.Tensor) -> object:
        with tf.GradientTape() as tape:
            for dense in network.layers:
                x = dense.kernel * x + dense.named
        return tape.gradient(x, network.trainable_variables)

    with tb_debugger_plugin.record(tmp_path):
        step(tf.constant(1.0))
    paths = {"network/layers/0/kernel", "network/layers/1/kernel", "mine"}
    assert set(Ops(tmp_path, "step").gradients()) == paths


def test_an_op_that_runs_graphs_says_which_in_order(tmp_path: Path) -> None:
    @tf.function
    def inner(x: tf.Tensor) -> object:
        return x + 1.0

    @tf.function
    def outer(x: tf.Tensor) -> object:
        x = tf.while_loop(lambda x: x < 10.0, lambda x: [inner(x)], [x])[0]
        return tf.switch_case(tf.cast(x, tf.int32) % 3, [lambda: x, lambda: inner(x), lambda: -x])

    before = outer(tf.constant(1.0))  # so that what there was already is described too
    with tb_debugger_plugin.record(tmp_path):
        assert outer(tf.constant(1.0)) == before
    ops = Ops(tmp_path, "outer")
    called = {
        op.op_type: [ops.graph_names[graph_id] for graph_id in op.called_graph_ids]
        for op in ops.all
        if op.called_graph_ids
    }
    assert called["PartitionedCall"] == ["inner"]
    (condition, body) = called[next(name for name in called if name.endswith("While"))]
    assert "_cond_" in condition and "_body_" in body
    branches = called[next(name for name in called if name.endswith("Case"))]
    assert [name.partition("branch")[2][:1] for name in branches] == ["0", "1", "2"]


def test_error_messages_and_recorded_stacks_do_not_show_our_functions(tmp_path: Path) -> None:
    w = tf.Variable(2.0)

    @tf.function
    def step(x: tf.Tensor) -> object:
        with tf.GradientTape() as tape:
            y = tf.sqrt(w * x)
        return tape.gradient(y, w), tf.gradients(tf.sqrt(w * x), w)

    with tb_debugger_plugin.record(tmp_path):
        graph = step.get_concrete_function(tf.constant(1.0)).graph
    made = [op.traceback.get_user_frames() for op in graph.get_operations() if op.type == "SqrtGrad"]
    assert len(made) == 2
    assert {frames[-1].filename for frames in made} == {__file__}
    frames = read(tmp_path).frames
    stacks = [op.code_location.stack_frame_ids for op in Ops(tmp_path, "step").all]
    paths = {frames[frame][0] for stack in stacks for frame in stack}
    assert __file__ in paths and not [path for path in paths if "tb_debugger_plugin" in path]
