"""`analysis/curves/curve.py`: numbers of tensors over their occurrences, checked against NumPy."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tb_debugger_plugin.analysis.curves.curve import NUMBERS, Curve, Wanted, curve, curve_at
from tb_debugger_plugin.errors import BadQueryError, NotFoundError, UsageError
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.events import Recording, full_health, small_program, snapshot_of, values_program
from tests.support.numerics import numerics, training

_STEPS = 40


def _gradients() -> list[npt.NDArray[np.float64]]:
    """Gradients of 40 steps; some have zeros, and those of step 7 and 30 are bad."""
    random = np.random.default_rng(3)
    arrays = [random.normal(0, 1 / (step + 1), (4, 5)) for step in range(_STEPS)]
    for step, array in enumerate(arrays):
        array.flat[: step % 4] = 0
    arrays[7][1, 2] = np.nan
    arrays[30][0, 1], arrays[30][3, 3] = np.inf, -np.inf
    return arrays


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training whose gradients and weights are known."""
    folder = tmp_path_factory.mktemp("curves")
    training(
        folder,
        [
            {"read": np.full((4, 5), step + 1.0), "gradient_tape/MatMul": array, "Mul": array / 100}
            for step, array in enumerate(_gradients())
        ],
    ).close()
    return folder


def _named(folder: Path, tensor: str, number: str | None = None, **asked: object) -> Curve:
    of = {name: asked.pop(name) for name in ("of", "function", "graph_id") if name in asked}
    with snapshot_of(folder) as snapshot:
        return curve(snapshot, tensor, Wanted(number, **asked), **of)


def _expected(number: str, array: npt.NDArray[np.float64]) -> float:
    """The number of an array, computed from its elements."""
    finite = array[np.isfinite(array)]
    return float(
        {
            "norm": lambda: np.linalg.norm(finite),
            "mean": finite.mean,
            "std": finite.std,
            "rms": lambda: np.sqrt(np.mean(finite**2)),
            "min": finite.min,
            "max": finite.max,
            "largest": lambda: np.abs(finite).max(),
            "zero_share": lambda: (array == 0).sum() / array.size,
            "bad": lambda: (~np.isfinite(array)).sum(),
            "nan": lambda: np.isnan(array).sum(),
            "neg_inf": lambda: (array == -np.inf).sum(),
            "pos_inf": lambda: (array == np.inf).sum(),
            "zero": lambda: (array == 0).sum(),
            "negative": lambda: (finite < 0).sum(),
            "positive": lambda: (finite > 0).sum(),
            "size": lambda: array.size,
        }[number]()
    )


@pytest.mark.parametrize("number", NUMBERS)
def test_each_number_is_that_of_the_elements(folder: Path, number: str) -> None:
    found = _named(folder, "gradient_tape/MatMul:0", number)
    assert found.values.tolist() == pytest.approx([_expected(number, one) for one in _gradients()])
    assert found.occurrences.tolist() == list(range(_STEPS))
    assert not found.is_reduced and (found.total, found.begin, found.end) == (_STEPS, 0, _STEPS)
    assert np.flatnonzero(found.bad).tolist() == [7, 30] and found.num_bad == 2
    assert (np.diff(found.times) > 0).all()
    assert found.numbers == [*NUMBERS]


def test_without_a_number_it_is_the_first_that_is_on_record(folder: Path, tmp_path: Path) -> None:
    assert _named(folder, "gradient_tape/MatMul").number == "norm"
    small_program(tmp_path, steps=3).close()
    counted = _named(tmp_path, "Log")
    assert counted.number == "zero_share" and "mean" not in counted.numbers
    missing = _named(tmp_path, "Log", "norm")
    assert np.isnan(missing.values).all() and len(missing) == 3


@pytest.mark.parametrize("most", [1, 2, 7, 10, 39, 40, 1000])
def test_a_reduced_curve_has_the_ends_of_each_stretch_and_every_bad_moment(folder: Path, most: int) -> None:
    found = _named(folder, "gradient_tape/MatMul", "norm", most=most)
    norms = [_expected("norm", one) for one in _gradients()]
    bad = [bool((~np.isfinite(one)).any()) for one in _gradients()]
    assert len(found) == min(most, _STEPS) and found.is_reduced == (most < _STEPS)
    counts = found.columns["count"].astype(int).tolist()
    assert sum(counts) == _STEPS and max(counts) - min(counts) <= 1
    begin = 0
    for row, count in enumerate(counts):
        stretch = range(begin, begin + count)
        begin += count
        low, high, mean, at = (found.columns[name][row] for name in ("low", "high", "mean", "occurrence"))
        inside = [norms[one] for one in stretch]
        assert (low, high, mean) == pytest.approx((min(inside), max(inside), sum(inside) / count))
        worst = [one for one in stretch if bad[one]]
        assert found.columns["bad"][row] == len(worst)
        assert at == (worst[0] if worst else max(stretch, key=norms.__getitem__))
    assert found.columns["bad"].sum() == 2


def test_a_range_of_occurrences_keeps_their_numbers(folder: Path) -> None:
    found = _named(folder, "gradient_tape/MatMul", "max", begin=5, end=12)
    assert found.occurrences.tolist() == list(range(5, 12))
    assert (found.total, found.num_bad, found.begin, found.end) == (_STEPS, 2, 5, 12)
    assert found.values.tolist() == pytest.approx([one[np.isfinite(one)].max() for one in _gradients()[5:12]])
    assert len(_named(folder, "gradient_tape/MatMul", "max", begin=40)) == 0
    assert len(_named(folder, "gradient_tape/MatMul", "max", begin=38, end=50)) == 2
    assert len(_named(folder, "gradient_tape/MatMul", "max", begin=45, end=50)) == 0
    with pytest.raises(BadQueryError, match="end is 3, which is before begin"):
        _named(folder, "gradient_tape/MatMul", "max", begin=5, end=3)


def test_a_variable_has_its_value_its_gradient_and_its_update(folder: Path) -> None:
    value = _named(folder, "dense/kernel", "mean")
    assert value.values.tolist() == [step + 1.0 for step in range(_STEPS)]
    assert (value.tensor.name, value.tensor.variable) == ("read:0", "dense/kernel")
    gradient = _named(folder, "dense/kernel:0", "norm", of="gradient")
    assert gradient.tensor.name == "gradient_tape/MatMul:0" and gradient.tensor.variable == "dense/kernel"
    update = _named(folder, "dense/kernel", "norm", of="update")
    assert update.values.tolist() == pytest.approx((gradient.values / 100).tolist())
    with pytest.raises(NotFoundError, match="did you mean 'dense/kernel'"):
        _named(folder, "dense/kernal", of="gradient")
    with pytest.raises(NotFoundError, match="No update of a variable 'out/kernel' is on record"):
        _named(folder, "out/kernel", of="update")
    with pytest.raises(NotFoundError, match="No tensor dense is recorded"):
        _named(folder, "dense")


def test_the_tensor_at_a_position_has_the_same_curve_as_its_name(folder: Path) -> None:
    named = _named(folder, "gradient_tape/MatMul", "norm")
    with snapshot_of(folder) as snapshot:
        index = int(named.columns["index"][3])
        found = curve_at(snapshot, Wanted("norm"), graph_execution=index)
        assert found.to_json() == named.to_json()
        assert found.values.tolist() == named.values.tolist()
        typed = curve(snapshot, f"#{index}", Wanted("norm"))
        assert typed.columns["index"].tolist() == named.columns["index"].tolist()


def test_an_element_is_drawn_where_it_is_kept(tmp_path: Path) -> None:
    values_program(tmp_path).close()
    with np.errstate(all="ignore"):
        logs = [np.log(np.array([[1, 0, -1], [4, step, 2]], np.float32)) for step in range(3)]
    found = _named(tmp_path, "Log:0", "[1, 1]")
    expected = [float(one[1, 1]) if math.isfinite(one[1, 1]) else math.nan for one in logs]
    assert found.values.tolist() == pytest.approx(expected, nan_ok=True)
    assert "element" in found.numbers and not found.is_sampled
    one = _named(tmp_path, "Log:0", "[1, 2]", most=1)
    assert one.is_sampled and one.values.tolist() == [pytest.approx(math.log(2), rel=1e-6)]
    with pytest.raises(UsageError, match="has a slice"):
        _named(tmp_path, "Log:0[1]", "mean")


def test_an_eager_op_has_a_curve_of_its_calls_from_one_line(tmp_path: Path) -> None:
    with Recording(tmp_path, mode=TensorDebugMode.FULL_NUMERICS) as recording:
        recording.source("/home/me/train.py", ["a = f(a)", "b = f(b)"])
        recording.frame("f1", 0, 1, "main")
        recording.frame("f2", 0, 2, "main")
        for step in range(6):
            recording.execution("Mul", [numerics([step, 1.0])], ids=[step + 1], stack=["f1"])
            recording.execution("Mul", [numerics([-1.0])], ids=[step + 100], stack=["f2"])
    with snapshot_of(tmp_path) as snapshot:
        found = curve_at(snapshot, Wanted("max"), execution=4)
        assert found.values.tolist() == [max(step, 1.0) for step in range(6)]
        assert found.columns["index"].tolist() == [0, 2, 4, 6, 8, 10]
        assert (found.tensor.name, found.tensor.graph_id) == ("Mul:0", None)


def test_an_unknown_number_is_refused(folder: Path) -> None:
    with pytest.raises(BadQueryError, match="number must be an element"):
        _named(folder, "gradient_tape/MatMul", "median")


def test_each_point_has_the_step_in_which_it_was_computed(tmp_path: Path) -> None:
    marks = [0, 0, 1, 4, 4, 9]
    with Recording(tmp_path) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "Log", "Log", ids=[11])
        for mark in marks:
            recording.step = mark
            recording.trace("g1", "Log", full_health([1.0], 11))
            recording.execution("Fill", [full_health([1.0])], ids=[mark])
    with snapshot_of(tmp_path) as snapshot:
        assert curve(snapshot, "Log:0", Wanted("size")).steps.tolist() == marks
        assert curve(snapshot, "Log:0", Wanted("size", begin=2, end=4)).steps.tolist() == marks[2:4]
        assert curve_at(snapshot, Wanted("size"), execution=0).steps.tolist() == marks
    with snapshot_of(_of_calls(tmp_path / "calls")) as snapshot:
        assert curve(snapshot, "Log:0", Wanted("size")).steps.tolist() == [0, 0, 1, 1, 2, 2]


def _of_calls(folder: Path) -> Path:
    """A program that marks no step and computes a tensor twice in each call."""
    with Recording(folder) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "Log", "Log", ids=[11])
        for _ in range(3):
            for _ in range(2):
                recording.trace("g1", "Log", full_health([1.0], 11))
            recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1", ids=[1])
    return folder
