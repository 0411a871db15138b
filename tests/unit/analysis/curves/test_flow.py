"""`analysis/curves/flow.py`: gradients, weights and updates by variable and step, checked against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin.analysis.curves.flow import GradientFlow, gradient_flow
from tests.support.events import small_program, snapshot_of
from tests.support.numerics import training

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
                **{"gradient_tape/MatMul": _dense(step), "Mul": _dense(step) / 10},
                # The gradient of the second variable is computed in the first half only.
                **({"gradient_tape/out": _out(step)} if step < _STEPS // 2 else {}),
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
    # The values of the second variable are read twice as often as its gradient is computed.
    assert flow.table("value_norm")[1, :6].tolist() == pytest.approx([4.0] * 6)
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


def test_a_run_without_variables_has_no_rows(tmp_path: Path) -> None:
    small_program(tmp_path).close()
    flow = _flow(tmp_path)
    assert (flow.variables, flow.steps, flow.num_columns) == ([], 0, 0)
    assert all(len(values) == 0 for values in flow.columns.values())
