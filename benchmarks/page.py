"""Measures how fast the page is on a long run, beside the built-in plugin on a short one.

    python -m benchmarks.page [--graph-executions 10000000] [--logdir FOLDER] [--scroll-seconds 60]

The long run is the recorded training of a residual network, whose records are repeated; without TensorFlow it
is made. A second run has tensors that were computed 50,000 times, and bad values at its end. Both are indexed
before Chromium opens the page. Times begin with the event that the browser was given, or with the navigation
of the frame, and end when the last change was painted before the page became idle.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import itertools
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from playwright.sync_api import Browser, CDPSession, Frame, Locator, Response, ViewportSize, sync_playwright
from playwright.sync_api import Error as PlaywrightError
from rich.console import Console
from rich.table import Table

from benchmarks import file_sets
from benchmarks.clients import percentiles
from benchmarks.index import record
from tb_debugger_plugin.server.plugin import STATIC
from tests.support.chromium import find_chromium
from tests.support.debugger_page import BROWSER_ARGS, DebuggerPage, open_page
from tests.support.serving import WITH_TENSORFLOW, fetch, tensorboard

LONG: Final = 10_000_000
_OCCURRENCES: Final = 50_000
#: Every tensor of it has all numbers, and is computed once a step.
_CURVES: Final = file_sets.Program(ops=20, files=1, frames=2, trains=True)
_BUILTIN: Final = 200_000
_PATIENCE_S: Final = 600.0
_WINDOW: Final[ViewportSize] = {"width": 1440, "height": 900}
#: The link of a row, which opens the recording.
_LINK: Final = "&p.debugger.trace=0&p.debugger.subject=op"
#: Milliseconds until the built-in plugin has surely shown rows.
_BUILTIN_MS: Final = 120_000
#: What of the memory of a page the browser tells; older ones do not tell all.
_HEAPS: Final = ("usedSize", "embedderHeapUsedSize", "backingStorageSize")
#: How figures of some units are written; others are whole numbers.
_FORMS: Final = {"s": ".2f", "MB": ",.1f"}
#: What memory may differ by after a collection of garbage: nothing that grows with time.
_FLAT_MB: Final = 5
#: Seconds of each measurement of frames.
_FRAMES_S: Final = 5.0
#: Milliseconds from one key to the next.
_KEY_MS: Final = 100
#: Pixels a second of the wheel, and pixels of one gesture.
_SPEED: Final = 3000
_GESTURE: Final = 6000
_FILTERS: Final = (
    *("op=Relu", "op=Conv2D", "op:Grad", "op:^Mul$", "op=AddV2", "name:conv", "name:bn$", "name:block1"),
    *("health:good", "dtype=float32"),
)

#: Notes in every document when parts of the first view are painted, and has `step`, whose promise has the
#: milliseconds from the next click or key until new rows and everything are painted, and `frames`.
_WATCH: Final = """(() => {
  const now = () => performance.now();
  const find = (selector) => document.querySelector(selector);
  const isIdle = () => document.documentElement?.dataset.idle === 'true';
  const soon = (then) => {  // called in a frame, after it was painted
    const channel = new MessageChannel();
    channel.port1.onmessage = then;
    channel.port2.postMessage(null);
  };
  const rows = () => find('.graph-executions .list-rows > :not([data-index])') ? '' :
    [...document.querySelectorAll('.graph-executions .list-rows > *')].map((row) => row.dataset.index).join();
  const bench = (window.bench = { first: {} });

  const PARTS = {
    glance: () => find('[data-testid=glance-verdict]'),
    cause: () => find('[data-testid=first-bad]'),
    rows,
    builtin: () => find('graph-executions-component .graph-execution-index'),
  };
  let missing = Object.keys(PARTS);
  const first = new MutationObserver(() => {
    const found = missing.filter((name) => PARTS[name]());
    missing = missing.filter((name) => !found.includes(name));
    if (found.length > 0) requestAnimationFrame(() => soon(() => {
      for (const name of found) bench.first[name] = now();
    }));
  });
  first.observe(document, { subtree: true, childList: true, attributes: true });

  let isChanged = false;
  const { clearRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    isChanged = true;
    return clearRect.apply(this, box);
  };
  bench.step = (calm) => new Promise((resolve) => {
    first.disconnect();
    const before = rows();
    const seen = { begin: 0, rows: 0, all: 0 };
    const observer = new MutationObserver((changes) => {
      isChanged ||= changes.some(({ attributeName }) => attributeName !== 'data-idle');
    });
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
    const begin = (event) => { seen.begin ||= event.timeStamp; };
    for (const name of ['click', 'keydown']) addEventListener(name, begin, { capture: true });
    isChanged = false;
    let quiet = 0;
    const frame = () => {
      const hasChanged = isChanged && seen.begin > 0;
      quiet = hasChanged || seen.begin === 0 || !isIdle() ? 0 : quiet + 1;
      isChanged = false;
      if (hasChanged) {
        const isNew = seen.rows === 0 && rows() !== '' && rows() !== before;
        soon(() => {
          seen.all = now();
          if (isNew) seen.rows = seen.all;
        });
      }
      if (quiet < calm) return requestAnimationFrame(frame);
      observer.disconnect();
      for (const name of ['click', 'keydown']) removeEventListener(name, begin, { capture: true });
      // A list without rows is an answer, too.
      resolve({ rows: (seen.rows || seen.all) - seen.begin, all: seen.all - seen.begin });
    };
    requestAnimationFrame(frame);
  });

  bench.frames = () => {
    const times = [];
    let isOver = false;
    const frame = (time) => {
      times.push(time);
      if (!isOver) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    return () => {
      isOver = true;
      return times.slice(1).map((time, i) => time - times[i]);
    };
  };
})()"""
_SINCE_WINDOW: Final = "(part) => bench.first[part] + performance.timeOrigin - top.performance.timeOrigin"
#: Frames without a change after which an idle page has painted everything.
_CALM: Final = 4


class Row(NamedTuple):
    """A line of the table.

    Attributes:
      what: What was measured.
      unit: Of the values as they are shown; `frames/s` shows milliseconds of frames as their rate.
      values: What was measured each time.
      bound: The most that the 95th percentile may be, as shown; of frames the least that the 5th may be.
      builtin: The same of the built-in plugin.
    """

    what: str
    unit: str
    values: Sequence[float]
    bound: float | None = None
    builtin: Sequence[float] = ()

    @property
    def is_rate(self) -> bool:
        """Whether more is better."""
        return self.unit == "frames/s"

    def middle_and_far(self, values: Sequence[float]) -> tuple[float, float]:
        """Returns the median and the 95th percentile of values, of frames the 5th, as they are shown."""
        middle, far, _ = percentiles(values if len(values) > 1 else [*values] * 2)
        return (1000 / middle, 1000 / far) if self.is_rate else (middle, far)

    def is_kept(self) -> bool:
        """Whether the bound is kept, or there is none."""
        if self.bound is None or not self.values:
            return True
        _, far = self.middle_and_far(self.values)
        return far >= self.bound if self.is_rate else far <= self.bound


def table(rows: Sequence[Row]) -> Table:
    """Returns the rows as a table; a bound that is not kept is red and has a mark."""
    lines = Table()
    for heading in ("what", "unit", "median", "p95 (frames: p5)", "bound", f"built-in, {_BUILTIN:,}"):
        lines.add_column(heading, justify="left" if heading in ("what", "unit") else "right")
    for row in rows:
        middle, far = _figures(row, row.values)
        bound = "" if row.bound is None else _written(row, row.bound)
        if not row.is_kept():  # one figure is its own percentile
            middle, far = (middle, f"! {far}") if far else (f"! {middle}", "")
        theirs = ", ".join(filter(None, _figures(row, row.builtin)))
        style = "" if row.is_kept() else "red"
        lines.add_row(row.what, row.unit, middle, far, bound, theirs, style=style)
    return lines


def _figures(row: Row, values: Sequence[float]) -> tuple[str, str]:
    """Returns the median and the other percentile, which one value does not have."""
    if not values:
        return "", ""
    middle, far = row.middle_and_far(values)
    return _written(row, middle), _written(row, far) if len(values) > 1 else ""


def _written(row: Row, number: float) -> str:
    return format(number, _FORMS.get(row.unit, ",.0f"))


def make_runs(logdir: Path, count: int) -> None:
    """Write the runs `long` and `curves` into a logdir that lacks them.

    Args:
      logdir: The logdir.
      count: Number of graph executions of the long run.
    """
    long, curves = logdir / "long", logdir / "curves"
    if not long.exists():
        with tempfile.TemporaryDirectory(prefix="tb_debugger_bench_") as folder:
            recording = Path(folder) / "network"
            if record(recording, "keras", "benchmarks.residual", str(recording)):
                file_sets.repeat(recording, long, count)
            else:
                print("TensorFlow and Keras are not there: the long run is made, not recorded.")
                file_sets.write(long, count)
    if not curves.exists():
        file_sets.write(curves, _CURVES.ops * _OCCURRENCES, program=_CURVES)


def warm_up(address: str, run: str) -> int:
    """Let the viewer index a run; returns its number of graph executions."""
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        status, _, body = fetch(f"{address}/data/plugin/debugger/status", {"run": run})
        answer = json.loads(body) if status == 200 else {}
        if answer and answer["loading"] is None:
            return int(answer["num_graph_executions"])
        time.sleep(0.2)
    raise TimeoutError(f"The run {run} was not indexed.")


class Bench:
    """A window with the page, and how it is measured; lives as long as the window."""

    def __init__(self, page: DebuggerPage, address: str, rounds: int) -> None:
        self.page = page
        self._address = address
        self._rounds = rounds
        page.page.context.add_init_script(_WATCH)
        self._cdp: CDPSession = page.page.context.new_cdp_session(page.page)

    def open(self, run: str, more: str = "") -> None:
        """Load the page anew with a run in focus, and wait until it is idle."""
        self.page.page.goto("about:blank")
        self.page.page.goto(f"{self._address}/#debugger&p.debugger.run={run}{more}")
        self._settle()

    def first_view(self, run: str, *parts: str, more: str = "") -> list[float]:
        """Returns the seconds from the navigation of the frame until all these parts are painted."""
        firsts = [frame.evaluate("bench.first") for frame in self._views(run, more)]
        return [max(first[part] for part in parts) / 1000 for first in firsts]

    def first_view_of_window(self, run: str, part: str) -> list[float]:
        """Returns the seconds from the navigation of TensorBoard's window until a part is painted."""
        return [frame.evaluate(_SINCE_WINDOW, part) / 1000 for frame in self._views(run)]

    def _views(self, run: str, more: str = "") -> Iterator[Frame]:
        """Yields the page, opened anew each time; before that it is opened once, so that all is warm."""
        for number in range(self._rounds + 1):
            self.open(run, more)
            if number > 0:
                yield self.page.frame

    def step(self, act: Callable[[], object], what: str = "all") -> float:
        """Returns the milliseconds from the click or key of an act until all, or new `rows`, are painted."""
        frame = self.page.frame
        frame.evaluate(f"() => {{ bench.answer = bench.step({_CALM}); }}")
        act()
        return float(frame.evaluate("bench.answer")[what])

    def focus_changes(self) -> list[float]:
        """Click rows of the list, all over it."""
        rows, times = self.page.part("graph-executions-row"), []
        for number in range(3 * self._rounds):
            if number % 5 == 0:
                scroll(self._cdp, self._list, _GESTURE)
                self._settle()
            times.append(self.step(rows.nth(1 + number % 4).click))
        return times

    def filters(self) -> list[float]:
        """Write filters, until their first rows are painted."""
        field, times = self.page.part("list-filter"), []
        for text in _FILTERS:
            field.fill(text)
            field.press("End")
            self._settle()
            times.append(self.step(lambda: field.press("Enter"), "rows"))
            field.press("Backspace")
        return times

    def sorts(self) -> list[float]:
        """Sort by each column from its head, until the first rows are painted."""
        heads = self.page.frame.locator(".list-head button").all()
        return [self.step(functools.partial(head.press, "Enter"), "rows") for head in heads]

    def curves(self) -> list[float]:
        """Show the curve of one tensor after the other."""
        grid, body, times = self._list, self.page.frame.locator("body"), []
        for number in range(self._rounds + 1):
            grid.press("ArrowDown")
            self._settle()
            took = self.step(lambda: grid.press("v"))
            if number > 0:  # the first one loads the code of charts
                times.append(took)
            body.press("Escape")
            self._settle()
        return times

    def scrolled(self, seconds: float) -> list[float]:
        """Returns the milliseconds of frames while the list is scrolled."""
        return scrolled(self._cdp, self.page.frame, self._list, seconds)

    def timeline_scrolled(self, seconds: float) -> list[float]:
        """Returns the milliseconds of frames while the timeline is scrolled."""
        frame = self.page.frame
        return scrolled(self._cdp, frame, frame.locator(".timeline-boxes"), seconds)

    def curve_zoomed(self, seconds: float) -> list[float]:
        """Returns the milliseconds of frames while a curve is zoomed by keys, in and out in turns."""
        self._list.press("v")
        chart = self.page.part("curve-chart")
        chart.focus()
        with frames(self.page.frame) as times:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for key in "++++0":
                    chart.press(key)
                    self.page.page.wait_for_timeout(_KEY_MS)
        chart.press("Escape")
        return times

    def memory_mb(self) -> float:
        """Returns the megabytes in use after a collection of garbage: objects, elements and arrays."""
        self._cdp.send("HeapProfiler.collectGarbage")
        usage = self._cdp.send("Runtime.getHeapUsage")
        return float(sum(usage.get(part, 0) for part in _HEAPS)) / 1e6

    def scripts(self, run: str) -> list[bytes]:
        """Returns the modules of the page that the first view of a run loads."""
        answers: list[Response] = []

        def keep(response: Response) -> None:
            answers.append(response)

        self.page.page.on("response", keep)
        self.open(run)
        self.page.page.remove_listener("response", keep)
        return [
            each.body() for each in answers if "/plugin/debugger/" in each.url and each.url.endswith(".js")
        ]

    def _settle(self) -> None:
        """Wait until the page is idle."""
        _ = self.page.frame

    @property
    def _list(self) -> Locator:
        return self.page.frame.get_by_role("grid", name="Graph executions")


@contextmanager
def frames(frame: Frame) -> Iterator[list[float]]:
    """Give a list, which has the milliseconds of all frames of the block when it has ended."""
    times: list[float] = []
    frame.evaluate("() => { bench.stop = bench.frames(); }")
    yield times
    times += frame.evaluate("() => { const times = bench.stop(); delete bench.stop; return times; }")


def scrolled(cdp: CDPSession, frame: Frame, where: Locator, seconds: float) -> list[float]:
    """Returns the milliseconds of frames while the wheel turns over an element, down and sometimes up."""
    with frames(frame) as times:
        end = time.monotonic() + seconds
        for way in itertools.cycle((1, 1, 1, -1)):
            scroll(cdp, where, way * _GESTURE)
            if time.monotonic() > end:
                break
    return times


def scroll(cdp: CDPSession, where: Locator, pixels: int) -> None:
    """Turn the wheel over an element, as the browser does it for a hand."""
    box = where.bounding_box()
    assert box is not None
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    how = {"yDistance": -pixels, "speed": _SPEED, "gestureSourceType": "mouse"}
    cdp.send("Input.synthesizeScrollGesture", {**at, **how})


def measure_builtin(browser: Browser, folder: Path, rounds: int) -> dict[str, list[float]]:
    """Returns the seconds of its first `view` and the frames of its `scroll`; nothing if it shows no run."""
    if find_spec("tensorflow") is None:
        print("The built-in plugin was not measured: it needs TensorFlow.")
        return {}
    logdir = folder / "builtin"
    file_sets.write(logdir, _BUILTIN)
    views: list[float] = []
    with tensorboard(logdir, folder / "builtin.txt", program=WITH_TENSORFLOW) as address:
        context = browser.new_context(viewport=_WINDOW)
        context.add_init_script(_WATCH)
        page = context.new_page()
        try:
            for number in range(rounds + 1):
                page.goto("about:blank")
                page.goto(f"{address}/#debugger-v2")
                page.wait_for_function("bench.first.builtin", timeout=_BUILTIN_MS)
                if number > 0:  # it reads the files for the first one
                    views.append(page.evaluate("bench.first.builtin") / 1000)
            viewport = page.locator(".graph-executions-viewport")
            cdp = context.new_cdp_session(page)
            return {"view": views, "scroll": scrolled(cdp, page.main_frame, viewport, _FRAMES_S)}
        except PlaywrightError as error:
            print(f"The built-in plugin was not measured: {error.message}")
            return {}
        finally:
            context.close()


def measure_page(
    browser: Browser, address: str, rounds: int, scroll_seconds: float, builtin: dict[str, list[float]]
) -> list[Row]:
    """Returns the rows of the page.

    Args:
      browser: The browser.
      address: The viewer, warm.
      rounds: How often a view is opened; changes of the focus are three times as many.
      scroll_seconds: How long the list is scrolled between the two looks at memory.
      builtin: What :func:`measure_builtin` returned.
    """
    rows = []
    with open_page(browser, address, **_WINDOW, in_tensorboard=True) as page:
        times = Bench(page, address, rounds).first_view_of_window("long", "glance")
        rows.append(Row("first view in TensorBoard's window", "s", times, None, builtin.get("view", ())))
    with open_page(browser, address, **_WINDOW) as page:
        bench = Bench(page, address, rounds)
        sizes = [len(gzip.compress(body)) / 1000 for body in bench.scripts("long")]
        glance = bench.first_view("long", "glance")
        rows.append(Row("… of the frame: the run at a glance", "s", glance, 1))
        rows.append(Row("… the rows of a link", "s", bench.first_view("long", "rows", more=_LINK), 1))
        rows.append(Row("… the first cause, other run", "s", bench.first_view("curves", "cause", "rows"), 1))
        bench.open("long", _LINK)
        rows.append(Row("change of focus, all sections", "ms", bench.focus_changes(), 100))
        rows.append(Row("filter, first rows", "ms", bench.filters(), 500))
        rows.append(Row("sort, first rows", "ms", bench.sorts(), 500))
        bench.open("long", _LINK)
        before = bench.memory_mb()
        times = bench.scrolled(scroll_seconds)
        after = bench.memory_mb()
        rows.append(Row("scrolling the list", "frames/s", times, 55, builtin.get("scroll", ())))
        bench.open("curves", _LINK)
        rows.append(
            Row("scrolling the timeline, other run", "frames/s", bench.timeline_scrolled(_FRAMES_S), 55)
        )
        rows.append(Row(f"curve of {_OCCURRENCES:,} occurrences", "ms", bench.curves(), 200))
        rows.append(Row("zooming the curve", "frames/s", bench.curve_zoomed(_FRAMES_S), 55))
    script = len(gzip.compress((STATIC / "index.js").read_bytes())) / 1000
    return [
        *rows,
        Row("initial script, gzipped", "kB", [script], 130),
        Row(f"all {len(sizes)} scripts of the first view, gzipped", "kB", [sum(sizes)]),
        Row("memory before scrolling", "MB", [before]),
        Row(f"memory after {scroll_seconds:,.0f} s of scrolling", "MB", [after], before + _FLAT_MB),
    ]


def measure(
    logdir: Path, count: int, rounds: int, scroll_seconds: float, cache: Path | None
) -> tuple[str, list[Row]]:
    """Returns where it was measured, and the rows.

    Args:
      logdir: Where the runs are, or are made.
      count: Number of graph executions of a long run that is made.
      rounds: How often a view is opened.
      scroll_seconds: How long the list is scrolled.
      cache: Where the viewer has its index; None for its own place.
    """
    make_runs(logdir, count)
    environment = {} if cache is None else {"TB_DEBUGGER_CACHE": str(cache)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tb_debugger_bench_")))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(BROWSER_ARGS))
        stack.callback(browser.close)
        builtin = measure_builtin(browser, folder, rounds)
        address = stack.enter_context(tensorboard(logdir, folder / "tensorboard.txt", **environment))
        long, curves = (warm_up(address, run) for run in ("long", "curves"))
        rows = measure_page(browser, address, rounds, scroll_seconds, builtin)
        version = browser.version
    place = (
        f"{date.today()}, {platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.0f}, "
        f"Chromium {version}, {long:,} graph executions, {curves:,} in the other run"
    )
    return place, rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.page",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--graph-executions", type=int, default=LONG)
    parser.add_argument(
        "--logdir", type=Path, help="where the runs are kept, and taken from if they are there"
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--scroll-seconds", type=float, default=60.0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tb_debugger_bench_") as folder:
        given = (args.graph_executions, args.rounds, args.scroll_seconds)
        if args.logdir is not None:
            place, rows = measure(args.logdir, *given, None)
        else:
            place, rows = measure(Path(folder) / "logdir", *given, Path(folder) / "cache")
    # Output into a file has a fixed width, so that no cell is cut at the width of a terminal.
    Console(width=None if sys.stdout.isatty() else 150).print(place, table(rows), sep="\n")


if __name__ == "__main__":
    main()
