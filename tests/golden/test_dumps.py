"""`reading/dumps/dump_source.py`: dump folders that TensorFlow wrote are read without it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tb_debugger_plugin.events.dumps.datum import has_inf_or_nan
from tb_debugger_plugin.reading.dumps.dump_dir import DebugDumpDir
from tests.golden.facts import facts_of
from tests.support.asking import Asker
from tests.support.checkout import ROOT

_FOLDERS = sorted(Path(__file__).parent.glob("dumps-*"))
_CALLS = [
    pytest.param(folder / "session" / call, facts, id=f"{folder.name}-{number}")
    for folder in _FOLDERS
    for number, (call, facts) in enumerate(
        json.loads((folder / "tensorflow.json").read_text("utf-8")).items()
    )
]


def test_there_are_folders():
    assert _FOLDERS and _CALLS


@pytest.mark.parametrize(("folder", "facts"), _CALLS)
def test_a_call_is_what_tensorflow_says(folder, facts):
    found = facts_of(DebugDumpDir(folder))
    assert list(found["nodes"]) == list(facts["nodes"])
    assert json.loads(json.dumps(found)) == facts


@pytest.mark.parametrize("folder", _FOLDERS, ids=lambda folder: folder.name)
def test_the_folders_are_a_run_with_the_first_bad_value(folder):
    dump = DebugDumpDir(folder / "session")
    (first,) = dump.find(has_inf_or_nan, first_n=1)
    with Asker(folder) as asker:
        assert list(asker.json("/runs", {})) == ["session"]
        alerts = asker.json("/alerts", {"run": "session", "end": -1})
        status = asker.json("/status", {"run": "session"})
    assert first.node_name == "logs"
    assert status["num_graph_executions"] == dump.size and alerts["num_alerts"] >= 1


def test_the_example_of_the_page_runs(capsys):
    (example,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "dump-folders.md").read_text("utf-8"), re.DOTALL
    )
    bad, _ = next(call.values for call in _CALLS if any("-inf" in str(row) for row in call.values[1]["data"]))
    exec(example.replace("dumps/run_1700000000000000_0", str(bad)), {})
    assert capsys.readouterr().out == "logs:0:DebugIdentity ['_arg_x_0_0']\n"
