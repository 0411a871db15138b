"""`analysis/curves/flow.py`: gradients, weights and updates by variable and step, checked against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin.analysis.curves.flow import GradientFlow, gradient_flow
from tests.support.events import small_program, snapshot_of
from tests.support.numerics import numerics, training

_STEPS = 12


def _dense(step: int) -> np.ndarray:
    return np.array([[0.0, 2.0], [3.0, -4.0]]) * 0.5**step


def _out(step: int) -> np.ndarray:
    return np.array([1.0, 0.0, 0.0, 0.0]) if step != 5 else np.array([np.nan, 1.0, 0.0, 0.0])


def _flow(folder: Path, most: int = 100) -> GradientFlow:
    with snapshot_of(folder) as snapshot:
        return gradient_flow(snapshot, most)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    training(
        tmp_path,
        [
            {
                **{"read": np.full(4, 10.0), "read_2": np.full(4, 2.0)},
                # The gradient of the second variable is computed in the first half only.
                **({"gradient_tape/out": _out(step)} if step < _STEPS // 2 else {}),
                **{"gradient_tape/MatMul": _dense(step), "Mul": _dense(step) / 10},
            }
            for step in range(_STEPS)
        ],
    ).close()
    return tmp_path


def test_each_cell_is_that_of_its_variable_and_step(folder: Path) -> None:
    flow = _flow(folder)
    assert [(one.variable, one.layer, one.steps) for one in flow.variables] == [
        ("dense/kernel", "dense", 12),
        ("out/kernel", "out", 6),
    ]
    assert (flow.steps, flow.num_columns) == (12, 12)
    norms = flow.table("gradient_norm")
    assert norms[0].tolist() == pytest.approx([np.linalg.norm(_dense(step)) for step in range(12)])
    assert norms[1].tolist() == pytest.approx([1.0] * 6 + [np.nan] * 6, nan_ok=True)
    assert flow.table("gradient_bad")[1, :6].tolist() == [0, 0, 0, 0, 0, 1]
    assert flow.table("gradient_zero_share")[0].tolist() == [0.25] * 12
    assert flow.table("gradient_largest")[0].tolist() == pytest.approx([4 * 0.5**n for n in range(12)])
    assert flow.table("value_norm")[0].tolist() == pytest.approx([20.0] * 12)
    assert flow.table("value_norm")[1].tolist() == pytest.approx([4.0] * 12)
    assert flow.table("update_norm")[0].tolist() == pytest.approx((norms[0] / 10).tolist())
    assert np.isnan(flow.table("update_norm")[1]).all()


def test_a_cell_leads_to_the_first_bad_gradient_or_to_the_largest(folder: Path) -> None:
    flow = _flow(folder, most=3)
    with snapshot_of(folder) as snapshot:
        rows = snapshot.rows(
            "SELECT idx, name FROM graph_executions JOIN sites USING (site) JOIN ops USING (op)"
        )
    positions = {name: [idx for idx, op in rows if op == name] for _, name in rows}
    indices = flow.table("gradient_index")
    assert flow.num_columns == 3
    # The gradients of the first variable shrink, so the first of each stretch is the largest.
    assert indices[0].tolist() == [positions["gradient_tape/MatMul"][step] for step in (0, 4, 8)]
    assert indices[1, 1] == positions["gradient_tape/out"][5]
    assert flow.table("gradient_bad")[1, :2].tolist() == [0, 1]
    norms = [np.linalg.norm(_dense(step)) for step in range(12)]
    assert flow.table("gradient_norm")[0].tolist() == pytest.approx(
        [float(np.mean(norms[begin : begin + 4])) for begin in (0, 4, 8)]
    )


def _write(folder: Path, calls: list[list[tuple[str, float]]]) -> None:
    """Writes calls of the training function, each with the ops that it computes and their only element."""
    with training(folder, []) as recording:
        for call in calls:
            for name, value in call:
                recording.trace("g1", name, numerics([value]))
            recording.execution("__inference_step_7", graph_id="g1", stack=["f2"])


def test_the_gradient_of_a_loop_is_its_last_sum(tmp_path: Path) -> None:
    out, dense = "gradient_tape/out", "gradient_tape/MatMul"
    turns = [[(dense, turn + 10.0 * step) for turn in range(1, 4 + step)] for step in range(3)]
    _write(tmp_path, [[(out, 1.0 + step), *turns[step]] for step in range(3)])
    flow = _flow(tmp_path)
    assert (flow.steps, [one.steps for one in flow.variables]) == (3, [3, 3])
    assert flow.table("gradient_norm").tolist() == [[3.0, 14.0, 25.0], [1.0, 2.0, 3.0]]


def test_a_call_of_several_steps_has_a_column_for_each(tmp_path: Path) -> None:
    out, dense = "gradient_tape/out", "gradient_tape/MatMul"
    call = [(name, value) for value in (1.0, 2.0) for name in ("read", out, dense, dense, "Mul")]
    evaluation = [("read", 9.0)]
    _write(tmp_path, [call, evaluation, call])
    flow = _flow(tmp_path)
    assert (flow.steps, flow.num_columns) == (4, 4)
    for name in ("gradient_norm", "update_norm", "value_norm"):
        assert flow.table(name)[0].tolist() == [1.0, 2.0, 1.0, 2.0]


def test_what_no_call_ended_is_a_step_too(tmp_path: Path) -> None:
    _write(tmp_path, [[("gradient_tape/out", 1.0)]])
    with training(tmp_path / "open", []) as recording:
        recording.trace("g1", "gradient_tape/out", numerics([5.0]))
    assert _flow(tmp_path / "open").table("gradient_norm").tolist() == [[5.0]]


def test_a_run_without_variables_has_no_rows(tmp_path: Path) -> None:
    small_program(tmp_path).close()
    flow = _flow(tmp_path)
    assert (flow.variables, flow.steps, flow.num_columns) == ([], 0, 0)
    assert all(len(values) == 0 for values in flow.columns.values())


def test_each_process_has_rows_and_steps_of_its_own(tmp_path: Path) -> None:
    for number, host in enumerate(("chief", "worker")):
        values = [np.full(4, 10.0 ** (step + 3 * number)) for step in range(3)]
        steps = [{"read": value, "gradient_tape/MatMul": value / 10} for value in values]
        training(tmp_path, steps, host=host).close()
    flow = _flow(tmp_path)
    names = [("dense/kernel", "chief"), ("dense/kernel", "worker")]
    assert [(one.variable, one.host) for one in flow.variables] == names
    assert [(one.layer, one.steps) for one in flow.variables] == [("dense", 3)] * 2
    assert flow.steps == 3
    expected = [[2.0, 20.0, 200.0], [2e3, 2e4, 2e5]]
    assert flow.table("value_norm").tolist() == pytest.approx(np.array(expected))
    assert flow.table("gradient_norm").tolist() == pytest.approx(np.array(expected) / 10)
