"""`capture/thread_numbers.py`: each execution has the thread that ran it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture import thread_numbers
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow

_OPS = {"MainThread": tf.sqrt, "loader": tf.exp, "writer": tf.sin}


def run_all() -> None:
    x = tf.ones([2])
    for name, op in _OPS.items():
        if name == "MainThread":
            op(x)
        else:
            thread = threading.Thread(target=op, args=(x,), name=name)
            thread.start()
            thread.join()


def recorded_threads(folder: Path) -> dict[str, str | None]:
    """The name of the thread of each execution, by the type of the op."""
    recorded = read(folder)
    names = {thread.thread_id: thread.thread_name for thread in recorded.records("debugged_thread")}
    return {execution.op_type: names.get(execution.thread_id) for execution in recorded.executions}


@pytest.mark.parametrize("sink", ["our sink", "TensorFlow's ops"])
def test_the_thread_of_each_execution_is_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: str
) -> None:
    if sink == "TensorFlow's ops":
        monkeypatch.setattr(native, "load", lambda: None)
    with tb_debugger_plugin.record(tmp_path):
        run_all()
    main = threading.current_thread().name
    actual = recorded_threads(tmp_path)
    assert (actual["Sqrt"], actual["Exp"], actual["Sin"]) == (main, "loader", "writer")


def test_threads_above_the_limit_have_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_numbers, "_MOST_THREADS", 2)
    with tb_debugger_plugin.record(tmp_path):
        run_all()
    actual = recorded_threads(tmp_path)
    assert (actual["Exp"], actual["Sin"]) == ("loader", None)
