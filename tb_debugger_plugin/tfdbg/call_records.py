"""Records a program once, and gives the shell the records of single calls.

One recording is on from the first call to the last. Its circular buffer holds the records of the call at
hand, and is emptied after each call; the shell gets a folder with those of the call at which it opens. So
nothing is written while the program runs, and the time of a call is that of the recorder.

Invariant: the folder of a call holds the graphs that the program has made so far, and no records of other
calls.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from tb_debugger_plugin.capture import api
from tb_debugger_plugin.capture.keep_values import KeepValues
from tb_debugger_plugin.capture.options import make_options
from tb_debugger_plugin.events.framing import frame, read_records
from tb_debugger_plugin.events.messages import DebugEvent
from tb_debugger_plugin.reading.kept_tables import delete_tables
from tb_debugger_plugin.reading.rows import GraphExecution
from tb_debugger_plugin.reading.run import open_run
from tb_debugger_plugin.shell.program import RunRequest

# Leaves out of the recording of a call what the user did not choose: `run --node_name_filter …`.
#
# Everything is recorded, because what is watched cannot change between two calls; this module drops the
# records of other tensors from the folder of the call.


class _Tensor(NamedTuple):
    graph_id: str
    op_name: str
    slot: int


def chooses(request: RunRequest) -> bool:
    """Whether a request chooses tensors by names, op types or dtypes."""
    return any((request.node_names, request.op_types, request.dtypes))


def keep_only_chosen(folder: Path, request: RunRequest) -> None:
    """Drop the records of tensors that a request does not choose.

    Args:
      folder: The folder of a call.
      request: All of its filters have to match, from the beginning.

    Raises:
      OSError: A file cannot be read or written.
    """
    chosen = _chosen(folder, request)
    for path in folder.glob("*.graph_execution_traces"):
        records, _ = read_records(path.read_bytes())
        path.write_bytes(b"".join(frame(record) for _, record in records if _tensor_of(record) in chosen))


def _chosen(folder: Path, request: RunRequest) -> set[_Tensor]:
    with open_run(folder) as run:
        rows = run.graph_executions()
        return {_Tensor(row.graph_id, row.op_name, row.slot) for row in rows if _is_chosen(row, request)}


def _is_chosen(row: GraphExecution, request: RunRequest) -> bool:
    pairs = (
        (request.node_names, row.op_name),
        (request.op_types, row.op_type),
        (request.dtypes, row.dtype),
    )
    return all(pattern is None or re.match(pattern, text or "") for pattern, text in pairs)


def _tensor_of(record: bytes) -> _Tensor:
    trace = DebugEvent.FromString(record).graph_execution_trace
    return _Tensor(trace.tfdbg_context_id, trace.op_name, trace.output_slot)


#: Most records of a call: of one that makes more, the last ones and those around the first bad ones are kept.
MOST_RECORDS: Final = 50_000
#: Which values are kept, by position: bad ones; small ones, always; all, for a call that the user looks at.
KEPT: Final = (
    KeepValues(only_bad=True),
    KeepValues(max_tensor_bytes=16 << 10),
    KeepValues(max_tensor_bytes=4 << 20, max_total_bytes=1 << 30),
)
_WHILE_SEARCHING: Final = (0, 1)
_WHEN_LOOKING: Final = (0, 2)

#: The folder of the recording below the root, beside those of calls.
_WHOLE: Final = "recording"
#: Files that grow with each call, whose records of one call are copied; the others describe the program.
_OF_CALLS: Final = (".execution", ".graph_execution_traces", ".session_runs")
_TAIL: Final = ".tail"


class CallRecords:
    """The recording, from the constructor to `close()`.

    Args:
      root: The folder for all files.
      is_temporary: Whether `close()` deletes it.

    Raises:
      RecordingError: The folder cannot be written.
    """

    def __init__(self, root: Path, *, is_temporary: bool) -> None:
        self._root = root
        self._is_temporary = is_temporary
        self._process = os.getpid()
        self.recording = api.begin(
            make_options(
                root / _WHOLE, "FULL_HEALTH", MOST_RECORDS, keep_values=list(KEPT), is_temporary=is_temporary
            )
        )
        self._sizes: dict[str, int] = {}
        self._bad_before: int | None = None
        self._was_cut = True
        self.forget()  # from now on, graphs record their constants in each call

    @property
    def is_on(self) -> bool:
        """Whether the program is still recorded; it ends when something else begins a recording."""
        return self.recording.on

    def begin(self, request: RunRequest, *, needs_values: bool) -> None:
        """Set what is recorded from now on.

        Args:
          request: What the user wants of the next call.
          needs_values: Whether all values are kept that are not very large.
        """
        if request.is_recorded:
            self.recording.enable_rules(_WHEN_LOOKING if needs_values else _WHILE_SEARCHING)
            self.recording.resume()
        else:
            self.recording.pause()

    def forget(self) -> None:
        """Drop the records of the current call: those of the next call begin here."""
        may_have_written = self._was_cut or self.has_bad is not False
        self.recording.discard()
        if may_have_written:
            self._sizes = self._sizes_now()
        self._bad_before, self._was_cut = self.recording.num_bad(), False

    @property
    def has_bad(self) -> bool | None:
        """Whether the current call has made NaN or infinities; None if that is not known."""
        now = self.recording.num_bad()
        return None if now is None or self._bad_before is None else now > self._bad_before

    def cut(self, number: int, request: RunRequest) -> Path:
        """Write the records of the current call, and return their folder.

        Args:
          number: The number of the call.
          request: Which of its tensors the user wants.

        Raises:
          OSError: They cannot be written.
        """
        self.recording.FlushExecutionFiles()
        self._was_cut = True
        folder = self._root / f"call-{number}"
        folder.mkdir()
        for path in self._files():
            if path.suffix in _OF_CALLS:
                _copy_from(path, self._sizes.get(path.name, 0), folder / path.name)
            elif path.suffix != _TAIL:
                _link(path, folder / path.name)
        if chooses(request):
            keep_only_chosen(folder, request)
            delete_tables(folder)  # those of all records
        return folder

    def drop(self, folder: Path) -> None:
        """Delete the folder of a call, and what was derived from it."""
        delete_tables(folder)
        shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """End the recording; a folder that is temporary is deleted."""
        self.recording.close()
        if self._is_temporary and os.getpid() == self._process:
            self.drop(self._root)

    def _sizes_now(self) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in self._files() if path.suffix in _OF_CALLS}

    def _files(self) -> list[Path]:
        return list((self._root / _WHOLE).iterdir())


def _copy_from(source: Path, begin: int, target: Path) -> None:
    with source.open("rb") as records, target.open("wb") as out:
        records.seek(begin)
        shutil.copyfileobj(records, out)


def _link(source: Path, target: Path) -> None:
    # The recorder only appends to these files, so a link is as good as a copy.
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
