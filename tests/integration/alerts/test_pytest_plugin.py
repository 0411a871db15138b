"""`testing`: `pytest --tb-debugger` fails tests that compute NaN, and is nothing without the option."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

pytestmark = pytest.mark.tensorflow

_TESTS = """
import pytest

def test_without_tensorflow():
    assert 1

def test_healthy():
    import tensorflow as tf
    assert tf.reduce_sum(tf.sqrt(tf.constant([1.0, 4.0]))) == 3

def test_mask():
    import tensorflow as tf
    assert tf.nn.softmax(tf.constant([1.0, float("-inf")]))[0] == 1

def test_root():
    import tensorflow as tf

    @tf.function
    def root(x):
        return tf.reduce_sum(tf.sqrt(x))

    root(tf.constant([1.0, -4.0]))

@pytest.mark.tb_debugger_allow("a NaN is what this is about")
def test_meant():
    import tensorflow as tf
    tf.sqrt(tf.constant(-1.0))

@pytest.mark.tb_debugger_allow("roots are", op_type="Sqrt")
def test_meant_by_type():
    import tensorflow as tf
    tf.sqrt(tf.constant(-1.0))

@pytest.mark.tb_debugger_allow("logarithms are", op_type="Log")
def test_not_meant():
    import tensorflow as tf
    tf.sqrt(tf.constant(-1.0))

def test_fails_by_itself():
    import tensorflow as tf
    assert tf.sqrt(tf.constant(-1.0)) == 1
"""
_ENVIRONMENT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}


def run_pytest(folder: Path, *options: str) -> tuple[int, str]:
    """The exit code and the output of pytest on the tests above."""
    (folder / "test_numbers.py").write_text(_TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tb_debugger_plugin.testing.plugin", "-rA", *options]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "test_numbers.py"],
        cwd=folder,
        env={**os.environ, **_ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=500,
    )
    return done.returncode, done.stdout + done.stderr


def outcomes(text: str) -> dict[str, str]:
    """PASSED or FAILED by the name of the test."""
    lines = re.findall(r"^(PASSED|FAILED) test_numbers.py::(\w+)", text, re.MULTILINE)
    return {name: outcome for outcome, name in lines}


def test_a_test_that_computes_nan_fails_with_the_sentence(tmp_path):
    code, text = run_pytest(tmp_path, "--tb-debugger", "--tb-debugger-logdir", str(tmp_path / "kept"))
    assert code == 1
    assert outcomes(text) == {
        "test_without_tensorflow": "PASSED",
        "test_healthy": "PASSED",
        "test_mask": "PASSED",
        "test_root": "FAILED",
        "test_meant": "PASSED",
        "test_meant_by_type": "PASSED",
        "test_not_meant": "FAILED",
        "test_fails_by_itself": "FAILED",
    }, text
    line = _TESTS.splitlines().index("        return tf.reduce_sum(tf.sqrt(x))") + 1
    assert f"Sqrt in root, test_numbers.py:{line}" in text
    assert "the root of a negative number is NaN" in text
    assert "assert " in text and "bad values" in text
    kept = sorted(path.name.partition("-")[0] for path in (tmp_path / "kept").iterdir())
    assert kept == [
        f"test_numbers.py_{name}" for name in ("test_fails_by_itself", "test_not_meant", "test_root")
    ]


def test_without_the_option_nothing_is_recorded_and_no_tensorflow_imported(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_sessionfinish(session):\n"
        "    ours = sorted(name for name in sys.modules if name.startswith('tb_debugger_plugin'))\n"
        "    print('IMPORTED', 'tensorflow' in sys.modules, *ours)\n"
    )
    code, text = run_pytest(tmp_path, "-k", "test_without_tensorflow", "-s")
    assert code == 0
    assert re.search(
        r"IMPORTED False tb_debugger_plugin tb_debugger_plugin.events tb_debugger_plugin.events.version"
        r" tb_debugger_plugin.testing tb_debugger_plugin.testing.plugin$",
        text,
        re.MULTILINE,
    ), text
