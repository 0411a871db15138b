"""Which tests `make test` runs, and which are left for `make test-rest`; the order in which files run.

`make test` runs the folders of :data:`FAST`, in processes that never import TensorFlow, and then what
:func:`slow_part` names. ::

    python -m tests.support.suites    # that, one test a line
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from tests.support.checkout import ROOT

#: Folders that need neither TensorFlow nor a browser.
FAST: Final = ("unit", "property", "golden", "rules", "viewer")
#: One test of the page, and one of the recording of the demo.
SMOKE: Final = (
    "tests/browser/test_first_nan.py::test_the_alert_leads_to_the_log_of_the_underflowed_probabilities",
    "tests/demo/test_demo.py::test_without_serving_it_ends_after_the_recording",
)
_DURATIONS: Final = ROOT / "tests" / "durations.json"


@cache
def invariants() -> Mapping[str, str]:
    """The tests of the table of invariants in `docs/architecture.md`, each with what holds."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## Invariants")[2]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", page.partition("\n## ")[0], re.M)
    return {test: what for what, tests in rows for test in re.findall(r"`(tests/[^`]+)`", tests)}


def is_fast(path: str) -> bool:
    """Whether `make test` runs a whole file, by its path in the checkout."""
    return path.startswith(tuple(f"tests/{folder}/" for folder in FAST))


def slow_part() -> list[str]:
    """The tests that `make test` runs of the other folders."""
    return [test for test in (*invariants(), *SMOKE) if not is_fast(test)]


@cache
def durations() -> Mapping[str, float]:
    """Seconds that files took, by their paths in the checkout."""
    found: dict[str, float] = json.loads(_DURATIONS.read_text("utf-8")) if _DURATIONS.exists() else {}
    return found


def store_durations(seconds: Mapping[str, float]) -> None:
    """Keep what files took, beside what is known of others."""
    known = {path: took for path, took in durations().items() if (ROOT / path).exists()}
    rounded = {path: round(took, 1) for path, took in seconds.items()}
    text = json.dumps(dict(sorted({**known, **rounded}.items())), indent=0)
    _DURATIONS.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    print("\n".join(slow_part()))
