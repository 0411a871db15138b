"""`server`: TensorBoard and the command line work where TensorFlow cannot be imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.asking import FITTING, PREFIX, Facts, decoded, fitting, has_answered
from tests.support.checkout import ROOT
from tests.support.serving import WITHOUT_TENSORFLOW, fetch, tensorboard

_WITHOUT = "tests.support.without_tensorflow"
_RECORDINGS = ROOT / "tests" / "golden"
_RUN = "tensorflow-2.21.0/FULL_HEALTH"
_PATIENCE_S = 60


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("log") / "tensorboard.txt"
    with tensorboard(_RECORDINGS, log, program=WITHOUT_TENSORFLOW) as actual:
        yield actual


def _json(url: str, **query: object):
    status, kind, content = fetch(url, query)
    assert (status, kind) == (200, "application/json"), content
    return json.loads(content)


def _facts(address: str, run: str) -> Facts:
    (trace,) = _json(f"{address}{PREFIX}/graph_execution/data", run=run, begin=9, end=10)["graph_executions"]
    (first,) = _json(f"{address}{PREFIX}/execution/data", run=run, begin=0, end=1)["executions"]
    return Facts(run, 0, 9, trace["graph_id"], trace["op_name"], first["stack_frame_ids"][0])


def test_the_tab_is_listed_and_its_page_served(address):
    listed = _json(f"{address}/data/plugins_listing")["debugger"]
    assert listed["enabled"] and listed["tab_name"] == "Debugger"
    assert (
        fetch(f"{address}{PREFIX}{listed['loading_mechanism']['module_path'].partition(PREFIX)[2]}")[0] == 200
    )


def test_every_route_answers_for_recordings_of_every_mode(address):
    # Dump folders have neither executions nor stacks.
    runs = [run for run in _json(f"{address}{PREFIX}/runs") if not run.startswith("dumps-")]
    assert len(runs) >= 4
    for run in runs:
        questions = fitting(_facts(address, run))
        assert {path for path, _ in questions} == set(FITTING)
        for path, query in questions:
            status, kind, content = fetch(f"{address}{PREFIX}{path}", query)
            assert has_answered(path, status), (path, query, content[:300])
            assert decoded(kind, content) is not None


@pytest.mark.parametrize(
    "path", ["/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/..%2f..%2fx.js"]
)
def test_no_path_leads_out_of_the_page(address, path):
    status, _, content = fetch(f"{address}{PREFIX}{path}")
    assert status == 404 and b"root" not in content


def _tbdbg(cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", _WITHOUT, "tbdbg", *words]
    environment = {**os.environ, "TB_DEBUGGER_CACHE": str(cache)}
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=_PATIENCE_S, env=environment
    )


def test_the_verbs_of_the_command_line_work(tmp_path):
    logdir = str(_RECORDINGS / _RUN)
    verbs: list[tuple[str, ...]] = [
        ("info", logdir),
        ("index", logdir),
        ("sql", logdir, "SELECT count(*) AS n FROM graph_executions"),
        ("export", logdir, "--parquet", str(tmp_path / "out")),
        ("clean", logdir),
    ]
    for verb in verbs:
        done = _tbdbg(tmp_path, *verb, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)
    assert "graph_execution_trace" in _tbdbg(tmp_path, "dump", logdir).stdout
    assert _tbdbg(tmp_path, "info", str(tmp_path / "absent")).returncode == 1
    assert _tbdbg(tmp_path, "info").returncode == 2


def test_an_import_of_tensorflow_is_refused_and_one_that_got_through_is_told():
    program = [sys.executable, "-m", _WITHOUT]
    refused = subprocess.run([*program, "tensorflow.version"], cwd=ROOT, capture_output=True, text=True)
    assert refused.returncode == 1 and "No module named 'tensorflow'" in refused.stderr
    smuggled = "import runpy, sys; sys.modules['tensorflow'] = sys; sys.argv = ['x', 'this']; "
    smuggled += f"runpy.run_module({_WITHOUT!r}, run_name='__main__')"
    assert subprocess.run([sys.executable, "-c", smuggled], cwd=ROOT, capture_output=True).returncode == 3
