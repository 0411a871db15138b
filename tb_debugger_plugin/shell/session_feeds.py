"""The feeds of recorded runs of sessions: their names, dtypes and shapes."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.reading.run import Run

#: A name in the text that tfdbg v1 writes about feeds.
_NAME: Final = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*:\d+")


class Feed(NamedTuple):
    """A feed.

    Attributes:
      name: The name of the tensor.
      dtype: The name of its dtype; None if it is not on record.
      shape: The shape as a text; None if it is not on record.
      is_recorded: Whether the tensor itself is recorded.
    """

    name: str
    dtype: str | None
    shape: str | None
    is_recorded: bool


def recorded_feeds(run: Run) -> list[Feed]:
    """Return the feeds of all runs of sessions, each dtype and shape once.

    Args:
      run: The run of the recording.
    """
    with run.snapshot() as snapshot:
        catalog = snapshot.catalog
        recorded = {f"{catalog.ops[site.op].name}:{site.slot}" for site in catalog.sites}
        rows = snapshot.rows(
            "SELECT DISTINCT name, dtype, shape FROM session_requests WHERE role = 'feed'"
            " ORDER BY name, dtype, shape"
        )
        feeds = [
            Feed(name, dtype_name(dtype), _shape(snapshot, shape), name in recorded)
            for name, dtype, shape in rows
        ]
        return feeds + [Feed(name, None, None, name in recorded) for name in _of_dumps(snapshot)]


def _shape(snapshot: Snapshot, number: int) -> str | None:
    return snapshot.catalog.shapes[number] if number >= 0 else None


def _of_dumps(snapshot: Snapshot) -> list[str]:
    texts = [
        text for (text,) in snapshot.rows("SELECT DISTINCT feeds FROM dump_calls WHERE feeds IS NOT NULL")
    ]
    return sorted({name for text in texts for name in _NAME.findall(text)})
