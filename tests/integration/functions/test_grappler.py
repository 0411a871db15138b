"""`capture/engines/grappler`: only survivors are watched, and the program runs as it does in production."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tb_debugger_plugin
from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.engines.grappler.grappler import Grappler
from tb_debugger_plugin.capture.tf_types import NodeDef
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.keras import DebuggerCallback
from tests.support.models import Maker, Training, cnn, full_cnn, full_gpt, gpt, mlp
from tests.support.programs import run_python
from tests.support.recorded import Recorded, read

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras's own
]

STEERS = {"Enter", "Exit", "Merge", "NextIteration", "Switch"}


def what_ran(run: Callable[[], object]) -> dict[str, tuple[str, list[str]]]:
    """The ops of the largest graph that TensorFlow optimized and ran: types and inputs."""
    runtime = context.context()
    runtime.enable_graph_collection()
    runtime.export_run_metadata()  # graphs of earlier tests
    run()
    graphs = [each.post_optimization_graph for each in runtime.export_run_metadata().function_graphs]
    runtime.disable_graph_collection()
    nodes = {node.name: node for node in max(graphs, key=lambda graph: len(graph.node)).node}

    def behind(name: str) -> str:
        op = name.partition(":")[0]
        node = nodes[op]
        if node.op == "Const":
            return repr(tf.make_ndarray(node.attr["value"].tensor))
        return behind(node.input[0]) if node.op in ("Identity", "TbDebuggerWatchInline") else name

    def inputs(node: NodeDef) -> list[str]:
        actual = [behind(name) for name in node.input if not name.startswith("^")]
        return sorted(actual) if node.op in ("AddV2", "Mul") else actual

    unseen = ("NoOp", "Const", "Identity", "IdentityN", "TbDebuggerWatch", "TbDebuggerWatchInline")
    return {name: (node.op, inputs(node)) for name, node in nodes.items() if node.op not in unseen}


def computed(run: Callable[[], object]) -> Counter[str]:
    """How many ops of each type there were, but for those that steer loops and branches."""
    types = Counter(op for op, _ in what_ran(run).values())
    return Counter({op: count for op, count in types.items() if op not in STEERS})


def seen(recorded: Recorded) -> set[tuple[str, str, int]]:
    return {(trace.graph_id, trace.op_name, trace.slot) for trace in recorded.traces}


long = [pytest.param(make, marks=pytest.mark.long) for make in (full_cnn, full_gpt)]


@pytest.mark.long
@pytest.mark.parametrize("make", [mlp, cnn, gpt, *long], ids=lambda make: make.__name__)
def test_a_training_runs_what_it_runs_in_production_and_most_tensors_are_seen(
    tmp_path: Path, make: Maker
) -> None:
    training = Training(make)
    graph = what_ran(lambda: training.run(1))
    plain = training.run()
    assert any(op.startswith("_Fused") or op == "AddN" for op, _ in graph.values())
    with tb_debugger_plugin.record(tmp_path / "survivors", keep_graph_optimizations=True):
        assert what_ran(lambda: training.run(1)) == graph
        assert training.run() == plain
    with tb_debugger_plugin.record(tmp_path / "all"):
        assert what_ran(lambda: training.run(1)) != graph
    kept, wanted = read(tmp_path / "survivors"), read(tmp_path / "all")
    assert len(seen(kept)) > 0.9 * len(seen(wanted))
    types = {"SparseSoftmaxCrossEntropyWithLogits", "ReadVariableOp", "MatMul", "BiasAddGrad", "Sqrt"}
    assert types & wanted.types() <= kept.types()


def test_so_does_one_whose_tensors_are_reduced_on_another_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Training(mlp)
    plain = training.run()
    monkeypatch.setattr(placement, "may_be_elsewhere", lambda device: True)
    with tb_debugger_plugin.record(tmp_path / "survivors", keep_graph_optimizations=True):
        assert training.run() == plain
    with tb_debugger_plugin.record(tmp_path / "all"):
        training.run(1)
    assert len(seen(read(tmp_path / "survivors"))) > 0.9 * len(seen(read(tmp_path / "all")))


@pytest.mark.long
def test_a_keras_model_with_dropout_has_the_bits_of_the_plain_one(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
    y = np.linspace(0, 1, 16, dtype=np.float32).reshape(8, 2)

    def weights(*callbacks: tf.keras.callbacks.Callback) -> list[bytes]:
        tf.keras.utils.set_random_seed(1)
        layers = tf.keras.layers
        model = tf.keras.Sequential(
            [tf.keras.Input([3]), layers.Dense(4, activation="relu"), layers.Dropout(0.5), layers.Dense(2)]
        )
        model.compile("adam", "mse")
        model.fit(x, y, batch_size=4, epochs=2, verbose=0, callbacks=list(callbacks))
        return [weight.tobytes() for weight in model.get_weights()]

    plain = weights()
    assert weights(DebuggerCallback(tmp_path, keep_graph_optimizations=True)) == plain
    recorded = read(tmp_path)
    assert {"MatMul", "ReluGrad", "SelectV2", "Placeholder", "Sum", "Sqrt"} <= recorded.types()


def test_what_xla_compiles_is_called_as_it_is_and_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tf.function(jit_compile=True)
    def compiled(x: tf.Tensor) -> tf.Tensor:
        return tf.exp(x) * 3.0

    @tf.function
    def around(x: tf.Tensor) -> tf.Tensor:
        return compiled(x) + 1.0

    with tb_debugger_plugin.record(tmp_path, keep_graph_optimizations=True):
        around(tf.zeros([2]))
        around(tf.zeros([3]))
    # Once, whatever else is there to be named.
    (said,) = [line for line in caplog.messages if "which XLA compiles" in line]
    assert "keep_graph_optimizations=True" in said and "function compiled (test_grappler.py:" in said
    recorded = read(tmp_path)
    assert "Exp" not in recorded.types()
    assert {"Placeholder", "AddV2"} <= recorded.types()


def programs() -> list[tf.types.experimental.GenericFunction]:
    kernel = tf.constant(np.random.default_rng(0).normal(size=[8, 8]), tf.float32)

    @tf.function
    def product(x: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, kernel)

    @tf.function
    def fused_across_calls(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(tf.nn.bias_add(product(x), kernel[0])) + tf.nn.relu(product(x * 3.0))

    @tf.function
    def with_loops_and_branches(x: tf.Tensor) -> tf.Tensor:
        for turn in tf.range(3):
            if turn > 0:
                x = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, kernel), kernel[1])) / 3.0
            else:
                x = x + x + product(x)
        return x + x + x

    return [product, fused_across_calls, with_loops_and_branches]


@pytest.mark.parametrize("traced_before", [False, True])
def test_what_is_fused_across_calls_and_in_loops_stays_so(tmp_path: Path, traced_before: bool) -> None:
    x = tf.constant(np.random.default_rng(1).normal(size=[4, 8]), tf.float32)
    functions = programs()
    graphs = [computed(lambda function=function: function(x)) for function in functions]
    assert graphs[1]["_FusedMatMul"] == graphs[2]["_FusedMatMul"] == graphs[2]["AddN"] == 1
    plain = [function(x).numpy().tobytes() for function in functions]
    if not traced_before:
        functions = programs()
    with tb_debugger_plugin.record(tmp_path, keep_graph_optimizations=True):
        assert [computed(lambda function=function: function(x)) for function in functions] == graphs
        assert [function(x).numpy().tobytes() for function in functions] == plain
    recorded = read(tmp_path)
    assert {"Placeholder", "Relu"} <= recorded.types()
    # The product is fused where it is called, so it is not watched any more once that is known.
    assert len(recorded.of("MatMul")) == (0 if traced_before else 1)


def test_the_recording_may_begin_before_the_program_chooses_its_devices(tmp_path: Path) -> None:
    program = """
import sys
import tensorflow as tf
import tb_debugger_plugin

with tb_debugger_plugin.record(sys.argv[1], keep_graph_optimizations=True):
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    tf.function(lambda x: tf.sqrt(x, name="sqrt"))(tf.ones([2]))
"""
    run_python("-c", program, str(tmp_path))
    assert len(read(tmp_path).of("sqrt")) == 1


def test_a_function_that_grappler_refuses_is_named_and_runs_unwatched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> NoReturn:
        raise tf.errors.InvalidArgumentError(None, None, "refused")

    monkeypatch.setattr(Grappler, "optimized", refuse)
    with tb_debugger_plugin.record(tmp_path, keep_graph_optimizations=True):
        product, *_ = programs()
        product(tf.ones([4, 8]))
    assert "MatMul" not in read(tmp_path).types()
    assert any("does not watch the function __inference_product" in line for line in caplog.messages)


def test_sessions_are_not_watched_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with tb_debugger_plugin.record(tmp_path, keep_graph_optimizations=True):
        for _ in range(2):
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                assert session.run(tf.exp(tf.constant(0.0)) + 1.0) == 2.0
    (said,) = [line for line in caplog.messages if "nothing in sessions" in line]
    assert "keep_graph_optimizations=True" in said
    assert read(tmp_path).traces == []


def test_anything_but_true_and_false_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="keep_graph_optimizations is 'yes': give True or False"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, keep_graph_optimizations="yes")  # type: ignore[arg-type]
