"""The routes of comparisons: where two runs part, and the histories of a tensor in both."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from tb_debugger_plugin.analysis.compare.compare import compare
from tb_debugger_plugin.analysis.compare.histories import histories
from tb_debugger_plugin.analysis.compare.measuring import Settings
from tb_debugger_plugin.analysis.snapshot import Snapshot, open_snapshot
from tb_debugger_plugin.server.columnar import Columnar
from tb_debugger_plugin.server.query import Query
from tb_debugger_plugin.server.viewer import Viewer

#: About how many occurrences of a tensor an answer has.
_OCCURRENCES: Final = 500
_MAX_OCCURRENCES: Final = 5000


@contextlib.contextmanager
def _both(viewer: Viewer, query: Query) -> Iterator[tuple[Snapshot, Snapshot]]:
    library = viewer.run_library
    first, second = library.loader(query.text("run")), library.loader(query.text("other"))
    with open_snapshot(first) as run, open_snapshot(second) as other:
        yield run, other


def _settings(query: Query) -> Settings:
    return Settings(query.optional_number("tolerance"))


def comparison(viewer: Viewer, query: Query) -> Any:
    """Answer where two runs part."""
    settings = _settings(query)
    with _both(viewer, query) as (run, other):
        return compare(run, other, settings).to_json()


def tensor_histories(viewer: Viewer, query: Query) -> Columnar:
    """Answer the occurrences of a tensor in two runs, side by side."""
    with _both(viewer, query) as (run, other):
        found = histories(
            run,
            other,
            graph_execution=query.optional_position("graph_execution"),
            execution=query.optional_position("execution"),
            slot=query.optional_position("slot") or 0,
            most=query.bounded("most", 1, _MAX_OCCURRENCES, _OCCURRENCES),
            settings=_settings(query),
        )
    header = {
        "first": found.first.to_json(),
        "second": None if found.second is None else found.second.to_json(),
        "total": found.total,
        "occurrence": found.occurrence,
        "is_unordered": found.is_unordered,
    }
    return Columnar(header, found.columns)
