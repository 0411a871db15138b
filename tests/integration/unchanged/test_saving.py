"""`capture/hooks/original_definitions.py`: saved models hold no op of ours and load without this package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tests.support.programs import run_python
from tests.support.recorded import read

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras's own
]

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)

#: Loads everything below a folder in a process without this package, and prints what it computes.
LOADER = """
import sys, pathlib
sys.modules["tb_debugger_plugin"] = None  # an import of it fails
import numpy as np
import tensorflow as tf

folder = pathlib.Path(sys.argv[1])
x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
def say(name, value):
    print("result", name, np.asarray(value, np.float32).tobytes().hex())

say("module", tf.saved_model.load(str(folder / "module"))(tf.constant(x)))
exported = tf.saved_model.load(str(folder / "exported"))
say("exported", exported.serve(tf.constant(x)))
say("signature", list(exported.signatures["serving_default"](tf.constant(x)).values())[0])
keras = tf.keras.models.load_model(folder / "model.keras")
say("keras", keras(x))
keras.load_weights(folder / "weights.weights.h5")
say("weights", keras(x))
variable = tf.Variable(tf.zeros([3, 2]))
tf.train.Checkpoint(kernel=variable).restore(str(folder / "checkpoint-1")).assert_consumed()
say("checkpoint", variable)
lite = tf.lite.Interpreter(str(folder / "model.tflite"))
lite.resize_tensor_input(0, [2, 3])
lite.allocate_tensors()
lite.set_tensor(lite.get_input_details()[0]["index"], x)
lite.invoke()
say("lite", lite.get_tensor(lite.get_output_details()[0]["index"]))
frozen = tf.compat.v1.GraphDef.FromString((folder / "frozen.pb").read_bytes())
function = tf.compat.v1.wrap_function(
    lambda: tf.graph_util.import_graph_def(frozen, return_elements=["Identity:0"]), []
)
placeholder = next(op for op in function.graph.get_operations() if op.type == "Placeholder")
say("frozen", function.prune(placeholder.outputs[0], "import/Identity:0")(tf.constant(x)))
"""


class Module(tf.Module):
    def __init__(self) -> None:
        self.kernel = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]))

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(2):
            x = self.inner(x)
        return x @ self.kernel

    @tf.function
    def inner(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x) if tf.reduce_sum(x) > 100.0 else tf.tanh(x)


def save_everything(folder: Path) -> tuple[Module, dict[str, npt.ArrayLike]]:
    """Save and convert in all ways; a module, and by name what each file computes of `X`."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    module = Module()
    module(tf.constant(X))
    tf.saved_model.save(module, str(folder / "module"))
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(2, activation="tanh")])
    model.compile("adam", "mse")
    model.fit(X, X[:, :2], verbose=0)
    model.export(str(folder / "exported"), verbose=False)
    model.save(folder / "model.keras")
    model.save_weights(folder / "weights.weights.h5")
    tf.train.Checkpoint(kernel=module.kernel).save(str(folder / "checkpoint"))
    (folder / "model.tflite").write_bytes(
        tf.lite.TFLiteConverter.from_saved_model(str(folder / "exported")).convert()
    )
    frozen = convert_variables_to_constants_v2(module.__call__.get_concrete_function())
    (folder / "frozen.pb").write_bytes(frozen.graph.as_graph_def().SerializeToString())
    keras = ("exported", "signature", "keras", "weights", "lite")
    return module, {
        **{name: model(X) for name in keras},
        **{name: module(tf.constant(X)) for name in ("module", "frozen")},
        "checkpoint": module.kernel,
    }


def test_what_is_saved_and_converted_while_recording_is_what_it_is_without(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path / "log") as recording:
        module, expected = save_everything(tmp_path)
        assert recording.on
    tf.saved_model.save(module, str(tmp_path / "saved after it"))
    assert {"Tanh", "TanhGrad"} <= read(tmp_path / "log").types()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and "log" not in path.parts]
    assert len(files) > 8
    for path in files:
        assert b"TbDebugger" not in path.read_bytes(), path
    lines = [line.split() for line in run_python("-c", LOADER, str(tmp_path)).splitlines()]
    results = {
        line[1]: np.frombuffer(bytes.fromhex(line[2]), "<f4") for line in lines if line[:1] == ["result"]
    }
    assert set(results) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(results[name], np.ravel(value), rtol=1e-5, atol=1e-6, err_msg=name)


def test_the_graph_of_a_function_as_tensorboard_shows_it_is_the_programs_own(tmp_path: Path) -> None:
    module = Module()
    with tb_debugger_plugin.record(tmp_path / "log") as recording:
        graph = module.__call__.get_concrete_function().graph
        with tf.summary.create_file_writer(str(tmp_path / "summaries")).as_default(step=0):
            module(tf.constant(X))
            tf.summary.graph(graph)
        assert recording.on
    assert "Tanh" in read(tmp_path / "log").types()
    (written,) = [path.read_bytes() for path in (tmp_path / "summaries").iterdir()]
    for definition in (written, graph.as_graph_def().SerializeToString()):
        assert b"Tanh" in definition
        assert b"TbDebugger" not in definition


@pytest.mark.parametrize("mode", ["FULL_HEALTH", "GUARD"])
def test_an_iterator_of_a_recorded_pipeline_is_saved_and_restored(tmp_path: Path, mode: str) -> None:
    @tf.function
    def twice(x: tf.Tensor) -> tf.Tensor:
        return x * 2.0

    def element(x: tf.Tensor) -> tf.Tensor:
        inside = tf.cond(x > 3, lambda: twice(tf.cast(x, tf.float32)), lambda: tf.cast(x, tf.float32))
        return tf.math.log(inside - 4.0 * tf.constant(1.0))

    def elements() -> tf.data.Dataset:
        return tf.data.Dataset.range(10).map(element).shuffle(4, seed=1).batch(2).prefetch(2)

    with tb_debugger_plugin.record(tmp_path / "log", mode=mode):
        data = elements()
        iterator = iter(data)
        next(iterator)
        path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "model"))
        rest = [one.numpy() for one in iterator]
        restored = iter(data)
        tf.train.Checkpoint(iterator=restored).restore(path)
        found = [one.numpy() for one in restored]
    plain = [one.numpy() for one in elements()]
    assert np.array_equal(rest, plain[1:], equal_nan=True)
    assert np.array_equal(found, plain[1:], equal_nan=True)
    tf.train.Checkpoint(iterator=iter(data)).save(str(tmp_path / "later"))


def test_a_trace_of_what_runs_shows_our_ops_because_they_run(tmp_path: Path) -> None:
    module = Module()
    with tb_debugger_plugin.record(tmp_path / "log"):
        with tf.summary.create_file_writer(str(tmp_path / "summaries")).as_default(step=0):
            tf.summary.trace_on(graph=True)
            module(tf.constant(X))
            tf.summary.trace_export("traced")
    (written,) = [path.read_bytes() for path in (tmp_path / "summaries").iterdir()]
    assert b"TbDebuggerWatch" in written


def test_a_loader_without_this_package_is_what_the_test_above_uses() -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            'import sys; sys.modules["tb_debugger_plugin"] = None; import tb_debugger_plugin',
        ],
        capture_output=True,
    )
    assert run.returncode != 0
