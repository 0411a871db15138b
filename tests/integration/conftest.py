"""What the recorder's tests share: one TensorFlow in the process, nothing of ours left in it."""

from __future__ import annotations

import gc
import random
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

with warnings.catch_warnings():
    # TensorFlow's own imports are not ours to mend.
    warnings.simplefilter("ignore")
    tf = pytest.importorskip("tensorflow", reason="the recorder needs TensorFlow")

import tb_debugger_plugin
from tb_debugger_plugin.capture import own_recording
from tests.support.tensorflows_reader import check_every_file_set_below


@pytest.fixture(autouse=True, scope="module")
def collections_pass_over_what_is_imported() -> None:
    """TensorFlow's own objects take a quarter of a second of each collection, Python's automatic ones too.

    A recording does not find the graphs that modules before have left: they are frozen.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def functions_of_other_tests_are_gone() -> None:
    """A recording begins with the functions that are there, also those that wait to be collected."""
    gc.collect()


@pytest.fixture(autouse=True)
def custom_gradients_of_other_tests_are_gone() -> None:
    """TensorFlow's registry of gradients keeps each function with a `tf.custom_gradient` for ever."""
    from tensorflow.python.framework import ops

    gradients = ops.gradient_registry._registry
    for name in [name for name in gradients if name.startswith("CustomGradient-")]:
        del gradients[name]


@pytest.fixture(autouse=True)
def each_run_draws_the_same_numbers() -> None:
    """Weights of layers too: Keras takes their seeds from `random`."""
    random.seed(1)
    np.random.seed(1)
    tf.random.set_seed(1)


@pytest.fixture(autouse=True)
def the_log_explains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a recording with bad values starts no process that explains them, which takes a second."""
    monkeypatch.setattr(own_recording, "ANSWER_BYTES", -1)


@pytest.fixture
def the_log_waits_for_the_answer(the_log_explains_nothing: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a recording with bad values names the first one, however long that takes."""
    monkeypatch.setattr(own_recording, "ANSWER_BYTES", 16 << 20)
    monkeypatch.setattr(own_recording, "ANSWER_SECONDS", 60.0)


#: The end of the names of the functions that a recording defines: see `capture/graph/copies.py`.
_COPY = re.compile("_[0-9a-f]{16}$")
#: The folders of tests, which are looked at when each test has ended.
_of_tests: set[Path] = set()


@pytest.fixture(autouse=True)
def tensorflows_reader_reads_it_all(tmp_path: Path) -> Iterator[None]:
    """Whatever a test records, TensorFlow's own reader reads, and finds in it what ours finds."""
    _of_tests.add(tmp_path)
    yield
    check_every_file_set_below(tmp_path)


@pytest.fixture(autouse=True, scope="module")
def tensorflows_reader_reads_what_tests_share(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """And whatever the fixtures of a module record."""
    folder = tmp_path_factory.getbasetemp()
    before = set(folder.iterdir())
    yield
    for path in set(folder.iterdir()) - before - _of_tests:
        check_every_file_set_below(path)


@pytest.fixture(autouse=True)
def nothing_left_behind(tensorflows_reader_reads_it_all: None) -> Iterator[None]:
    """When a recording has ended there is no callback, wrapper or function of ours in TensorFlow."""
    from tensorflow.python.eager import context

    from tb_debugger_plugin.capture.hooks.hook import TARGETS

    def in_use() -> list[object]:
        return [target.get() for target in TARGETS]

    def copies() -> set[str]:
        return {name for name in context.context().list_function_names() if _COPY.search(name)}

    before, copies_before = in_use(), copies()
    yield
    tb_debugger_plugin.disable_dump_debug_info()
    assert in_use() == before
    assert not context.context().op_callbacks
    assert copies() <= copies_before
