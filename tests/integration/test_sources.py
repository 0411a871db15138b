"""Source files and frames: what is recorded of them stands in the files, no more than is needed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture import frames
from tb_debugger_plugin.events.origins import Origin
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow


def test_the_users_files_are_kept_whole_and_of_libraries_the_lines_around_frames(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path):
        tf.function(lambda x: tf.reduce_logsumexp(tf.image.resize(x, [2, 2])))(tf.ones([1, 4, 4, 1]))
    events = read(tmp_path).events
    files = [event.source_file for event in events["source_files"]]
    whole = {file.file_path: file for file in files}
    assert whole[__file__].origin == Origin.USER
    assert list(whole[__file__].lines) == Path(__file__).read_text("utf-8").splitlines()
    in_libraries = 0
    for event in events["stack_frames"]:
        place = event.stack_frame_with_id.file_line_col
        file = files[place.file_index]
        if file.origin == Origin.USER or not Path(file.file_path).exists():
            assert not place.lines
            continue
        assert not file.lines
        text = Path(file.file_path).read_text("utf-8").splitlines()
        first = max(1, place.line - 3)
        assert (place.first_line, list(place.lines)) == (first, text[first - 1 : place.line + 3])
        in_libraries += 1
    assert in_libraries > 10
    assert {Path(file.file_path).name for file in files if file.origin == Origin.LIBRARY} >= {"math_ops.py"}


def test_the_native_library_tells_stacks_apart_as_python_does() -> None:
    keys = []

    def note() -> None:
        frame = sys._getframe()
        keys.append((native.module_without_tensorflow().stack_key(frame), frames._stack_key(frame)))

    def twice() -> None:
        note()
        note()

    for _ in range(2):
        note()
    twice()
    (lambda: note())()
    assert len({native_key for native_key, _ in keys}) == len(set(keys)) == len({key for _, key in keys}) == 4
