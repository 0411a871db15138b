"""Measures how soon the page shows where a program was paused.

    python -m benchmarks.live [--steps 100] [--scripted]

Runs a real program with breakpoints, TensorBoard and Chromium, and steps by keyboard. Each step is timed from
the moment at which the program was paused, which it says itself, until the page has painted where it is
paused, and until it has painted all that belongs to it; and from the key to both. `--scripted` puts a script
in the place of TensorFlow, which leaves the times of the viewer and the page.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.table import Table

from tb_debugger_plugin.index.logdir import one_folder
from tb_debugger_plugin.index.run_library import Library
from tb_debugger_plugin.live.messages.discovery import is_live_file
from tb_debugger_plugin.live.messages.messages import Message, State
from tb_debugger_plugin.live.viewer.programs import Programs
from tests.support.chromium import find_chromium
from tests.support.debugger_page import BROWSER_ARGS, DebuggerPage, open_page
from tests.support.live_program import KINDS, LOSS, ScriptedProgram, served
from tests.support.serving import tensorboard

_PATIENCE_S: Final = 120.0
_WARM_UP: Final = 5
#: Seconds until a pause is surely shown; one that has the headline of the pause before cannot be measured.
_SAME_S: Final = 5.0
#: Notes when a new headline of the bar is painted, and when the page is idle again. Nothing polls: a request
#: for each next frame would make the browser paint all the time.
_WATCH: Final = """() => {
  const now = () => (performance.timeOrigin + performance.now()) / 1000;
  const state = (window.benchLive = { headline: '', painted: 0, settled: 0, tell: () => {} });
  const isIdle = () => document.documentElement.dataset.idle === 'true';
  const afterPaint = (then) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = then;
    channel.port2.postMessage(null);
  });
  const look = () => {
    const headline = document.querySelector('[data-testid=live-headline]')?.textContent ?? '';
    if (headline !== state.headline && headline.includes('Paused')) {
      Object.assign(state, { headline, painted: 0, settled: 0 });
      afterPaint(() => { state.painted = now(); });
    }
    if (isIdle() && state.painted && !state.settled) {
      state.settled = -1;
      afterPaint(() => {
        state.settled = isIdle() ? now() : 0;
        if (state.settled) state.tell(state);
        else look();
      });
    }
  };
  const observer = new MutationObserver(look);
  const wanted = { subtree: true, childList: true, characterData: true, attributes: true };
  observer.observe(document.documentElement, wanted);
}"""
#: Begins to wait for a pause; the promise has its times once everything is painted.
_BEGIN: Final = """() => {
  Object.assign(window.benchLive, { painted: 0, settled: 0 });
  window.benchStep = new Promise((resolve) => {
    window.benchLive.tell = ({ painted, settled }) => resolve({ painted, settled });
    setTimeout(() => resolve(null), %d);
  });
}"""


class Step(NamedTuple):
    """Seconds of one step.

    Attributes:
      to_paint: From the pause until the page has painted where it is.
      to_settle: From the pause until the page has painted everything.
      key_to_pause: From the key until the program is paused.
      key_to_paint: From the key until the page has painted where the program is paused.
    """

    to_paint: float
    to_settle: float
    key_to_pause: float
    key_to_paint: float


@contextmanager
def _real_program(logdir: Path) -> Iterator[None]:
    command = [sys.executable, "-m", "benchmarks.live_program", str(logdir / "train")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as program:
        try:
            yield
        finally:
            program.kill()


@contextmanager
def _scripted_program(logdir: Path) -> Iterator[None]:
    with served(ScriptedProgram(ops=(*LOSS, *KINDS)), logdir / "train"):
        yield


@contextmanager
def _followed(logdir: Path) -> Iterator[Programs]:
    library = Library(one_folder(logdir), is_mark=is_live_file)
    programs = Programs(library, follower="benchmark")
    try:
        yield programs
    finally:
        programs.close()
        library.close()


def _state(programs: Programs, after: int) -> Message:
    """The state of the program when it is paused for a time after the one with a number."""
    end, listing = time.monotonic() + _PATIENCE_S, programs.listing()
    while time.monotonic() < end:
        for one in listing.programs:
            state = one.state
            if (
                state is not None
                and state.phase in (State.WAITING, State.PAUSED)
                and state.pause.number > after
            ):
                return state
        listing = programs.listing(listing.version, 1.0)
    raise RuntimeError("The program was not paused.")


def _measure(page: DebuggerPage, programs: Programs, steps: int) -> list[Step]:
    frame, number, measured = page.frame, _state(programs, -1).pause.number, []
    frame.evaluate(_WATCH)
    frame.locator("body").focus()
    for _ in range(steps):
        frame.evaluate(_BEGIN % (1000 * _SAME_S))
        pressed = time.time()
        page.page.keyboard.press("F11")
        state = _state(programs, number)
        number = state.pause.number
        seen = frame.evaluate("window.benchStep")
        if seen is None:  # the headline is the same as at the pause before
            continue
        paused = state.pause.wall_time
        measured.append(
            Step(
                seen["painted"] - paused,
                seen["settled"] - paused,
                paused - pressed,
                seen["painted"] - pressed,
            )
        )
        time.sleep(0.1)  # as a hand at the keyboard
    return measured


def measure(steps: int, *, is_scripted: bool) -> list[Step]:
    """Returns the times of steps.

    Args:
      steps: How many.
      is_scripted: Whether a script takes the place of TensorFlow.
    """
    with ExitStack() as stack:
        logdir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tb_debugger_bench_")))
        (logdir / "train").mkdir()
        stack.enter_context((_scripted_program if is_scripted else _real_program)(logdir))
        programs = stack.enter_context(_followed(logdir))
        _state(programs, -1)
        address = stack.enter_context(tensorboard(logdir, logdir / "tensorboard.txt"))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(BROWSER_ARGS))
        stack.callback(browser.close)
        page = stack.enter_context(open_page(browser, f"{address}/#debugger"))
        page.part("live-headline").wait_for()
        return _measure(page, programs, steps + _WARM_UP)[_WARM_UP:]


def report(steps: Sequence[Step]) -> Table:
    """Returns the times as a table."""
    table = Table(title=f"{len(steps)} steps by keyboard, in ms")
    for heading in ("from", "to", "median", "p95", "longest"):
        table.add_column(heading, justify="left" if heading in ("from", "to") else "right")
    for number, (start, end) in enumerate(_ROWS):
        values = sorted(1000 * step[number] for step in steps)
        p95 = values[min(len(values) - 1, int(0.95 * len(values)))]
        table.add_row(start, end, *(f"{one:.0f}" for one in (statistics.median(values), p95, values[-1])))
    return table


_ROWS: Final = (
    ("pause", "painted"),
    ("pause", "everything painted"),
    ("key", "pause"),
    ("key", "painted"),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--scripted", action="store_true", help="a script in the place of TensorFlow")
    args = parser.parse_args()
    Console().print(report(measure(args.steps, is_scripted=args.scripted)))


if __name__ == "__main__":
    main()
