"""`capture/graph/objects.py`: a recording begins beside objects of the program that must not be touched."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow


class Thing:
    pass


class Raises:
    """Cannot be asked what it is, nor anything else."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("not to be asked")

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(f"not to be asked for {name}")

    __eq__ = __bool__ = __len__ = __getattr__  # type: ignore[assignment]
    __hash__ = object.__hash__


class Warns:
    """Warns when it is asked what it is, as deprecated names of some libraries do."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        warnings.warn("deprecated", FutureWarning, stacklevel=2)
        return Thing


def proxy_of_what_is_gone() -> object:
    return weakref.proxy(Thing())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [proxy_of_what_is_gone, Raises, Warns])
def test_a_recording_begins_beside_an_odd_object_and_has_all_names(
    tmp_path: Path, make: Callable[[], object], caplog: pytest.LogCaptureFixture
) -> None:
    odd = make()
    holder = [odd, {"odd": odd}]

    class Module(tf.Module):
        def __init__(self) -> None:
            super().__init__(name="module")
            object.__setattr__(self, "odd", odd)  # TensorFlow would look at it
            self.weight = tf.Variable([4.0])

        @tf.function
        def __call__(self) -> tf.Tensor:
            return tf.sqrt(self.weight, name="root")

    class Other(tf.Module):
        def __init__(self) -> None:
            super().__init__(name="other")
            self.scale = tf.Variable([2.0])

        @tf.function
        def __call__(self) -> tf.Tensor:
            return self.scale * 2.0

    before = Other()
    before()
    with tb_debugger_plugin.record(tmp_path) as recording:
        np.testing.assert_array_equal(Module()(), [2.0])
        np.testing.assert_array_equal(before(), [4.0])
        assert recording.on
    assert [line for line in caplog.messages if "stopped recording" in line] == []
    assert len(holder) == 2
    recorded = read(tmp_path)
    assert {"Sqrt", "Mul"} <= recorded.types()
    assert "other/scale" in {op.variable for op in recorded.records("graph_op_creation")}


def test_a_function_of_a_pipeline_that_is_an_odd_object_is_named_by_its_type(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Mapped:
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            return x + 1

        def __getattr__(self, name: str) -> NoReturn:
            if name == "python_function":
                raise RuntimeError("not to be asked")
            raise AttributeError(name)

    before = tf.data.Dataset.range(2).map(Mapped())
    with tb_debugger_plugin.record(tmp_path) as recording:
        assert list(before.as_numpy_iterator()) == [1, 2]
        assert recording.on
    assert any("input pipelines" in line and "Mapped" in line for line in caplog.messages)
