"""`live/viewer`: a page finds a real program, steers it, reads what it computes, and changes it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import Asker
from tests.support.checkout import ROOT

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(300)]

_PATIENCE_S = 90.0
_PROGRAM = """import sys
import tensorflow as tf
from tb_debugger_plugin.live.program.api import enable_breakpoints

@tf.function
def train_step(x):
    logs = tf.math.log(x, name="logs")
    return tf.reduce_sum(tf.reshape(logs, [2, 2]), name="loss")

with enable_breakpoints(sys.argv[1], may_change_values=True, when_alone=None):
    for n in range(3):
        print("loss", round(float(train_step(tf.constant([1.0, 2.0, 4.0, float(n - 1)]))), 3), flush=True)
"""


class _Page:
    """A page at the one program of a logdir."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker

    def until(self, is_right: Callable[[Any], bool]) -> Any:
        """The program once its state is as wanted."""
        listing, end = self.asker.json("/live/programs"), time.monotonic() + _PATIENCE_S
        while not any(one["state"] and is_right(one["state"]) for one in listing["programs"]):
            assert time.monotonic() < end, listing
            listing = self.asker.json("/live/programs", since=listing["version"], wait=2)
        return listing["programs"][0]

    def command(self, one: Any, **command: object) -> Any:
        """What came of a command that is obeyed."""
        outcome = self.asker.post("/live/control", {"program": one["id"], "command": command})
        assert outcome.status_code == 200 and outcome.json["done"], outcome.text
        return outcome.json


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    logdir = tmp_path_factory.mktemp("logdir")
    script = tmp_path_factory.mktemp("program") / "train.py"
    script.write_text(_PROGRAM)
    command = [sys.executable, str(script), str(logdir / "train")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as program:
        yield logdir, program
        program.kill()


def test_a_page_finds_the_nan_of_a_real_program_and_mends_it(said):
    logdir, program = said
    with Asker(logdir) as asker:
        page = _Page(asker)
        one = page.until(lambda state: state["pause"] is not None)
        assert one["state"]["call"]["name"] == "train_step" and one["state"]["may_change_values"]
        where = {"op_name": "logs", "slot": 0}
        breakpoint = {"where": where, "condition": "nan > 0 or ninf > 0", "enabled": True}
        assert page.command(one, set_breakpoint=breakpoint)["breakpoint"] == 1
        page.command(one, continue_={})
        one = page.until(lambda state: (state["pause"] or {}).get("breakpoint") == 1)
        pause, run = one["state"]["pause"], one["run"]
        tensor = pause["tensor"]
        assert (tensor["op_name"], tensor["shape"], tensor["line"]) == ("logs", [4], 7)
        query = {"program": one["id"], "tensor": tensor["number"]}
        cells = asker.json("/values/text", query)["cells"]
        assert [cell[:6] for cell in cells[0]] == ["0.0", "0.6931", "1.3862", "nan"]
        assert asker.json("/values/summary", query)["counts"]["nan"] == 1
        info = asker.json("/values/info", query)
        assert (info["name"], info["health"]["nan"], info["bytes"]) == ("logs:0", 1, 16)
        result = asker.post(
            "/live/evaluate", {"program": one["id"], "expression": "np.nan_to_num(`logs:0`).sum()"}
        ).json
        assert result["done"], result
        # What is static is in the tables of the run already.
        assert asker.json("/graphs/op_info", run=run, graph_id=tensor["graph_id"], op_name="logs")
        assert pause["can_change"], pause["cannot_change"]
        page.command(one, change_value={"tensor": tensor["number"], "expression": "np.nan_to_num(value)"})
        page.command(one, remove_breakpoint=1)
        page.command(one, detach={})
        output, _ = program.communicate(timeout=_PATIENCE_S)
        assert output.splitlines() == ["loss 2.079", "loss -inf", "loss 2.079"]
        ended = page.until(lambda state: state["phase"] == "ended")
        assert ended["state"]["pause"] is None
        assert asker.get("/values/text", query).status_code == 404
