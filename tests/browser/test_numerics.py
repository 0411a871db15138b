"""`frontend/src/views/numbers.tsx`: the page shows minimum, maximum, mean, variance and dropped records."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.tail import TailMode
from tests.support.debugger_page import page_on
from tests.support.events import small_program, vector
from tests.support.tails import build_tail

pytestmark = pytest.mark.browser


def test_the_numbers_of_a_tensor_and_what_the_buffer_dropped_are_shown(browser, tmp_path):
    logdir = tmp_path / "logdir"
    recording = small_program(
        logdir, steps=0, mode=TensorDebugMode.FULL_NUMERICS, recorder_version="0.1", circular_buffer_size=2
    )
    health = [12, -1, 1, 1, 3, 0, 0, 1, 1, 0, 1]
    recording.trace("g1", "mul", vector([*health, -3.5, 2e10, 1 / 3, 4.0]))
    size = recording.files.path(GRAPH_EXECUTION_TRACES).stat().st_size
    ring = build_tail([], mode=TailMode.RING, file_size=size, dropped=1234)
    recording.files.tail_path(GRAPH_EXECUTION_TRACES).write_bytes(ring)
    recording.close()
    with page_on(browser, logdir) as page:
        page.await_first_cause()
        op = page.part("graph-structure-op")
        numbers = ["min −3.5", "max 2e+10", "mean 0.3333", "variance 4"]
        expect(op.locator(".numerics span")).to_have_text(numbers)
        words = " · ".join(["float32 [2, ?]", "3 values", "1 −, 1 +, 1 NaN", *numbers])
        expect(page.part("graph-executions-row").first.locator(".counts")).to_have_attribute("title", words)
        expect(page.frame.locator(".status")).to_contain_text("dropped: 0 executions, 1,234 graph executions")
