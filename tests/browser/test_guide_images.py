"""`frontend/src/views`: the pictures of the guides, of the programs that the guides show."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support.checkout import ROOT
from tests.support.debugger_page import quiet_page
from tests.support.serving import WITH_TENSORFLOW, tensorboard

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

_MAIN = "import sys; from tb_debugger_plugin.cli.main import main; sys.exit(main())"
_RUN = ("-c", _MAIN, "run", "--logdir", "logs")
_WINDOW = {"width": 1280, "height": 800}


@contextmanager
def _shown(guide, folder, logdir, *, through=()):
    """Give a TensorBoard on the recorded first program of a guide, started as the guide says."""
    text = (ROOT / "docs" / "guide" / guide).read_text("utf-8")
    (folder / "train.py").write_text(text.partition("```python\n")[2].partition("```")[0], "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        subprocess.run([sys.executable, *through, "train.py"], check=True, timeout=240)
        with tensorboard(Path(logdir), folder / "log.txt", program=WITH_TENSORFLOW) as address:
            yield address


@pytest.fixture(scope="module")
def curves_address(tmp_path_factory):
    with _shown("curves.md", tmp_path_factory.mktemp("curves"), "curves_logdir") as address:
        yield address


def test_a_run_that_does_not_learn_at_a_glance(browser, curves_address, keep_screenshot):
    with quiet_page(browser, curves_address, **_WINDOW) as page:
        expect(page.part("glance-finding").first).to_contain_text("Vanishing gradient")
        expect(page.part("verdict")).to_contain_text("tbdbg alerts curves_logdir")
        keep_screenshot(page.page, "glance-light")


def test_its_gradients_and_the_curve_of_one(browser, curves_address, keep_screenshot):
    with quiet_page(browser, curves_address, **_WINDOW) as page:
        page.click("dock-tab-gradients")
        expect(page.part("dock-gradients")).to_contain_text("hidden_1/kernel")
        keep_screenshot(page.page, "gradients-light")
        page.frame.get_by_role("row").filter(has_text="hidden_1/kernel").first.click()
        page.page.keyboard.press("Enter")
        expect(page.part("curve-add-gradient").or_(page.frame.locator(".uplot")).first).to_be_visible()
        keep_screenshot(page.page, "curve-light")


def test_its_alerts_by_layer_and_the_rules(browser, curves_address, keep_screenshot):
    with quiet_page(browser, curves_address, width=1280, height=1300) as page:
        page.frame.get_by_text("Rules and thresholds").click()
        rule = page.part("rule-VanishingGradientAlert")
        rule.scroll_into_view_if_needed()
        expect(rule).to_be_visible()
        keep_screenshot(page.frame.locator("section.alerts"), "rules-light")


@pytest.mark.long
def test_what_is_wrong_and_what_is_meant(browser, tmp_path, keep_screenshot):
    with (
        _shown("origins.md", tmp_path, "logs", through=_RUN) as address,
        quiet_page(browser, address, width=1280, height=1700) as page,
    ):
        page.await_first_cause()
        page.part("expected-origins").get_by_text("xpected").first.click()
        expect(page.part("expected-origins")).to_contain_text("Const")
        keep_screenshot(page.frame.locator("section.alerts"), "origins-light")


def test_the_example_with_its_timeline_and_steps(browser, example_address, keep_screenshot):
    with quiet_page(browser, example_address, **_WINDOW) as page:
        page.await_first_cause()
        page.click("dock-tab-timeline")
        expect(page.part("run-timeline")).not_to_contain_text("Loading")
        keep_screenshot(page.page, "timeline-light")
        page.click("dock-tab-recording")
        page.click("step-only")
        expect(page.part("filter-chip")).to_contain_text("step:6")
        keep_screenshot(page.page, "steps-light")
