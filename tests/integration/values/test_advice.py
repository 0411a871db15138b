"""`analysis/diagnosis/causes.py`: what is advised against real bugs, and programs changed accordingly."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.analysis.alerts.alerts import alert_list, page
from tb_debugger_plugin.analysis.alerts.explain import Diagnosis, diagnose_alert
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tests.support.events import snapshot_of
from tests.support.one_line_bugs import BUGS, Bug, results

pytestmark = pytest.mark.tensorflow


#: Bugs that are run eagerly too: those in which ops on record made the tensors that the advice looks at.
EAGER = frozenset(
    {
        *("log_of_softmax", "log_of_sigmoid", "log_of_rest", "standardized", "between_limits"),
        *("distance", "norm", "euclidean_norm", "deviation", "angle", "direction", "log_sum_exp", "clipped"),
        "entropy",
    }
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All bugs in one recording, each as a function, and some eagerly."""
    folder = tmp_path_factory.mktemp("bugs")
    with tb_debugger_plugin.record(folder, "FULL_HEALTH"):
        for bug in BUGS:
            bug.traced()
            if bug.name in EAGER:
                results(bug.program, bug.arguments, is_gradient=bug.is_gradient)
    return folder


@pytest.fixture(scope="module")
def snapshot(recorded: Path) -> Iterator[Snapshot]:
    with snapshot_of(recorded) as opened:
        yield opened


def diagnosis_of(snapshot: Snapshot, bug: Bug, *, is_eager: bool = False) -> Diagnosis:
    """What is said of the first bad value of an op of the type."""
    every = alert_list(snapshot)
    for position, alert in enumerate(page(snapshot, every, Range(0, len(every)))):
        if alert["op_type"] == bug.op and (alert["op_name"] is None) == is_eager:
            found = diagnose_alert(snapshot, position)
            if found is not None and f" in {bug.name}," in found.headline:
                return found
    raise AssertionError(f"no bad {bug.op} in {bug.name}")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_advice_is_for_the_situation_and_the_changed_line_is_finite(snapshot: Snapshot, bug: Bug) -> None:
    found = diagnosis_of(snapshot, bug)
    assert bug.words in (found.help or ""), found.sentences
    assert found.certainty == "proven", found.sentences
    assert found.missing is None
    if not bug.is_repaired:
        assert found.example is None or found.example.before is None
        return
    assert found.example is not None and found.example.before is not None, found.sentences
    ast.parse(found.example.after)
    for result in bug.changed(found.example.before, found.example.after):
        assert bool(tf.reduce_all(tf.math.is_finite(tf.cast(result, tf.float32)))), found.example


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug.name in EAGER], ids=lambda bug: bug.name)
def test_the_same_is_advised_where_the_ops_run_eagerly(snapshot: Snapshot, bug: Bug) -> None:
    found, in_graph = diagnosis_of(snapshot, bug, is_eager=True), diagnosis_of(snapshot, bug)
    assert (found.help, found.example) == (in_graph.help, in_graph.example), found.sentences
    assert found.certainty == "proven" or found.missing is not None
