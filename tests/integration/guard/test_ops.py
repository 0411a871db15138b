"""`capture/engines/guard/ops.py`: ops that Python runs are checked, and recorded where they go bad."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import open_run
from tb_debugger_plugin.capture import eager
from tb_debugger_plugin.capture.engines.guard import copies, ops
from tests.support.recorded import read

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(120)]


def _loss(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.math.log(x) * 2.0)


def _op_types(folder: Path) -> list[str]:
    return [one.op_type for one in read(folder).executions]


def test_the_op_that_makes_a_bad_value_is_recorded_with_what_follows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops, "_MOST_FOLLOWING", 4)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for step in range(5):
            result = _loss(tf.constant([1.0, 0.0 if step in (2, 3) else 1.0]))
            tb_debugger_plugin.step()
    assert float(result) == 0.0
    # The steps before it, then its product and its sum, and two ops of the next step.
    assert _op_types(tmp_path) == [*["Log", "Mul", "Sum"] * 2, "Log", "Mul", "Sum", "Log", "Mul"]
    said = str(open_run(tmp_path).why())
    assert "Log (run eagerly) produced 1 −∞ out of 2 values. Its first bad element is [1] of [2]." in said
    assert "This was in step 2." in said
    assert "An op Log at test_ops.py:" in caplog.text
    assert "an infinity or NaN in 6 ops that Python ran; the first is on record" in caplog.text


def test_while_all_is_finite_nothing_is_recorded(tmp_path: Path) -> None:
    weight = tf.Variable(tf.ones([2]))
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = _loss(weight)
            weight.assign_sub(0.1 * tape.gradient(loss, weight))
    assert not _op_types(tmp_path)


def test_what_only_follows_in_other_threads_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops, "_MOST_FOLLOWING", 1)
    missing = tf.constant(np.array([np.nan, 1.0], np.float32))
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        _ = tf.math.log(tf.zeros([2]))
        thread = threading.Thread(target=lambda: missing + 1.0)
        thread.start()
        thread.join()
        _ = missing * 2.0
        _ = missing * 3.0
    assert _op_types(tmp_path) == ["Fill", "Log", "Mul"]


def test_what_went_into_a_bad_op_is_on_record_with_the_values_that_still_exist(tmp_path: Path) -> None:
    """The oracle is a recording of every op."""

    def program(folder: Path, mode: str) -> None:
        with tb_debugger_plugin.record(folder, mode=mode):
            for step in range(3):
                gone = tf.constant([4.0, 2.0]) * 2.0
                ratio = (gone - 4.0 * tf.cast(step == 2, tf.float32)) / 4.0
                del gone
                tf.math.log(ratio)
                tb_debugger_plugin.step()

    program(tmp_path / "all", "FULL_NUMERICS")
    program(tmp_path / "guard", "GUARD")
    recorded = [read(tmp_path / "all"), read(tmp_path / "guard")]
    everything, guarded = [one.executions for one in recorded]
    assert [one.op_type for one in guarded] == [one.op_type for one in everything]
    steps = [[event.step for event in one.events["execution"] if event.execution.op_type] for one in recorded]
    assert steps[0] == steps[1] and steps[1][-1] == 2
    ids = {one.output_tensor_ids[0]: index for index, one in enumerate(guarded)}
    makers = [[ids.get(number) for number in one.input_tensor_ids] for one in guarded]
    ids = {one.output_tensor_ids[0]: index for index, one in enumerate(everything)}
    assert makers == [[ids.get(number) for number in one.input_tensor_ids] for one in everything]
    values = [one.tensor_protos[0].float_val or one.tensor_protos[0].double_val for one in guarded[-2:]]
    assert values == [
        one.tensor_protos[0].float_val or one.tensor_protos[0].double_val for one in everything[-2:]
    ]
    gone = [one for one in guarded if one.op_type == "Mul"][-2]
    assert not gone.tensor_protos[0].dtype, "nobody has it any more"
    said = str(open_run(tmp_path / "guard").why())
    assert "Its input RealDiv:0 held 1 zero" in said
    lines = [one.code_location.stack_frame_ids for one in guarded]
    assert len({tuple(one) for one in lines[-4:]}) == 4, "each line has its own stack"


def test_what_follows_is_on_record_with_its_assignments(tmp_path: Path) -> None:
    """Without them, an assignment before the bad op would have made the variable's NaN."""
    weight, added = tf.Variable([1.0, 2.0]), tf.constant(0.5)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for step in range(3):
            loss = tf.math.log(weight - weight if step == 1 else weight + 1.0)
            weight.assign_add(loss * added)
            weight.read_value()
    types = [name for name in _op_types(tmp_path) if name not in ("ReadVariableOp", "Identity")]
    rest = ["Log", "Mul", "AssignAddVariableOp"]
    assert types == ["AddV2", *rest, "Sub", *rest, "AddV2", *rest]
    assert "Log (run eagerly) produced 2 −∞ out of 2 values" in str(open_run(tmp_path).why())


def test_only_the_last_ops_of_all_threads_are_noted(tmp_path: Path) -> None:
    one = tf.constant(1.0)

    def negate() -> None:
        for _ in range(100):
            tf.negative(one)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for _ in range(100):
            tf.identity(one)
        thread = threading.Thread(target=negate)
        thread.start()
        thread.join()
        tf.math.log(one - 1.0)
    assert _op_types(tmp_path) == [*["Identity"] * 27, *["Neg"] * 100, "Sub", "Log"]
    threads = [execution.thread_id for execution in read(tmp_path).executions]
    assert threads[0] == threads[-1] != threads[30]


def test_a_thread_that_ends_after_a_bad_op_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    one = tf.constant(1.0)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        thread = threading.Thread(target=lambda: tf.math.log(one - 1.0))
        thread.start()
        thread.join()
        for _ in range(3):
            tf.negative(one)
        tf.sqrt(-one)
    assert _op_types(tmp_path) == ["Sub", "Log", *["Neg"] * 4, "Sqrt"]


def test_what_brings_a_value_in_drops_nothing_that_went_into_the_bad_op(tmp_path: Path) -> None:
    missing, one = tf.data.Dataset.from_tensors([np.nan, 1.0]), tf.constant(1.0)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        elements = iter(missing)
        twice = one * 2.0
        _ = next(elements) + twice
    assert [name for name in _op_types(tmp_path) if name in ("Mul", "IteratorGetNext", "AddV2")] == [
        *("Mul", "IteratorGetNext", "AddV2")
    ]


def test_only_so_many_stacks_of_good_ops_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eager, "_MOST_NOTED_SITES", 2)
    one = tf.constant(1.0)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for _ in range(2):
            for run in (tf.negative, tf.identity, tf.square, tf.exp):
                run(one)
        tf.sqrt(-one)
    assert _op_types(tmp_path) == ["Neg", "Identity"] * 2 + ["Sqrt"]


def test_no_tensor_is_held_because_its_op_is_noted(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for _ in range(2):  # the second time, no Python notes it
            made = tf.zeros([3]) + 1.0
            exists = weakref.ref(made)
            del made
            assert exists() is None


def test_what_is_made_harmless_at_once_is_expected(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        mean = tf.exp(tf.reduce_mean(tf.math.log(tf.constant([0.0, 2.0]))))
    assert float(mean) == 0.0
    assert open_run(tmp_path).verdict().kind == "expected"


def test_a_value_that_is_only_held_or_handed_out_is_not_recorded(tmp_path: Path) -> None:
    holder = tf.Variable([np.nan, 1.0])
    elements = tf.data.Dataset.from_tensors([np.nan, 1.0])
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for value in (*elements, holder.read_value()):
            tf.where(tf.math.is_nan(value), 0.0, 1.0)
    assert not _op_types(tmp_path)


def test_what_brings_a_value_in_is_recorded_only_if_it_is_the_first(tmp_path: Path) -> None:
    missing = tf.constant(np.array([np.nan, 1.0], np.float32))
    with tb_debugger_plugin.record(tmp_path / "first", mode="GUARD"):
        _ = missing + 1.0
        _ = missing * 2.0
    with tb_debugger_plugin.record(tmp_path / "later", mode="GUARD"):
        _ = tf.math.log(tf.zeros([2]))
        _ = missing + 1.0
    assert _op_types(tmp_path / "first") == ["AddV2", "Mul"]
    assert _op_types(tmp_path / "later") == ["Fill", "Log", "AddV2"]


def test_the_result_of_a_function_that_is_not_guarded_is_looked_at(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tf.function
    def root(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(x)

    monkeypatch.setattr(copies.GuardedCopies, "guard", lambda *_: None)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for x in (1.0, -1.0, -1.0):
            root(tf.constant(x))
    assert "A call of root (test_ops.py:" in caplog.text
    run = read(tmp_path).executions[0]
    assert run.op_type.startswith("__inference_root_") and run.graph_id
    assert "root (run eagerly) produced NaN" in str(open_run(tmp_path).why())


def test_a_bad_call_of_a_guarded_function_is_recorded_once(tmp_path: Path) -> None:
    weight = tf.Variable([1.0, 0.0])

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        weight.assign_add(x)
        return tf.math.log(weight)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        step(tf.zeros([2]))
    # The guard reads and assigns variables for the replay.
    assert [name.startswith("__inference_step_") for name in _op_types(tmp_path)] == [True]


def test_an_alert_is_raised_where_the_op_ran(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD", on_alert="raise"):
        _loss(tf.constant([1.0]))
        with pytest.raises(tb_debugger_plugin.NumericsError, match="Log"):
            _loss(tf.constant([0.0]))


def test_a_checkpoint_that_brings_in_a_bad_value_is_on_record_when_a_call_goes_bad(tmp_path: Path) -> None:
    saved, weight = tf.Variable([1.0, np.nan]), tf.Variable([0.0, 0.0])
    path = tf.train.Checkpoint(weight=saved).save(str(tmp_path / "model"))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return x * tf.convert_to_tensor(weight)

    with tb_debugger_plugin.record(tmp_path / "log", mode="GUARD"):
        step(tf.ones([2]))
        tf.train.Checkpoint(weight=weight).restore(path)
        assert _op_types(tmp_path / "log") == []
        step(tf.ones([2]))
    ops = [op_type for op_type in _op_types(tmp_path / "log") if "step" not in op_type]
    assert ops[:2] == ["RestoreV2", "AssignVariableOp"]
    assert "restore(path)" in str(open_run(tmp_path / "log").why())
