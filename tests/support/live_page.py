"""What pages of programs need: a logdir with a recording, a TensorBoard on it, and the bar of the page."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.support.debugger_page import DebuggerPage
from tests.support.events import Recording
from tests.support.live_program import ScriptedProgram, served
from tests.support.serving import tensorboard

_PATIENCE_S = 20.0


class LiveLogdir:
    """A logdir with a recording in its folder ``train``, and a TensorBoard on it."""

    def __init__(self, logdir: Path, address: str, files: str) -> None:
        self.logdir, self.address, self._files = logdir, address, files

    @contextmanager
    def program(self, *, folder: str = "train", **options: object) -> Iterator[ScriptedProgram]:
        """A program that waits; the one of ``train`` has the recording."""
        files = self._files if folder == "train" else ""
        with served(ScriptedProgram(**options), self.logdir / folder, files=files) as program:
            yield program

    def wait_for_ends(self) -> None:
        """Wait until the server knows that the programs have ended; new pages follow them until then."""
        end = time.monotonic() + _PATIENCE_S
        while any(_is_followed(program) for program in self._programs()):
            assert time.monotonic() < end, "The server follows a program that has ended."
            time.sleep(0.05)

    def _programs(self) -> list[dict]:
        route = f"{self.address}/data/plugin/debugger/live/programs"
        with urllib.request.urlopen(route, timeout=_PATIENCE_S) as answer:
            return json.load(answer)["programs"]


@contextmanager
def live_logdir(recording: Recording, log: Path, **options: object) -> Iterator[LiveLogdir]:
    """End a recording in a folder ``train``, and start a TensorBoard on the folder above."""
    folder = recording.close()
    with tensorboard(folder.parent, log, **options) as address:
        yield LiveLogdir(folder.parent, address, recording.files.prefix)


def _is_followed(program: dict) -> bool:
    return program["state"] is None or program["state"]["phase"] != "ended"


def headline(page: DebuggerPage) -> Locator:
    """Where the bar says what the program does."""
    return page.part("live-headline")


def press(page: DebuggerPage, key: str) -> None:
    """Press a key on the page itself."""
    page.frame.locator("body").press(key)


def check_that_nothing_can_be_commanded(page: DebuggerPage, why: str) -> None:
    """Try the buttons, which say why they are off, the keys, and a breakpoint."""
    for name in ("step", "stepOver", "stepOut", "continue", "pause", "detach", "stop"):
        button = page.part(f"live-{name}")
        expect(button).to_have_attribute("aria-disabled", "true")
        expect(button).to_have_attribute("title", why)
        button.click(force=True)
    for key in ("F8", "F9", "F10", "F11", "Shift+F11"):
        press(page, key)
    page.part("dock-tab-breakpoints").click()
    page.part("breakpoint-text").fill("Log")
    expect(page.part("breakpoint-add")).to_be_disabled()
