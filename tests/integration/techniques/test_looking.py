"""`techniques`: values are printed, plotted, asserted and stopped at, wherever they are computed."""

from __future__ import annotations

import importlib.machinery
import io
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from tb_debugger_plugin import (
    NumericsError,
    assert_finite,
    assert_that,
    breakpoint_here,
    plot_tensor,
    print_tensor,
)
from tb_debugger_plugin.errors import UsageError
from tests.support import forked

pytestmark = pytest.mark.tensorflow


def test_prints_are_limited_by_number_condition_and_size() -> None:
    out = io.StringIO()

    @tf.function
    def run(x: tf.Tensor) -> tf.Tensor:
        for i in tf.range(6):
            x = print_tensor(x + 1.0, "every", every=4, file=out)
            x = print_tensor(x, "first", first_n=1, file=out)
            x = print_tensor(x, "value", when=lambda value: value[0] == 3.0, file=out)
            x = print_tensor(x, "tensor", when=i == 4, file=out)
        return x

    with tf.GradientTape() as tape:
        x = tf.constant([0.0])
        tape.watch(x)
        y = run(x)
    assert tape.gradient(y, x).numpy() == 1.0 and y.numpy() == 6.0
    assert out.getvalue().splitlines() == [
        "every: float32 [1] [1.]",
        "first: float32 [1] [1.]",
        "value: float32 [1] [3.]",
        "every: float32 [1] [5.]",
        "tensor: float32 [1] [5.]",
    ]


def test_eager_prints_of_a_line_are_counted_together(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(4):
        print_tensor(tf.range(number, number + 9), first_n=2, summarize=1)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[2] for line in lines] == ["int32 [9] [0, ..., 8]", "int32 [9] [1, ..., 9]"]
    assert lines[0].startswith("in test_eager_prints_of_a_line_are_counted_together, test_looking.py:")
    with pytest.raises(UsageError, match="every is 0"):
        print_tensor(1, every=0)


def test_keras_layers_and_functional_models_print(capsys: pytest.CaptureFixture[str]) -> None:
    class Shows(tf.keras.layers.Layer):
        def call(self, x: tf.Tensor) -> tf.Tensor:
            return print_tensor(x, "inside", first_n=1)

    inputs = tf.keras.Input([1])
    net = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(print_tensor(Shows()(inputs), "beside", first_n=1)))
    net.compile("sgd", "mse", jit_compile=False)
    net.fit(np.ones([4, 1]), np.ones([4, 1]), batch_size=1, verbose=0)
    assert capsys.readouterr().out.splitlines() == [
        "inside: float32 [1, 1] [[1.]]",
        "beside: float32 [1, 1] [[1.]]",
    ]


def test_plots_are_text_without_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    tf.function(lambda x: plot_tensor(x, name="x"))(tf.constant([0.0, 0.0, 1.0, 2.0, np.nan]))
    plot_tensor(tf.constant([np.inf]), name="bad")
    assert capsys.readouterr().out.splitlines() == [
        "x 1: 0 |█ ▄▄| 2, 1 not finite",
        "bad 1: no finite elements, 1 not finite",
    ]


def test_plots_are_pictures_with_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs matplotlib"):
        plot_tensor(tf.zeros([2]), tmp_path)
    drawn: list[str] = []

    class Figure:
        """Stands for matplotlib's, which the tests do not require."""

        def subplots(self) -> SimpleNamespace:
            kinds = {
                kind: lambda *_, kind=kind, **__: drawn.append(kind) for kind in ("plot", "imshow", "hist")
            }
            return SimpleNamespace(**kinds, set_title=drawn.append)

        def colorbar(self, image: object) -> None:
            pass

        def savefig(self, path: Path) -> None:
            path.write_bytes(b"png")

    module = ModuleType("matplotlib.figure")
    module.Figure = Figure  # type: ignore[attr-defined]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: importlib.machinery.ModuleSpec(name, None))
    monkeypatch.setitem(sys.modules, "matplotlib", ModuleType("matplotlib"))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", module)
    for shape in ([3], [2, 2], [2, 2, 2]):
        plot_tensor(tf.zeros(shape), tmp_path / "plots", name="zeros")
    assert drawn == ["plot", "zeros 1", "imshow", "zeros 2", "hist", "zeros 3"]
    names = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert names == ["zeros-000001.png", "zeros-000002.png", "zeros-000003.png"]


def test_assertions_say_what_the_value_holds_and_where() -> None:
    good = tf.constant([0.5, 1.0])
    assert assert_finite(good) is not None and assert_that(good, lambda value: value > 0) is not None
    with pytest.raises(
        NumericsError, match=r"the value in test_assertions_say.*, test_looking\.py:\d+ holds 1 −∞ "
    ):
        assert_finite(tf.math.log([0.0, 1.0]))

    @tf.function
    def loss(x: tf.Tensor) -> tf.Tensor:
        x = assert_that(x, lambda value: value >= 0, "a negative input")
        for _ in tf.range(2):
            x = assert_finite(tf.math.log(x), "the loss")
        return x

    assert np.isfinite(loss(tf.constant([3.0, 4.0]))).all()
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        loss(tf.constant([1.0, 4.0]))
    assert "the loss: " in str(caught.value) and " in loss, test_looking.py:" in str(caught.value)
    assert "holds 1 −∞ among 2 values of float32 [2], the others from 0.326634 to 0.326634." in str(
        caught.value
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="a negative input: x:0 in loss, test_looking"):
        loss(tf.constant([-1.0, 4.0]))
    complex_nan = tf.constant([complex(1.0, np.nan)])
    with pytest.raises(NumericsError, match="1 NaN among 1 values of complex128"):
        assert_finite(complex_nan)


class Stop(NamedTuple):
    """A frame in which the program stopped."""

    values: dict[str, object]
    path: str
    function: str
    line: int


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[Stop]:
    """The places in which `breakpoint()` is called; the program goes on at once."""
    found: list[Stop] = []

    def stop() -> None:
        frame = sys._getframe(1)
        found.append(
            Stop(dict(frame.f_locals), frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno)
        )

    monkeypatch.setattr(sys, "breakpointhook", stop)
    return found


def test_a_breakpoint_has_the_arrays_by_name_at_the_line_of_the_program(stops: list[Stop]) -> None:
    @tf.function
    def run(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(4):
            x = x * 2.0
            x = breakpoint_here({"x": x, "two words": x + 1.0}, when=lambda x, _: x[0] == 4.0)["x"]
        return x

    x = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    assert y.numpy() == 16.0 and tape.gradient(y, x).numpy() == 16.0
    (stop,) = stops
    assert (stop.values["x"], stop.values["two_words"]) == ([4.0], [5.0])
    assert (stop.path, stop.function) == (__file__, "run")
    line = Path(__file__).read_text("utf-8").splitlines()[stop.line - 1]
    assert "breakpoint_here(" in line and '"two words"' in line


def test_breakpoints_take_and_return_any_structure_in_eager_mode_and_keras(stops: list[Stop]) -> None:
    pair = breakpoint_here([tf.constant(1), tf.constant(2)])
    assert [int(one) for one in pair] == [1, 2]
    assert (stops[0].values["value_0"], stops[0].values["value_1"]) == (1, 2)
    assert int(breakpoint_here(tf.constant(3), when=tf.constant([False, False]))) == 3
    assert len(stops) == 1
    inputs = tf.keras.Input([1])
    net = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(breakpoint_here(inputs)))
    net.compile("sgd", "mse")
    net.fit(np.ones([1, 1]), np.ones([1, 1]), verbose=0)
    assert stops[1].values["value"].tolist() == [[1.0]]


_PROGRAM = """\
import tensorflow as tf
import tb_debugger_plugin

@tf.function
def step(x):
    y = tb_debugger_plugin.breakpoint_here(tf.sqrt(x))
    return y + 1.0

print(step(tf.constant([4.0])).numpy())
"""


def test_pdb_shows_the_lines_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_PROGRAM, "utf-8")
    run = forked.run(["train.py"], cwd=tmp_path, input="p value\nlist\ncontinue\n", timeout=300)
    assert run.returncode == 0, run.stderr
    # From Python 3.13 on, pdb stops where it is called, and not at the line after it.
    line = 6 if sys.version_info >= (3, 13) else 7
    assert f"train.py({line})step()" in run.stdout and "array([2.], dtype=float32)" in run.stdout
    assert f"{line}  ->\t{_PROGRAM.splitlines()[line - 1]}" in run.stdout and run.stdout.endswith("[3.]\n")
