"""`analysis/compare`: made runs, what belongs together and what counts as a difference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin.analysis.compare.alignment import common
from tb_debugger_plugin.analysis.compare.comparison import Comparison
from tb_debugger_plugin.analysis.compare.outline import without_numbers
from tb_debugger_plugin.analysis.compare.search import InputDifference, handed_on, inherited_share
from tb_debugger_plugin.analysis.compare.tolerance import roundings, tolerance, weight
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.dtypes import NUMBER_OF
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.reading.run import open_run
from tests.support.compared import computed, write_run
from tests.support.events import Recording, values_program, whole

DTYPE = 1  # float32


def write(folder: Path, ops: list[tuple[str, str, list[str], object]]) -> Path:
    """Writes a run of one graph: name, type, inputs and value of each op."""
    recording = Recording(folder, mode=TensorDebugMode.FULL_TENSOR)
    recording.source("/home/me/train.py", [f"line {number}" for number in range(9)])
    recording.frame("f1", 0, 1, "step")
    recording.device(1)
    recording.graph("g1", "step")
    for number, (name, op_type, inputs, _) in enumerate(ops):
        recording.op("g1", name, op_type, inputs, ids=[number], stack=["f1"], outputs=[(DTYPE, [2])])
    for name, _, _, value in ops:
        recording.trace("g1", name, whole(np.array(value, np.float32), 1))
    recording.counts(0, len(ops), finished=True)
    recording.close()
    return folder


def compared(first: Path, second: Path) -> Comparison:
    with open_run(first) as a, open_run(second) as b:
        return a.compare(b)


def test_an_op_that_is_inserted_shifts_the_names_of_others_but_not_their_partners(tmp_path: Path) -> None:
    x, one = ("x", "Placeholder", [], [1, 2]), ("add", "AddV2", ["x:0"], [2, 3])
    first = write(
        tmp_path / "a", [x, one, ("mul", "Mul", ["add:0"], [4, 6]), ("exp", "Exp", ["mul:0"], [1, 5])]
    )
    shifted = [x, one, ("neg", "Neg", ["add:0"], [-2, -3]), ("mul_1", "Mul", ["neg:0"], [-4, -6])]
    second = write(tmp_path / "b", [*shifted, ("exp", "Exp", ["mul_1:0"], [0, 0])])
    found = compared(first, second)
    assert found.first_difference is not None
    tensor = found.first_difference.tensor
    assert (tensor.first.op_name, tensor.second.op_name, tensor.paired_by) == ("mul", "mul_1", "structure")
    assert found.first_difference.cause == "added_op"
    assert [change.words for change in found.changes] == ["Neg is only in the second run"]


def test_elements_that_change_places_are_found_where_values_are_kept(tmp_path: Path) -> None:
    first = write(tmp_path / "a", [("x", "Placeholder", [], [1, 2])])
    second = write(tmp_path / "b", [("x", "Placeholder", [], [2, 1])])
    found = compared(first, second).first_difference
    assert found is not None and found.values is not None
    assert (found.cause, found.values["num_different"], found.values["max_absolute"]) == ("data", 2, 1.0)


def test_a_difference_within_rounding_is_none(tmp_path: Path) -> None:
    near = float(np.nextafter(np.float32(3), np.float32(4)))
    first = write(tmp_path / "a", [("x", "Log", [], [1, 3])])
    second = write(tmp_path / "b", [("x", "Log", [], [1, near])])
    assert compared(first, second).first_difference is None
    with open_run(first) as a, open_run(second) as b:
        assert a.compare(b, tolerance=0).first_difference is not None


@pytest.mark.parametrize(
    "name, agrees", [("__inference_Dataset_map_augment_7", True), ("__inference_f_7", False)]
)
def test_the_elements_of_an_input_pipeline_may_come_in_any_order(
    tmp_path: Path, name: str, agrees: bool
) -> None:
    def batches(folder: Path, order: list[int]) -> Path:
        recording = Recording(folder, mode=TensorDebugMode.FULL_TENSOR)
        recording.device(1)
        recording.graph("g1", name)
        recording.op("g1", "GatherV2", "GatherV2", ids=[1], outputs=[(DTYPE, [2])])
        for batch in order:
            recording.trace("g1", "GatherV2", whole(np.array([batch, 2 * batch], np.float32), 1))
        recording.close()
        return folder

    first = batches(tmp_path / "a", [1, 2, 3, 4])
    assert (compared(first, batches(tmp_path / "b", [2, 1, 4, 3])).first_difference is None) is agrees
    assert compared(first, batches(tmp_path / "c", [2, 1, 4, 5])).first_difference is not None


def test_a_run_agrees_with_itself(tmp_path: Path) -> None:
    with open_run(values_program(tmp_path / "run").close()) as run:
        found = run.compare(run)
        assert found.first_difference is None and not found.changes and found.num_compared > 5


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_a_tolerance_must_be_a_number_of_at_least_0(tmp_path: Path, wrong: float) -> None:
    with (
        open_run(values_program(tmp_path / "run").close()) as run,
        pytest.raises(BadQueryError, match="at least 0"),
    ):
        run.compare(run, tolerance=wrong)


def test_names_lose_the_numbers_that_make_them_unique() -> None:
    assert without_numbers("layer_12/add_3") == "layer/add"
    assert without_numbers("conv2d/MatMul") == "conv2d/MatMul"


def test_common_elements_are_found_in_order() -> None:
    assert common("abcxdef", "abcdeyf") == [(0, 0), (1, 1), (2, 2), (4, 3), (5, 4), (6, 6)]
    assert common("", "abc") == []
    assert common("aaaa", "aa") == [(0, 0), (1, 1)]


def test_the_tolerance_grows_with_the_path_and_integers_have_none() -> None:
    units, depths, first = (
        np.array([2.0**-24, 2.0**-24, 0.0]),
        np.array([1.0, 100.0, 100.0]),
        np.zeros(3, np.int64),
    )
    shallow, deep, integer = tolerance(units, depths, first).tolist()
    assert 0 == integer < shallow < deep < 1e-4
    assert weight("Reshape", 100, 100) == 0 and weight("Sum", 10_000, 1) == 100 and weight("Exp", 9, 9) == 1


def test_of_two_dtypes_the_coarser_one_rounds() -> None:
    fine, coarse = (np.array([NUMBER_OF[name]], np.uint8) for name in ("float32", "bfloat16"))
    assert roundings(fine, coarse).unit == roundings(coarse, fine).unit == [2.0**-8]


def test_of_circular_buffers_the_last_occurrences_belong_together(tmp_path: Path) -> None:
    steps = computed("relu")
    short = write_run(tmp_path / "short", "relu", steps[5:], dropped=5)
    long = write_run(tmp_path / "long", "relu", steps[1:], dropped=1)
    found = compared(short, long)
    assert found.first_difference is None
    assert any("the last occurrences were compared" in note for note in found.notes)


def test_what_numbers_cancel_makes_larger_is_inherited() -> None:
    given = [InputDifference(1e-7, 1000.0, True)]
    assert handed_on("Sub", given, 1.0) == pytest.approx(1e-4)
    assert inherited_share(1e-4, 2e-4) == pytest.approx(0.5)
    assert inherited_share(0.0, float("inf")) == 0.0
