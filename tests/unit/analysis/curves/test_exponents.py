"""`analysis/curves/exponents.py`: magnitudes over occurrences, checked against counts of single elements."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin.analysis.curves.curve import Wanted, curve, subject_at, subject_named
from tb_debugger_plugin.analysis.curves.exponents import KINDS, ExponentMap, exponent_map
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import EXPONENT_EDGES, TensorDebugMode
from tests.support.events import Recording, full_health, snapshot_of, vector
from tests.support.twin import summarize

_STEPS = 50


def _arrays() -> list[np.ndarray]:
    """Magnitudes that shrink; two of them have what is not finite, and some have zeros and denormals."""
    random = np.random.default_rng(5)
    arrays = [np.float32(random.normal(0, 2.0 ** (10 - 3 * step), 40)) for step in range(_STEPS)]
    for step, array in enumerate(arrays):
        array[: step % 5] = 0
    arrays[11][7] = np.nan
    arrays[37][[1, 2, 9]] = np.inf, -np.inf, np.nan
    return arrays


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tensor of a graph whose magnitudes are counted."""
    folder = tmp_path_factory.mktemp("exponents")
    recording = Recording(folder, mode=TensorDebugMode.EXPONENTS)
    recording.graph("g1", "step")
    recording.op("g1", "x", "Mul", ids=[1], layer="dense")
    for array in _arrays():
        recording.trace("g1", "x", _summary(array))
        recording.execution("__inference_step_7", graph_id="g1")
    recording.close()
    return folder


def _summary(array: np.ndarray) -> Message:
    return vector(summarize(array, 1, TensorDebugMode.EXPONENTS, -1))


def _found(folder: Path, **wanted: int) -> ExponentMap:
    with snapshot_of(folder) as snapshot:
        return exponent_map(subject_named(snapshot, "x:0"), Wanted(**wanted))


def _kind(element: float) -> str:
    """The row of one element."""
    if math.isnan(element):
        return "nan"
    if math.isinf(element):
        return "pos_inf" if element > 0 else "neg_inf"
    if element == 0:
        return "zero"
    reached = [edge for edge in EXPONENT_EDGES if abs(float(element)) >= 2.0**edge]
    return KINDS[4 + len(reached)]


def _counts(arrays: list[np.ndarray]) -> dict[str, float]:
    kinds = [_kind(element) for array in arrays for element in array]
    return {name: float(kinds.count(name)) for name in KINDS}


def _stretches(length: int, most: int) -> list[range]:
    starts = [part * length // most for part in range(most + 1)]
    return [range(*ends) for ends in pairwise(starts)]


@pytest.mark.parametrize("most", [1, 7, 49, 50, 300])
def test_each_column_counts_the_elements_of_its_stretch(folder: Path, most: int) -> None:
    found, arrays = _found(folder, most=most), _arrays()
    stretches = _stretches(_STEPS, min(most, _STEPS))
    assert (len(found), found.total, found.is_reduced) == (len(stretches), _STEPS, most < _STEPS)
    for column, stretch in enumerate(stretches):
        row = {name: float(values[column]) for name, values in found.columns.items()}
        assert {name: row[name] for name in KINDS} == _counts([arrays[one] for one in stretch])
        assert row["size"] == sum(row[name] for name in KINDS) == 40 * len(stretch)
        bad = [one for one in stretch if not np.isfinite(arrays[one]).all()]
        assert (row["count"], row["bad"]) == (len(stretch), len(bad))
        chosen = bad[0] if bad else stretch[0]
        assert (row["occurrence"], row["index"], row["step"]) == (chosen, chosen, chosen)


def test_a_range_has_columns_of_its_own(folder: Path) -> None:
    whole, part = _found(folder), _found(folder, begin=10, end=20, most=4)
    assert (part.begin, part.end, len(part)) == (10, 20, 4)
    stretches = [range(10 + one.start, 10 + one.stop) for one in _stretches(10, 4)]
    for name in KINDS:
        expected = [sum(whole.columns[name][list(stretch)]) for stretch in stretches]
        assert part.columns[name].tolist() == expected


def test_the_dtype_says_from_where_on_numbers_are_denormal(folder: Path) -> None:
    found = _found(folder)
    assert (found.dtype, found.least_exponent, found.tensor.layer) == ("float32", -126, "dense")
    assert found.edges == list(EXPONENT_EDGES)


def test_a_curve_says_whether_there_are_exponents(folder: Path, small_run: Path) -> None:
    with snapshot_of(folder) as snapshot:
        assert curve(snapshot, "x:0", Wanted()).has_exponents
    with snapshot_of(small_run) as snapshot:
        assert not curve(snapshot, "Log:0", Wanted()).has_exponents
        found = exponent_map(subject_named(snapshot, "Log:0"), Wanted())
    assert (len(found), found.total, found.dtype) == (0, 2, None)


def test_what_is_not_counted_leaves_its_columns_out(tmp_path: Path) -> None:
    recording = Recording(tmp_path, mode=TensorDebugMode.EXPONENTS)
    for number in range(6):
        array = np.float32([1, 2, number])
        counted = _summary(array) if number % 2 else full_health(array)
        recording.execution("Log", [counted], ids=[number + 1])
    recording.close()
    with snapshot_of(tmp_path) as snapshot:
        found = exponent_map(subject_at(snapshot, execution=0), Wanted())
    assert found.columns["occurrence"].tolist() == found.columns["index"].tolist() == [1, 3, 5]
    assert found.total == 6
