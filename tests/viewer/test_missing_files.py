"""`index/source.py`: TensorFlow's own dumps are shown as far as possible if a file is missing or empty."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tb_debugger_plugin.events import fileset
from tests.support.asking import Asker, facts_of, fitting
from tests.support.checkout import ROOT
from tests.support.events import PATIENCE_S

_RECORDING = ROOT / "tests" / "golden" / "tensorflow-2.21.0" / "FULL_HEALTH"
#: What is said of the run when a file is gone.
_LOST = {
    fileset.EXECUTION: "num_executions",
    fileset.GRAPH_EXECUTION_TRACES: "num_graph_executions",
}


@pytest.fixture
def copy(tmp_path: Path) -> fileset.FileSet:
    shutil.copytree(_RECORDING, tmp_path / "run")
    (files,) = fileset.find_file_sets(tmp_path / "run")
    return files


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder = tmp_path_factory.mktemp("whole")
    shutil.copytree(_RECORDING, folder / "run")
    return _answers(folder)[0]


def _answers(logdir: Path) -> tuple[dict, dict[str, int]]:
    with Asker(logdir) as asker:
        assert asker.plugin._viewer.run_library.loader("run").wait(PATIENCE_S)
        facts = facts_of(asker, "run", random.Random(1))
        codes = {path: asker.get(path, query).status_code for path, query in fitting(facts)}
        return asker.json("/status", {"run": "run"}), codes


@pytest.mark.parametrize("way", ["missing", "empty"])
@pytest.mark.parametrize("suffix", [suffix for suffix in fileset.SUFFIXES if suffix != fileset.METADATA])
def test_a_dump_without_one_of_its_files_is_shown_as_far_as_it_goes(copy, whole, tmp_path, suffix, way):
    copy.path(suffix).unlink(missing_ok=True)
    if way == "empty":
        copy.path(suffix).touch()
    actual, codes = _answers(tmp_path)
    assert not [path for path, code in codes.items() if code not in (200, 400, 404)]
    for name in ("num_executions", "num_graph_executions"):
        assert actual[name] == (0 if _LOST.get(suffix) == name else whole[name])
    assert codes["/status"] == codes["/columns/executions"] == codes["/columns/graph_executions"] == 200


def test_a_dump_without_graphs_still_names_its_ops_and_finds_the_first_nan(copy, tmp_path):
    with Asker(tmp_path) as asker:
        whole = asker.json("/alerts", {"run": "run"})["alerts"]
    copy.path(fileset.GRAPHS).unlink()
    with Asker(tmp_path) as asker:
        actual = asker.json("/alerts", {"run": "run"})["alerts"]
        assert {alert["op_name"] for alert in actual} == {alert["op_name"] for alert in whole}
        first = actual[0]["graph_execution_trace_index"]
        assert asker.json("/inputs_of", {"run": "run", "graph_execution": first}) == {"inputs": []}


def test_an_empty_metadata_file_is_a_run_too(copy, tmp_path):
    copy.path(fileset.METADATA).write_bytes(b"")
    actual, codes = _answers(tmp_path)
    assert actual["num_graph_executions"] > 0 and actual["tensorflow_version"] is None
    assert set(codes.values()) <= {200, 400, 404}
