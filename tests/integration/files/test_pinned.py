"""`native/src/bad_tensors.h`: a circular buffer keeps the first NaN of a program and what ran around it."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tb_debugger_plugin import open_run
from tb_debugger_plugin.analysis.snapshot import open_snapshot
from tb_debugger_plugin.analysis.status import status
from tests.support import forked
from tests.support.events import loaded
from tests.support.recorded import Recorded, read, summary

pytestmark = pytest.mark.tensorflow

BUFFER = 100
STEPS, BAD_STEP = 5000, 50
#: What is bad in one step of many; its options are JSON.
PROGRAM = """
import json, os, signal, sys
import tensorflow as tf
import tb_debugger_plugin

@tf.function
def step(x):
    return tf.exp(tf.negative(tf.sqrt(x, name="root"), name="negated"), name="result")

root, end, mode, steps, bad_step, options = sys.argv[1:]
tb_debugger_plugin.enable_dump_debug_info(root, mode, **json.loads(options))
for i in range(int(steps)):
    step(tf.abs(float(i)) * (-1.0 if i == int(bad_step) else 1.0))
    tb_debugger_plugin.step()
if end == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def run(
    root: Path,
    end: str,
    mode: str = "FULL_NUMERICS",
    *,
    steps: tuple[int, int] = (STEPS, BAD_STEP),
    **options: int | None,
) -> tuple[Recorded, str]:
    """What a program that is bad in one step records, and what it says."""
    arguments = [str(root), end, mode, *map(str, steps), json.dumps(options)]
    ended = forked.run(["-c", PROGRAM, *arguments], timeout=120)
    assert ended.returncode == (-signal.SIGKILL if end == "killed" else 0), ended.stderr
    return read(root), ended.stderr


def traces_of(recorded: Recorded) -> list[str]:
    """Each trace without what differs from run to run."""
    return [f"{trace.op_name} {[*map(float, trace.without_id)]}" for trace in recorded.traces]


def executions_of(recorded: Recorded) -> list[str]:
    """Each execution with what was measured of its output, without the number of the function."""
    return [
        f"{execution.op_type.rstrip('0123456789')} {[*map(float, summary(execution.tensor_protos[0]))]}"
        for execution in recorded.executions
    ]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return run(tmp_path_factory.mktemp("all"), "ends", circular_buffer_size=-1)[0]


@pytest.mark.parametrize("end", [pytest.param("ends", marks=pytest.mark.long), "killed"])
def test_what_ran_around_the_first_nan_and_the_last_records_are_kept(
    tmp_path: Path, everything: Recorded, end: str
) -> None:
    recorded, _ = run(tmp_path, end, circular_buffer_size=BUFFER)
    traces, executions = traces_of(everything), executions_of(everything)
    bad = [index for index, trace in enumerate(traces) if "nan" in trace]
    (call,) = (index for index, execution in enumerate(executions) if "nan" in execution)
    assert [traces[index].split()[0] for index in bad] == ["root", "negated", "result"]
    # The call's result is bad as well, and known when the traces of the call are all there.
    around = traces[bad[0] - BUFFER : bad[-1] + 2 + BUFFER // 2]
    assert traces_of(recorded) == around + traces[-BUFFER:]
    around = executions[call - BUFFER : call + 1 + BUFFER // 2]
    assert executions_of(recorded) == around + executions[-BUFFER:]

    loader = loaded(tmp_path)
    with open_snapshot(loader) as snapshot:
        actual = status(snapshot)
    loader.close()
    assert actual["num_graph_executions"] + actual["dropped_graph_executions"] == len(traces)
    assert actual["num_executions"] + actual["dropped_executions"] == len(executions)
    assert actual["num_bad_graph_executions"] == len(bad)
    assert actual["pinned_graph_executions"] == len(recorded.traces) - BUFFER
    assert actual["pinned_executions"] == len(recorded.executions) - BUFFER

    if end == "ends":
        from tensorflow.python.debug.lib import debug_events_reader

        with debug_events_reader.DebugDataReader(str(tmp_path)) as reader:
            reader.update()
            theirs = [(trace.op_name, trace.output_slot) for trace in reader.graph_execution_traces()]
        assert theirs == [(trace.op_name, trace.slot) for trace in recorded.traces]


WITH_MASKS = """
import sys
import tensorflow as tf
import tb_debugger_plugin

MASK = tf.constant([0.0, 0.0, float("-inf")])

@tf.function
def step(x, lowest):
    for layer in range(8):  # each mask is further from the next than the buffer reaches
        x = tf.nn.softmax(x + MASK)
        for _ in range(320):
            x = tf.sin(x)
    return tf.math.log(x - lowest)  # the line

tb_debugger_plugin.enable_dump_debug_info(sys.argv[1], sys.argv[2], 200)
for i in range(8):
    step(tf.constant([1.0, 2.0, 3.0]), tf.constant(9.0 if i == 5 else -1.0))
tb_debugger_plugin.disable_dump_debug_info()
"""


@pytest.mark.parametrize("mode", [pytest.param("FULL_HEALTH", marks=pytest.mark.long), "CURT_HEALTH"])
def test_a_nan_of_5000_records_ago_is_named_with_its_line_although_masks_came_first(
    tmp_path: Path, mode: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(WITH_MASKS)
    forked.run([str(program), str(tmp_path / "logdir"), mode], timeout=120).check_returncode()
    with open_run(tmp_path / "logdir") as run:
        origin = run.origins()[0]
    line = 1 + next(n for n, text in enumerate(WITH_MASKS.splitlines()) if "# the line" in text)
    assert (origin.op_type, origin.source.line) == ("Log", line)
