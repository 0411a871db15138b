"""`examples/buggy_digits.py`: the example has its bug, and with `--fixed` it has none."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.programs import EXAMPLE, run_python

pytestmark = pytest.mark.tensorflow

_CHANCE = 0.1
_LINE = re.compile(r"step +(\d+) +loss +(\S+) +accuracy (\S+)")


def _train(*options):
    """Of each step, the loss and the accuracy."""
    said = run_python("-m", EXAMPLE, "--no-record", *options)
    return [(float(loss), float(accuracy)) for _, loss, accuracy in _LINE.findall(said)]


def test_with_the_bug_the_loss_turns_to_nan_and_the_accuracy_stays_near_chance():
    steps = _train("--steps", "8")
    assert len(steps) == 8
    assert steps[0][0] == pytest.approx(4.86, abs=0.5)
    assert all(loss != loss for loss, _ in steps[2:])
    assert all(accuracy < 2 * _CHANCE for _, accuracy in steps[2:])


def test_fixed_it_learns():
    steps = _train("--steps", "100", "--fixed")
    assert all(loss == loss for loss, _ in steps)
    assert min(accuracy for _, accuracy in steps[-5:]) > 0.9


@pytest.mark.parametrize("missing", ["sklearn", "tensorflow"])
def test_it_says_which_extra_brings_what_is_missing(missing):
    # A module that is None in sys.modules is one that cannot be imported.
    program = (
        f"import runpy, sys; sys.modules[{missing!r}] = None; runpy.run_module({EXAMPLE!r}, None, '__main__')"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 1
    assert (
        run.stderr.splitlines()[-1] == f"The example needs {missing}: pip install 'tb-debugger-plugin[demo]'"
    )
    assert "Traceback" not in run.stderr


@pytest.mark.long
def test_it_asks_where_to_record():
    run = subprocess.run([sys.executable, "-m", EXAMPLE], capture_output=True, text=True)
    assert run.returncode == 2
    assert "--logdir" in run.stderr and "--no-record" in run.stderr
