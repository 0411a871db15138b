"""`docs/guide/reading.md`: the guide's program and the guide's code run on the recording of the example."""

from __future__ import annotations

import inspect
import re

import pytest

import tb_debugger_plugin
from tb_debugger_plugin.reading.alerts import Alert
from tb_debugger_plugin.reading.program import Graph, Op
from tb_debugger_plugin.reading.rows import Rows
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.reading.value import Value
from tests.support.checkout import ROOT
from tests.support.programs import record_example, run_python

pytestmark = pytest.mark.tensorflow

_GUIDE = (ROOT / "docs" / "guide" / "reading.md").read_text("utf-8")
#: The example is recorded without values.
_NEEDS_VALUES = "value[0"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("demo") / "demo_logdir"
    record_example(logdir, "--steps", "5")
    return logdir


def test_the_program_finds_the_op_its_input_and_the_line(logdir):
    said = run_python(str(ROOT / "docs" / "guide" / "find_the_bug.py"), str(logdir))
    assert "First: Log:0 in cross_entropy" in said
    assert re.search(r"op_name +probs\n.*?zero +(?!0\n)\d+", said, re.DOTALL)
    assert "log_probs = tf.math.log(probs)" in said
    assert "the logarithm of 0 is −∞" in said


def test_the_code_of_the_guide_runs(logdir, capsys):
    code = "\n".join(
        block
        for block in re.findall(r"^```python\n(.*?)^```", _GUIDE, re.MULTILINE | re.DOTALL)
        if not block.startswith(_NEEDS_VALUES)
    )
    code = code.replace('"demo_logdir"', repr(str(logdir))).replace("timeout=60", "timeout=0.5")
    names = {}
    exec(compile(code, "reading.md", "exec"), names)
    assert names["first"]["op_name"] == "Log"
    assert "Log:0 cross_entropy" in capsys.readouterr().out
    names["run"].close()


def test_the_guide_names_each_public_method():
    for cls in (Run, Value, Rows, Graph, Op, Alert):
        methods = [name for name, one in vars(cls).items() if inspect.isfunction(one)]
        ours = ("snapshot", "export", "cursor")  # for the command line and the shell
        public = [name for name in methods if not name.startswith("_") and name not in ours]
        row = next(line for line in _GUIDE.splitlines() if line.startswith(f"| `{cls.__name__}`"))
        assert [name for name in public if f"`{name}`" not in row] == []
    assert "open_run" in tb_debugger_plugin.__all__
