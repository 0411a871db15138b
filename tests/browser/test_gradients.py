"""`frontend/src/views`: a user gets from a bad gradient of a Keras model to the line in its layer."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.debugger_page import open_page, quiet_page
from tests.support.programs import run_python
from tests.support.serving import tensorboard
from tests.support.tensorflows_reader import check_every_file_set_below

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

# Where the weights begin at 0 the norm is 0 too, and its root has no finite gradient.
_PROGRAM = """
import sys
import numpy as np
import tensorflow as tf
from tb_debugger_plugin.keras import DebuggerCallback

class Norm(tf.keras.layers.Layer):
    def call(self, x):
        squares = tf.reduce_sum(tf.square(x), -1, keepdims=True)
        return x + tf.sqrt(squares)  # the culprit

layers = tf.keras.layers
model = tf.keras.Sequential([layers.Dense(3, kernel_initializer="zeros"), Norm(name="norm"), layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=False)
model.fit(np.ones([4, 2]), np.ones([4, 1]), verbose=0, callbacks=[DebuggerCallback(sys.argv[1])])
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A TensorBoard on the recorded program."""
    folder = tmp_path_factory.mktemp("gradients")
    (folder / "program.py").write_text(_PROGRAM, "utf-8")
    run_python(str(folder / "program.py"), str(folder / "logdir"))
    assert check_every_file_set_below(folder / "logdir") == 1
    with tensorboard(folder / "logdir", folder / "tensorboard.txt") as address:
        yield address


def test_the_first_bad_value_is_told_with_its_layer_and_the_line_in_it(browser, address):
    with quiet_page(browser, address, scheme="dark") as page:
        box = page.part("first-bad")
        expect(box).to_contain_text("SqrtGrad in the backward pass of layer sequential/norm")
        expect(box).to_contain_text("# the culprit")
        page.click("graph-structure-forward")
        expect(page.part("source-line-focused")).to_contain_text("# the culprit")
        assert page.serious_violations() == []


def test_the_gradient_of_a_weight_is_named_wherever_it_is_shown(browser, address):
    # Which of the two weights has its gradient first differs from run to run; a tall window shows that alert.
    weight = re.compile(r"gradient of (sequential/dense/(?:kernel|bias))")
    with open_page(browser, address, width=1600, height=1400) as page:
        page.await_first_cause()
        alerts = page.frame.get_by_role("grid", name="Alerts in the order of time")
        alert = alerts.get_by_role("row").filter(has_text=weight).first
        actual = weight.search(alert.inner_text())
        assert actual is not None
        alert.click()
        expect(page.part("graph-structure-op")).to_contain_text(actual[0])
        row = page.part("graph-executions-row").and_(page.frame.locator("[aria-selected=true]"))
        expect(row).to_contain_text(f"∇ {actual[1]}")


def test_a_library_frame_shows_its_lines_and_says_what_is_missing(browser, address):
    with open_page(browser, address) as page:
        page.await_first_cause()
        page.frame.locator(".folded").first.click()
        page.frame.locator(".frame-library").first.click()
        expect(page.part("source-line-focused")).to_be_visible()
        expect(page.frame.locator(".cm-content")).to_contain_text("not recorded")


def test_graph_executions_narrow_down_to_a_layer(browser, address):
    with open_page(browser, address) as page:
        field = page.part("list-filter")
        field.fill("layer:norm$")
        field.press("Enter")
        rows = page.part("graph-executions-row")
        expect(rows.filter(has_text="dense")).to_have_count(0)
        expect(rows.first).to_contain_text("norm")
