"""Reads a test's recording with TensorFlow's own reader, and compares the result with that of our reader."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path

from tb_debugger_plugin.events import fileset
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, METADATA, TAILED, FileSet


def check_every_file_set_below(folder: Path) -> int:
    """Check all file sets in a folder and the folders below it, and return their number.

    Raises:
      AssertionError: The two readers give different results.
    """
    roots = {path.parent for path in folder.rglob(f"*.{METADATA}")}
    sets = [files for root in sorted(roots) for files in fileset.find_file_sets(root)]
    for files in sets:
        _check(files)
    return len(sets)


def _check(files: FileSet) -> None:
    # TensorFlow's reader requires a folder with one run, and it does not read tail files.
    with tempfile.TemporaryDirectory() as alone:
        for suffix in fileset.SUFFIXES:
            if files.path(suffix).exists():
                os.symlink(files.path(suffix), Path(alone, files.path(suffix).name))
        theirs = _read_by_tensorflow(alone)
    ours = {suffix: _events(files, suffix) for suffix in TAILED}
    if any(files.tail_path(suffix).exists() for suffix in TAILED):
        # The program was killed: the newest records are not in the files that TensorFlow reads.
        ours = {suffix: events[: len(theirs[suffix])] for suffix, events in ours.items()}
    assert theirs == ours


def _read_by_tensorflow(folder: str) -> dict[str, list[tuple[str, str, int]]]:
    """Returns what `_events` returns; also reads everything that the reader can look up for a record."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TensorFlow's imports warn.
        from tensorflow.python.debug.lib import debug_events_reader

    with debug_events_reader.DebugDataReader(folder) as reader:
        reader.update()
        executions, traces = reader.executions(), reader.graph_execution_traces()
        for execution in executions:
            reader.read_execution_stack_trace(execution)
        for trace in traces:
            digest = reader.graph_by_id(trace.graph_id).get_op_creation_digest(trace.op_name)
            reader.read_graph_op_creation_stack_trace(digest)
        return {
            EXECUTION: [(e.op_type, e.graph_id or "", e.num_outputs) for e in executions],
            GRAPH_EXECUTION_TRACES: [(t.graph_id, t.op_name, t.output_slot) for t in traces],
        }


def _events(files: FileSet, suffix: str) -> list[tuple[str, str, int]]:
    events = [record.event for record in fileset.read_with_tail(files, suffix).records]
    if suffix == EXECUTION:
        return [(e.execution.op_type, e.execution.graph_id, e.execution.num_outputs) for e in events]
    traces = [event.graph_execution_trace for event in events]
    return [(trace.tfdbg_context_id, trace.op_name, trace.output_slot) for trace in traces]
