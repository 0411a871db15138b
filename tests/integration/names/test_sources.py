"""`capture/stacks`: source files and frames are recorded as they are, and no more than is needed."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture.stacks import frames
from tb_debugger_plugin.capture.stacks.cells import Cells, ipythons_label
from tb_debugger_plugin.events.origins import CodeOrigin
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow


def test_the_users_files_are_kept_whole_and_of_libraries_the_lines_around_frames(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path):
        tf.function(lambda x: tf.reduce_logsumexp(tf.image.resize(x, [2, 2])))(tf.ones([1, 4, 4, 1]))
    recorded = read(tmp_path)
    files = recorded.records("source_file")
    whole = {file.file_path: file for file in files}
    assert whole[__file__].origin == CodeOrigin.USER
    assert list(whole[__file__].lines) == Path(__file__).read_text("utf-8").split("\n")
    in_libraries = 0
    for frame in recorded.records("stack_frame_with_id"):
        place = frame.file_line_col
        file = files[place.file_index]
        if file.origin == CodeOrigin.USER or not Path(file.file_path).exists():
            assert not place.lines
            continue
        assert not file.lines
        text = Path(file.file_path).read_text("utf-8").splitlines()
        first = max(1, place.line - 3)
        assert (place.first_line, list(place.lines)) == (first, text[first - 1 : place.line + 3])
        in_libraries += 1
    assert in_libraries > 10
    assert {Path(file.file_path).name for file in files if file.origin == CodeOrigin.LIBRARY} >= {
        "math_ops.py"
    }


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/me/.local/lib/python3.11/site-packages/tensorflow/python/ops/math_ops.py", True),
        ("/usr/lib/python3/dist-packages/numpy/core.py", True),
        ("/home/me/site-packages.py", False),
        (__file__, False),
        (pytest.__file__, True),
        (np.__file__, True),
        ("<frozen importlib._bootstrap>", True),
        ("<string>", False),
        ("<stdin>", False),
        ("<python-input-3>", False),
    ],
)
def test_what_is_installed_anywhere_is_a_library(path: str, expected: bool) -> None:
    assert frames.is_library(path) is expected


def test_the_line_of_a_program_without_a_file_is_that_of_its_text(tmp_path: Path) -> None:
    program = (
        f"import tb_debugger_plugin\nwith tb_debugger_plugin.record({str(tmp_path)!r}):\n  tf.math.log(0.0)\n"
    )
    exec(compile(program, "<string>", "exec"), {"tf": tf})
    with tb_debugger_plugin.open_run(tmp_path) as run:
        reason = run.why()
    assert reason is not None and reason.headline == "Log in <module>, <string>:3"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("\nx = 1\n", ["", "x = 1", ""]),
        ("x = 1", ["x = 1"]),
        ("x = 1\n\n", ["x = 1", "", ""]),
        ("# caf\u00e9\r\nx = 1\r\n", ["# caf\u00e9", "x = 1", ""]),
    ],
    ids=repr,
)
def test_a_file_has_the_lines_that_tensorflows_recorder_finds(
    tmp_path: Path, text: str, lines: list[str]
) -> None:
    path = tmp_path / "program.py"
    path.write_bytes(text.encode())
    assert path.read_text("utf-8").split("\n") == lines
    assert frames._lines(str(path)) == lines


class Shell:
    """What IPython has of cells: a number for each generated file name, and their texts in `linecache`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.compile = self
        self.numbers: dict[str, int] = {}
        self._monkeypatch = monkeypatch
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: self))
        monkeypatch.setattr(frames, "CELLS", Cells())

    def format_code_name(self, name: str) -> tuple[str, str] | None:
        return ("Cell", f"In[{self.numbers[name]}]") if name in self.numbers else None

    def run(self, number: int, name: str, text: str) -> None:
        self.numbers[name] = number
        lines = [line + "\n" for line in text.splitlines()]
        self._monkeypatch.setitem(linecache.cache, name, (len(text), None, lines, name))
        exec(compile(text, name, "exec"), {"tf": tf})


NOTEBOOK, TERMINAL = "/ipykernel_17/{}.py", "<ipython-input-{}>"


@pytest.mark.parametrize("name", [NOTEBOOK, TERMINAL], ids=["notebook", "terminal"])
def test_cells_of_a_notebook_are_called_as_their_user_sees_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    shell = Shell(monkeypatch)
    in_graph = "\ndef loss(x):\n    return tf.exp(x)\ntf.function(loss, autograph=False)(1.0)"
    cells = [
        (4, "sqrt", "tf.sqrt(4.0)"),
        (5, "loss", in_graph),
        (6, "sqrt", "tf.sqrt(4.0)"),  # again, with the same text, so under the same name
        (4, "tanh", "tf.tanh(4.0)"),  # after a restart of the numbers
    ]
    with tb_debugger_plugin.record(tmp_path / "log"):
        for number, which, text in cells:
            shell.run(number, name.format(which), text)
    recorded = read(tmp_path / "log")
    files = {file.file_path: file for file in recorded.records("source_file")}
    texts = {path: list(file.lines) for path, file in files.items() if file.file_path.startswith("Cell")}
    assert texts == {
        "Cell In[4]": ["tf.sqrt(4.0)"],
        "Cell In[5]": in_graph.split("\n"),
        "Cell In[6]": ["tf.sqrt(4.0)"],
        "Cell In[4] (2)": ["tf.tanh(4.0)"],
    }
    assert all(files[path].origin == CodeOrigin.USER for path in texts)
    in_cells = {frame for frame in recorded.frames.values() if frame[0].startswith("Cell")}
    assert ("Cell In[5]", 3, "loss", "return tf.exp(x)") in in_cells
    assert ("Cell In[6]", 1, "<module>", "tf.sqrt(4.0)") in in_cells
    assert ("Cell In[4] (2)", 1, "<module>", "tf.tanh(4.0)") in in_cells


@pytest.mark.parametrize(
    "ipython",
    [
        SimpleNamespace(),
        SimpleNamespace(get_ipython=lambda: None),
        SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=compile)),
    ],
    ids=["being imported", "no shell", "an old shell"],
)
def test_where_ipython_knows_no_cells_files_keep_their_names(
    monkeypatch: pytest.MonkeyPatch, ipython: SimpleNamespace
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert ipythons_label(__file__) is None
    assert frames._path(__file__) == __file__


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


def test_an_op_for_all_elements_of_a_vectorized_map_has_the_line_of_the_op_for_one(tmp_path: Path) -> None:
    def root(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(x)

    with tb_debugger_plugin.record(tmp_path):
        tf.function(lambda x: tf.vectorized_map(root, x))(tf.constant([1.0, -1.0]))
    with tb_debugger_plugin.open_run(tmp_path) as run:
        (origin,) = run.origins()
    assert "/pfor/" in origin.op_name and origin.source is not None
    assert origin.source.line == root.__code__.co_firstlineno + 1


def test_what_autograph_converts_for_a_replica_has_the_lines_of_the_program(tmp_path: Path) -> None:
    def replica(x: tf.Tensor) -> tf.Tensor:
        if tf.reduce_sum(x) > 0.0:
            x = tf.sqrt(x, name="root")
        return tf.math.log(x, name="log")

    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    step = tf.function(lambda x: strategy.run(replica, args=(x,)))
    with tb_debugger_plugin.record(tmp_path):
        step(tf.ones([2]))
    recorded = read(tmp_path)
    files = recorded.records("source_file")
    assert not [file.file_path for file in files if "autograph_generated" in file.file_path]
    lines = {(name, line) for path, line, name, _ in recorded.frames.values() if path == __file__}
    first = replica.__code__.co_firstlineno
    assert {line for name, line in lines if name == "replica"} == {first + 1, first + 2, first + 3}


def test_a_line_that_runs_in_converted_code_is_that_of_the_program() -> None:
    seen: list[tuple[str, int]] = []

    def looks(x: tf.Tensor) -> tf.Tensor:
        seen.append(frames.user_place(sys._getframe()))
        return x + 1.0

    tf.function(looks)(tf.ones([2]))
    assert seen == [(__file__, looks.__code__.co_firstlineno + 1)]
