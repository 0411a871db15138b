"""`capture`: distributed training is recorded on every replica and worker, and computes the same bits."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin import open_run
from tb_debugger_plugin.events import fileset
from tests.support.programs import run_python
from tests.support.recorded import Recorded, counts, read, read_each

pytestmark = pytest.mark.tensorflow

MIRRORED = """
import sys
import numpy as np
import tensorflow as tf
import tb_debugger_plugin

(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
data = np.random.default_rng(0).normal(size=[16, 4]).astype("float32")

def train():
    tf.keras.utils.set_random_seed(1)
    dense, dropout = tf.keras.layers.Dense, tf.keras.layers.Dropout
    with strategy.scope():
        layers = [dense(8, activation="relu"), dropout(0.5), dense(2)]
        model = tf.keras.Sequential([tf.keras.Input([4]), *layers])
        model.compile("adam", "mse", jit_compile=False)
    model.fit(data, data[:, :2], batch_size=8, epochs=2, verbose=0, shuffle=False)
    return b"".join(weight.tobytes() for weight in model.get_weights())

@tf.function
def step(values):
    local = strategy.run(lambda x: tf.math.log(x, name="log"), args=(values,))
    return strategy.reduce("SUM", local, axis=None)

plain = train()
values = strategy.experimental_distribute_values_from_function(
    lambda context: tf.constant([0.0, 1.0 + context.replica_id_in_sync_group])
)
before = step(values)
with tb_debugger_plugin.record(sys.argv[1]) as recording:
    assert train() == plain
    np.testing.assert_array_equal(step(values), before)
    assert recording.on
assert train() == plain
with tb_debugger_plugin.record(sys.argv[1] + "/survivors", keep_graph_optimizations=True) as recording:
    assert train() == plain
    assert recording.on
"""


GUARDED = """
import sys
import numpy as np
import tensorflow as tf
import tb_debugger_plugin
from tb_debugger_plugin.capture.engines.guard import copies

copies.WORTH_IT = 1  # as for large models
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
data = np.random.default_rng(0).uniform(1, 2, size=[32, 4]).astype("float32")

class Log(tf.keras.layers.Layer):
    def call(self, x):
        return tf.math.log(x)  # bad

def train():
    tf.keras.utils.set_random_seed(1)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        layers = [Log(name="log"), tf.keras.layers.Dense(3, activation="relu"), tf.keras.layers.Dense(2)]
        model = tf.keras.Sequential([tf.keras.Input([4]), *layers])
        model.compile("adam", "mse")
    model.fit(data, data[:, :2], batch_size=8, epochs=2, verbose=0, shuffle=False)
    return b"".join(weight.tobytes() for weight in model.get_weights())

healthy = train()
with tb_debugger_plugin.record(sys.argv[1] + "/healthy", mode="GUARD"):
    assert train() == healthy
data[29, 1] = -1
hurt = train()
with tb_debugger_plugin.record(sys.argv[1] + "/hurt", mode="GUARD"):
    assert train() == hurt != healthy
"""


def devices(recorded: Recorded, op_type: str) -> dict[str, list[list[float]]]:
    """By device, the summaries of all ops of a type."""
    actual: dict[str, list[list[float]]] = {}
    for event, trace in zip(recorded.events["graph_execution_traces"], recorded.traces, strict=True):
        if trace.op_type == op_type:
            device = event.graph_execution_trace.device_name.rpartition(":device:")[2].rpartition("device:")[
                2
            ]
            actual.setdefault(device, []).append(trace.counts)
    return actual


def test_each_replica_of_a_mirrored_training_is_seen_and_its_bits_stay(tmp_path: Path) -> None:
    run_python("-c", MIRRORED, str(tmp_path), timeout=180)
    recorded = read(tmp_path)
    batches = {device: len(rows) for device, rows in devices(recorded, "ReluGrad").items()}
    assert batches == {"CPU:0": 4, "CPU:1": 4}
    assert set(devices(read(tmp_path / "survivors"), "ReluGrad")) == {"CPU:0", "CPU:1"}
    logs = {name: rows for name, rows in devices(recorded, "Log").items() if rows[0][0] == 2}
    assert logs == {"CPU:0": [counts([-np.inf, 0.0])], "CPU:1": [counts([-np.inf, np.log(2.0)])]}


def test_guard_replays_a_mirrored_training_and_names_the_layer(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(GUARDED)
    run_python(str(program), str(tmp_path), timeout=180)
    assert read(tmp_path / "healthy").traces == []
    origin, *_ = open_run(tmp_path / "hurt").origins()
    assert (origin.op_type, origin.layer) == ("Log", "sequential_3/log")
    assert origin.source is not None
    assert origin.source.text == "return tf.math.log(x)  # bad"
    logs = devices(read(tmp_path / "hurt"), "Log")
    # Row 29 is in the last of four batches, in the half of the second replica.
    assert [len(rows) for rows in logs.values()] == [1, 1]
    assert [rows[0][3] for _, rows in sorted(logs.items())] == [0, 1]


BEGIN = """
import hashlib, json, os, socket, sys
import tensorflow as tf
import tb_debugger_plugin

task = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
socket.gethostname = lambda: f"worker-{task}"  # as if on two machines
strategy = tf.distribute.MultiWorkerMirroredStrategy()

def train():
    with strategy.scope():
        weights = tf.Variable(tf.random.stateless_normal([4, 4], [1, 2]))
"""
WORKER = f"""{BEGIN}
    @tf.function
    def step():
        def on_this_worker():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.tanh(tf.fill([1 + task, 4], 0.5) @ weights, name="tanh"))
            gradient = tape.gradient(loss, weights)
            total = tf.distribute.get_replica_context().all_reduce("SUM", gradient)
            weights.assign_sub(0.1 * tf.identity_n([total], name="total")[0])
        strategy.run(on_this_worker)

    for _ in range(4):
        step()
    return hashlib.sha256(weights.numpy().tobytes()).hexdigest()

plain = train()
with tb_debugger_plugin.record(sys.argv[1]) as recording:
    assert train() == plain
    tf.exp(float(task))
    assert recording.on
print("result", plain)
"""


GUARDED_WORKER = f"""{BEGIN}
    @tf.function
    def step(x):
        def on_this_worker(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.math.log(x) @ weights)
            gradient = tape.gradient(loss, weights)
            weights.assign_sub(0.1 * tf.distribute.get_replica_context().all_reduce("SUM", gradient))
        strategy.run(on_this_worker, args=(x,))

    for number in range(4):
        step(tf.fill([2, 4], -1.0 if number == 2 and task == 1 else 3.0))
    return weights.numpy().tobytes()

plain = train()
with tb_debugger_plugin.record(f"{{sys.argv[1]}}/{{task}}", mode="GUARD") as recording:
    assert train() == plain
    assert recording.on
"""


def free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [server.getsockname()[1] for server in sockets]
    for server in sockets:
        server.close()
    return ports


def run_workers(root: Path, program: str) -> list[str]:
    """Run two workers that train together; what each of them printed."""
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(root)],
            env={
                **os.environ,
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}}),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for index in range(2)
    ]
    try:
        said = [worker.communicate(timeout=180) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0], said
    return [out for out, _ in said]


def test_two_workers_record_into_one_folder_and_are_told_apart(tmp_path: Path) -> None:
    first, second = run_workers(tmp_path, WORKER)
    assert first == second
    assert "result" in first
    sets = fileset.find_file_sets(tmp_path)
    assert sorted(files.host for files in sets) == ["worker-0", "worker-1"]
    for files, recorded in zip(sets, read_each(tmp_path), strict=True):
        (metadata,) = recorded.events["metadata"]
        assert metadata.debug_metadata.host_name == files.host
        devices = {event.debugged_device.device_name for event in recorded.events["graphs"]} - {""}
        assert devices == {f"/job:worker/replica:0/task:{files.host[-1]}/device:CPU:0"}
        (exp,) = (execution for execution in recorded.executions if execution.op_type == "Exp")
        assert exp.code_location.host_name == files.host
    # Each has its own share of the batch, and the same total of the gradients in every step.
    workers = read_each(tmp_path)
    assert [recorded.of("tanh")[0][4] for recorded in workers] == [4 * (1 + int(s.host[-1])) for s in sets]
    totals = [[row[4:] for row in recorded.of("total")] for recorded in workers]
    assert len(totals[0]) == 4
    assert totals[0] == totals[1]


def test_each_worker_replays_its_call_without_the_other_and_the_bits_stay(tmp_path: Path) -> None:
    run_workers(tmp_path, GUARDED_WORKER)
    (told, *_), (of_bad_worker, *_) = (open_run(tmp_path / task).origins() for task in "01")
    assert (of_bad_worker.op_type, of_bad_worker.step) == ("Log", 2)
    # The gradient comes from the other worker.
    assert (told.op_type, told.step) == ("CollectiveReduceV2", 2)
