"""`capture/graph/unwatchable.py`: earlier functions that a recording cannot see are named in the log."""

from __future__ import annotations

import functools
import logging
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import atomic_function

import tb_debugger_plugin
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow


def halved(x: tf.Tensor) -> tf.Tensor:
    return tf.cast(x, tf.float32) / 2.0


def plus(x: tf.Tensor, *, more: float) -> tf.Tensor:
    return x + more


def said(caplog: pytest.LogCaptureFixture, about: str) -> list[str]:
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    return [line for line in lines if about in line]


def test_functions_of_pipelines_that_were_made_before_are_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = tf.data.Dataset.range(3).map(halved).map(functools.partial(plus, more=1.0))
    with tb_debugger_plugin.record(tmp_path):
        assert list(before.as_numpy_iterator()) == [1.0, 1.5, 2.0]
        after = tf.data.Dataset.range(3).map(halved)
        assert list(after.as_numpy_iterator()) == [0.0, 0.5, 1.0]
    (line,) = said(caplog, "input pipelines")
    assert f"halved (test_unwatchable.py:{halved.__code__.co_firstlineno})" in line
    assert f"plus (test_unwatchable.py:{plus.__code__.co_firstlineno})" in line
    # The line is right: of the pipeline that was made before nothing is there, of the other one everything.
    assert len(read(tmp_path).of("truediv")) == 3


def test_a_function_of_a_notebook_cell_is_named_by_its_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tb_debugger_plugin.capture.stacks import cells

    monkeypatch.setattr(cells, "ipythons_label", lambda name: "Cell In[4]" if "ipykernel" in name else None)
    cell: dict[str, object] = {}
    exec(compile("\ndef more(x):\n    return x + 1\n", "/x/ipykernel_7/123.py", "exec"), cell)
    before = tf.data.Dataset.range(3).map(cell["more"])
    with tb_debugger_plugin.record(tmp_path):
        assert list(before.as_numpy_iterator()) == [1, 2, 3]
    (line,) = said(caplog, "input pipelines")
    assert "more (Cell In[4]:2)" in line


def test_a_function_without_a_graph_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    concrete = tf.function(lambda x: tf.exp(x)).get_concrete_function(tf.TensorSpec([]))
    definition = concrete.function_def
    definition.signature.name = "without_a_graph"
    function = atomic_function.from_function_def(definition, concrete.function_type)
    with tb_debugger_plugin.record(tmp_path):
        assert float(function(tf.zeros([]))) == 1.0
    (line,) = said(caplog, "no graph")
    # What the process of the tests has imported is frozen.
    assert line.endswith(
        ": without_a_graph. Call gc.unfreeze() before the recording begins, so that it finds graphs."
    )
