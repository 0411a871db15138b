"""The page as a user sees it: the debugger in its frame, in TensorBoard's window or in a bare one.

TensorBoard's own page takes twice as long to load as ours. So a test that is not about TensorBoard itself
gets a window that has its frame, its link and its theme, and nothing else.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Frame, Locator, Page, Response, Route, expect

from tests.support.serving import KEY, tensorboard

_FRAME = "iframe[src*='plugin_entry.html?name=debugger']"
_BARE = """<!doctype html><html lang="en"><title>TensorBoard</title>
<link rel="icon" href="data:,">
<style>
  body { margin: 0 }
  iframe { border: 0; width: 100%; height: calc(100vh - 64px); margin-top: 64px }
</style>
<body><script>
  document.body.classList.toggle("dark-mode", matchMedia("(prefers-color-scheme: dark)").matches);
</script>
<iframe src="data/plugin_entry.html?name=debugger"></iframe></body></html>"""
# At its very beginning a document has no element.
_IDLE = "document.documentElement?.dataset.idle === 'true'"
# A program may go on before the page has asked what is on record at its pause; then the answer is a 404.
_PAUSED = "/live/paused?"
# A document of no origin has no storage.
_HINTS_SEEN = "try { localStorage.setItem('tb_debugger_plugin.hints', 'seen') } catch {}"
# No font, icon or update from outside: only this machine answers.
BROWSER_ARGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)

#: For the tests of how a page looks: `make test-rest` has the narrowest window and an ordinary one.
each_window = pytest.mark.parametrize(
    ("scheme", "width", "height"),
    [
        ("dark", 400, 900),
        ("light", 1280, 800),
        pytest.param("light", 760, 900, marks=pytest.mark.long),
        pytest.param("dark", 1920, 1080, marks=pytest.mark.long),
    ],
)


class Surroundings:
    """What is around the frame where a test does not say it; with --update-screenshots it is TensorBoard."""

    in_tensorboard = False


class DebuggerPage:
    """A browser window with a TensorBoard; `open_page` opens and closes it.

    `complaints` holds the errors of the console, the uncaught exceptions and the failed answers so far.
    """

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._complain(str(error)))
        page.on("response", self._receive)
        page.goto(address)

    @property
    def frame(self) -> Frame:
        """The debugger's own document, once it is there and idle."""
        handle = self.page.locator(_FRAME).element_handle()
        frame = handle.content_frame()
        assert frame is not None
        frame.wait_for_function(_IDLE)
        return frame

    def part(self, name: str) -> Locator:
        """Returns the elements with the test id `name`."""
        return self.frame.get_by_test_id(name)

    def click(self, name: str) -> None:
        """Click the first element with the test id `name` and wait until the page has settled."""
        self.part(name).first.click()
        self.frame.wait_for_function(_IDLE)

    def compare_with(self, run: str) -> None:
        """Compare the run in focus with another one."""
        self.click("run")
        self.part("runs").get_by_label(f"Compare {run}", exact=True).check()
        self.click("runs-compare")

    def await_first_cause(self) -> None:
        """Wait until the page, which was just opened, shows the first cause."""
        expect(self.part("first-bad")).to_be_visible()
        expect(self.frame.locator(".alerts .position")).to_have_text(re.compile(r"\d of \d"))
        self.frame.wait_for_function(_IDLE)

    def show_recording(self) -> None:
        """Leave the run at a glance, which a run without a bad value opens on."""
        self.click("dock-tab-recording")

    def active_tab(self) -> str:
        """The name of TensorBoard's selected tab."""
        tab = self.page.locator("[role=tab][aria-selected=true]")
        expect(tab).to_have_count(1)
        return tab.inner_text().strip()

    def serious_violations(self) -> list[str]:
        """Returns the serious and critical violations that axe-core finds in the debugger's document."""
        actual = Axe().run(self.frame).response["violations"]
        return [
            f"{violation['id']}: {violation['help']}: {[node['target'] for node in violation['nodes'][:3]]}"
            for violation in actual
            if violation["impact"] in ("serious", "critical")
        ]

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error" and _PAUSED not in message.location["url"]:
            self._complain(message.text)

    def _receive(self, answer: Response) -> None:
        if answer.status >= 400 and not (answer.status == 404 and _PAUSED in answer.url):
            self._complain(answer.url)

    def _complain(self, text: str) -> None:
        self.complaints.append(text)


@contextmanager
def open_page(
    browser: Browser,
    address: str,
    *,
    scheme: str = "light",
    width: int = 1280,
    height: int = 800,
    stopped_clock: bool = False,
    answers: Mapping[str, object] | None = None,
    has_key: bool = True,
    in_tensorboard: bool | None = None,
    is_first_visit: bool = False,
) -> Iterator[DebuggerPage]:
    """Open the debugger in a new window of `width` x `height` pixels.

    Args:
      browser: The browser.
      address: Address of TensorBoard.
      scheme: Colour scheme.
      width: Width of the window.
      height: Height of the window.
      stopped_clock: Whether the test controls the clock of the page.
      answers: Answers by route, in place of those of the server.
      has_key: Whether the window has the key that commands need.
      in_tensorboard: Whether TensorBoard's own page is around the frame; None for :class:`Surroundings`.
      is_first_visit: Whether the page gives its hints.
    """
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    if stopped_clock:
        context.clock.install()
    if not is_first_visit:
        context.add_init_script(_HINTS_SEEN)
    for name, answer in (answers or {}).items():
        context.route(f"**/plugin/debugger/{name}", _answering(json.dumps(answer)))
    if not (Surroundings.in_tensorboard if in_tensorboard is None else in_tensorboard):
        context.route(
            re.compile(r"^http://127\.0\.0\.1:\d+/?(\?[^/]*)?$"),
            lambda route: route.fulfill(content_type="text/html", body=_BARE),
        )
    if has_key:
        context.add_init_script(f"sessionStorage.setItem('tb_debugger_plugin.key', {KEY!r})")
    try:
        yield DebuggerPage(context.new_page(), address)
    finally:
        context.close()


@contextmanager
def quiet_page(browser: Browser, address: str, **window: object) -> Iterator[DebuggerPage]:
    """Do the same; the page must not have complained when the block ends."""
    with open_page(browser, address, **window) as page:
        yield page
        assert not page.complaints, page.complaints


@contextmanager
def page_on(browser: Browser, logdir: Path, link: str = "", **window: object) -> Iterator[DebuggerPage]:
    """Start a TensorBoard for a logdir, and open its page at a link, as `quiet_page` does."""
    with tempfile.TemporaryDirectory() as folder:
        with tensorboard(logdir, Path(folder) / "tensorboard.txt") as address:
            with quiet_page(browser, f"{address}{link}", **window) as page:
                yield page


def _answering(body: str) -> Callable[[Route], None]:
    def answer(route: Route) -> None:
        route.fulfill(status=200, body=body)

    return answer
