"""Measures how fast the page shows a value of 5,000 x 5,000 float32, 100 MB.

    python -m benchmarks.values [--rounds 15]

Records the value, opens it in a window of its own each time, and measures from the click to the picture of
the whole value. Prints also the frames a second while it is moved.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, sync_playwright

from tests.browser.test_values import COUNT_FRAMES
from tests.support.chromium import find_chromium
from tests.support.debugger_page import BROWSER_ARGS, open_page
from tests.support.programs import run_python
from tests.support.serving import tensorboard

#: Clicks the button that opens the value, and waits until the picture of the whole value is painted.
_OPEN: Final = """async button => {
  const begin = performance.now();
  button.click();
  for (;;) {
    await new Promise(requestAnimationFrame);
    const map = document.querySelector("[data-testid=value-map][data-whole=true]");
    if (map !== null) return performance.now() - begin;
  }
}"""


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        logdir = Path(folder) / "logdir"
        run_python("-m", "tests.support.value_program", str(logdir))
        with tensorboard(logdir, Path(folder) / "log.txt") as address, sync_playwright() as playwright:
            path = find_chromium()
            browser = playwright.chromium.launch(executable_path=path, args=list(BROWSER_ARGS))
            _measure(browser, address, rounds)
            browser.close()


def _measure(browser: Browser, address: str, rounds: int) -> None:
    times: list[float] = []
    rates: list[float] = []
    for number in range(rounds):
        with open_page(
            browser, f"{address}/#debugger&p.debugger.execution=1", width=1440, height=900
        ) as page:
            button = page.part("value-button").first
            button.wait_for()
            times.append(button.evaluate(_OPEN))
            if number % 5 == 0:
                rates.append(page.part("value-map").evaluate(COUNT_FRAMES)["rate"])
    later = sorted(times[1:])
    print(
        f"from the click to the picture: first {times[0]:.0f} ms, median {statistics.median(later):.0f} ms,"
    )
    print(f"slowest {later[-1]:.0f} ms; moving: {min(rates):.0f} to {max(rates):.0f} frames a second")


if __name__ == "__main__":
    main()
