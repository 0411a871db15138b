"""`analysis/compare/histories.py`: the occurrences of one tensor in two runs, checked against the arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin.analysis.compare.histories import Histories, histories
from tb_debugger_plugin.analysis.compare.measuring import ComparisonSettings
from tb_debugger_plugin.analysis.compare.prepared import prepared
from tb_debugger_plugin.analysis.snapshot import Snapshot, open_snapshot
from tb_debugger_plugin.errors import QueryError
from tests.support.compared import Step, computed, write_pair, write_run
from tests.support.events import loaded, small_program, snapshot_of

Runs = tuple[Snapshot, Snapshot, list[Step], list[Step]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """Snapshots of both runs, and what they computed."""
    logdir = tmp_path_factory.mktemp("pair")
    base, changed = write_pair(logdir)
    with closing(loaded(logdir / "base")) as first, closing(loaded(logdir / "changed")) as second:
        with open_snapshot(first) as a, open_snapshot(second) as b:
            yield a, b, base, changed


def test_the_numbers_of_both_runs_are_those_of_the_arrays(runs: Runs) -> None:
    first, second, base, changed = runs
    # The tensors of a step are x, read, MatMul, Relu, Mean.
    found = histories(first, second, graph_execution=3 + 5 * 4)
    assert (found.first.op_type, found.total, found.occurrence) == ("Relu", 12, 4)
    assert found.second is not None and found.second.op_type == "Elu"
    assert found.second.graph_execution_index == 23 and found.second.summary is not None
    columns = found.columns
    for name, steps in (("first", base), ("second", changed)):
        assert columns[f"{name}_index"].tolist() == [3 + 5 * step for step in range(12)]
        for number in ("min", "max", "mean"):
            expected = [float(getattr(np, number)(step.h)) for step in steps]
            assert columns[f"{name}_{number}"].tolist() == pytest.approx(expected, rel=1e-6)
        negative = [int((step.h < 0).sum()) for step in steps]
        assert columns[f"{name}_negative"].tolist() == negative
    pairs = zip(base, changed, strict=True)
    least = [abs(a.h.min() - b.h.min()) / max(np.abs(a.h).max(), np.abs(b.h).max()) for a, b in pairs]
    assert (columns["difference"] >= np.array(least) * 0.999).all()
    assert (columns["difference"] > columns["tolerance"]).all()


def test_an_eager_op_is_found_by_its_line(runs: Runs) -> None:
    first, second, base, changed = runs
    found = histories(first, second, execution=1)
    assert found.second is not None and (found.first.op_type, found.second.op_type) == ("Mul", "Mul")
    assert found.columns["first_mean"].tolist() == pytest.approx([float(step.total) for step in base])
    assert found.columns["second_mean"].tolist() == pytest.approx([float(step.total) for step in changed])


def test_what_agrees_has_no_difference(runs: Runs) -> None:
    first, second, *_ = runs
    found = histories(first, second, graph_execution=0)
    assert found.first.op_name == "x" and found.columns["difference"].max() == 0


def test_a_tolerance_is_that_of_every_occurrence(runs: Runs) -> None:
    first, second, *_ = runs
    found = histories(first, second, graph_execution=3, settings=ComparisonSettings(0.25))
    assert set(found.columns["tolerance"].tolist()) == {0.25}


@pytest.mark.parametrize("most", [1, 3, 12, 500])
def test_a_long_history_keeps_what_is_meant_and_where_the_runs_part(runs: Runs, most: int) -> None:
    first, second, *_ = runs
    # The weights agree in the first step only.
    found = histories(first, second, graph_execution=1 + 5 * 7, most=most)
    at = found.columns["occurrence"].tolist()
    assert {7.0, 1.0} <= set(at) and at == sorted(set(at)) and len(at) <= most + 2


def test_a_tensor_that_only_one_run_has_stands_alone(tmp_path: Path, runs: Runs) -> None:
    first, *_ = runs
    write_run(tmp_path / "short", "relu", computed("relu", steps=2))
    with snapshot_of(tmp_path / "short") as short:
        beyond = histories(first, short, graph_execution=3 + 5 * 6)
        assert (beyond.total, beyond.occurrence) == (2, None)
        assert beyond.second is not None and beyond.second.summary is None
    with snapshot_of(small_program(tmp_path / "other").close()) as third:
        alone = histories(first, third, graph_execution=3)
        assert (alone.second, alone.total, len(alone.columns["occurrence"])) == (None, 0, 0)


@pytest.mark.parametrize("wrong", [{"graph_execution": 10**6}, {"execution": 10**6}, {}])
def test_a_value_that_is_not_there_is_an_error(runs: Runs, wrong: dict[str, int]) -> None:
    first, second, *_ = runs
    with pytest.raises(QueryError):
        histories(first, second, **wrong)


def test_what_belongs_together_is_kept_until_a_run_has_another_commit(runs: Runs) -> None:
    first, second, *_ = runs
    assert prepared(first, second) is prepared(first, second)
    assert prepared(second, first) is not prepared(first, second)
    assert isinstance(histories(first, second, graph_execution=3), Histories)
