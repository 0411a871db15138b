"""The way in which the parts of a run ask its tables."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

from tb_debugger_plugin.analysis.snapshot import Snapshot, open_snapshot
from tb_debugger_plugin.index.loader import RunLoader

T = TypeVar("T")


class Questions:
    """Asks the tables of a run.

    Args:
      loader: Reads the files of the run.
    """

    def __init__(self, loader: RunLoader) -> None:
        self._loader = loader

    def snapshot(self) -> contextlib.AbstractContextManager[Snapshot]:
        """Gives the snapshot of a commit that the functions of ``analysis`` take; for this package only."""
        return open_snapshot(self._loader)

    def _ask(self, question: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        with self.snapshot() as snapshot:
            return question(snapshot, *args, **kwargs)
