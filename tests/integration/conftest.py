"""What the recorder's tests share: one TensorFlow in the process, nothing of ours left in it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():
    # TensorFlow's own imports are not ours to mend.
    warnings.simplefilter("ignore")
    tf = pytest.importorskip("tensorflow", reason="the recorder needs TensorFlow")

import tb_debugger_plugin


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    from tensorflow.python.eager import context, execute
    from tensorflow.python.eager.polymorphic_function import atomic_function

    make_function, run = atomic_function.from_func_graph, execute.execute
    yield
    tb_debugger_plugin.disable_dump_debug_info()
    assert atomic_function.from_func_graph is make_function
    assert execute.execute is run
    assert not context.context().op_callbacks
