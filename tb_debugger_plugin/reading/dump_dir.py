"""``DebugDumpDir``: dumped tensors and their graphs, with the methods that scripts for tfdbg v1 use.

Takes a dump folder of tfdbg v1, or a recording of this package. TensorFlow is not needed: values are NumPy
arrays, attributes are TensorBoard's messages. What differs from TensorFlow's class is in the docstrings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.events.dumps.files import CoreMetadata
from tb_debugger_plugin.events.locations import Location, location
from tb_debugger_plugin.index.runs import FoundRun, RunKind
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.debug_graph import node_of
from tb_debugger_plugin.reading.dump_contents import DumpContents
from tb_debugger_plugin.reading.dump_source import DumpSource
from tb_debugger_plugin.reading.dumped_data import DumpedData
from tb_debugger_plugin.reading.dumped_graphs import DumpedGraphs
from tb_debugger_plugin.reading.recording_source import RecordingSource
from tb_debugger_plugin.reading.run import Run

T = TypeVar("T")


class MissingDumpRootError(NotFoundError, FileNotFoundError):
    """There is no folder of the name that was given as a dump root."""


class DebugDumpDir(DumpedData, DumpedGraphs):
    """Dumped tensors and their graphs, as tfdbg v1 gives them to scripts.

    Use::

        dump = DebugDumpDir("dumps/run_1700000000000000_0")
        for datum in dump.find(has_inf_or_nan, first_n=1):
            print(datum.node_name, dump.node_inputs(datum.node_name), datum.get_tensor())

    Of a recording of this package, the graphs of functions take the place of the graphs of devices. A name
    that several of them have is refused: choose a graph with ``graph_id``.

    Args:
      dump_root: The folder of one call of ``Session.run`` (``run_<time>_<counter>``), a session root with
        several, the folder of a recording; or a run from ``open_run``. An empty folder has no dumps.
      partition_graphs: The ``GraphDef`` messages of the call (``RunMetadata.partition_graphs``), for devices
        whose graph is not in the folder.
      validate: Has no effect: the order of the dumps is not checked against the graph.
      call: Of a session root, only this call: its position (-1 is the last one), or the name of its folder.
        None = all calls, of which a tensor has the dumps in order of time.
      graph_id: Of a recording, only this graph; None = all.

    Raises:
      MissingDumpRootError: There is no such folder. It is a `NotFoundError` and an `OSError`.
      NotFoundError: The folder holds no dumps and no recording, or several runs.
      UsageError: There is no such call, or no such graph.
    """

    def __init__(
        self,
        dump_root: str | os.PathLike[str] | Run,
        partition_graphs: Iterable[Any] | None = None,
        validate: bool = True,
        *,
        call: int | str | None = None,
        graph_id: str | None = None,
    ) -> None:
        self._own_run: Run | None = None
        self._python_graph: Any = None
        del validate
        contents = self._open(dump_root, call, graph_id, partition_graphs or ())
        DumpedData.__init__(self, contents)
        DumpedGraphs.__init__(self, contents)

    def _open(
        self,
        source: str | os.PathLike[str] | Run,
        call: int | str | None,
        graph_id: str | None,
        graphs: Iterable[Any],
    ) -> DumpContents:
        if not isinstance(source, Run):
            folder = _existing(source)
            if isinstance(folder, Path) and not any(folder.iterdir()):
                return DumpSource(folder, call)
            found = _only_run(folder)
            if found.kind is not RunKind.DUMPS:
                source = self._own_run = Run(found)
        else:
            with source.snapshot() as snapshot:
                found = snapshot.loader.run
        if found.kind is RunKind.DUMPS:
            if graph_id is not None:
                raise UsageError("A dump folder has no graph ids; choose a call instead.")
            return DumpSource(found.folder, call, graphs)
        if call is not None:
            raise UsageError("Only dump folders of tfdbg v1 have calls; use graph_id to choose a graph.")
        assert isinstance(source, Run)
        return RecordingSource(source, graph_id)

    def close(self) -> None:
        """Close the tables of a recording that this object opened; nothing else needs it."""
        if self._own_run is not None:
            self._own_run.close()

    def __enter__(self) -> DebugDumpDir:
        """Returns this object; the end of the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    # What is known of the program.

    def set_python_graph(self, python_graph: Any) -> None:
        """Take the stacks of nodes from the program's own graph, for dump folders, which hold none.

        Args:
          python_graph: A ``tf.Graph``, or None.
        """
        self._python_graph = python_graph

    @property
    def python_graph(self) -> Any:
        """The graph from :meth:`set_python_graph`."""
        return self._python_graph

    def node_traceback(self, element_name: str) -> tuple[tuple[Any, ...], ...]:
        """Returns the stack that made a node: file, line, function and text of each frame, outermost first.

        Args:
          element_name: A node or a tensor.

        Raises:
          LookupError: No stack is on record; dump folders hold none, see :meth:`set_python_graph`.
          KeyError: There is no such node.
        """
        name = node_of(element_name)
        if self._python_graph is not None:
            made = {op.name: op for op in self._python_graph.get_operations()}
            if name not in made:
                raise KeyError(f"There is no node {name!r} in the graph of the program.")
            return tuple(map(tuple, made[name].traceback))
        frames = self._contents.traceback(name)
        if frames is None:
            raise LookupError(
                f"No stack of {name!r} is on record: dump folders hold none, so give the program's graph to"
                " set_python_graph."
            )
        return frames

    @property
    def core_metadata(self) -> CoreMetadata | list[CoreMetadata]:
        """What TensorFlow counted: one value for one call, else a list."""
        return _single(self._contents.core_metadata)

    @property
    def run_fetches_info(self) -> str | list[str]:
        """The fetches as Python prints them: one text for one call, else a list."""
        return _single(self._contents.fetches)

    @property
    def run_feed_keys_info(self) -> str | list[str]:
        """The names of the feeds as Python prints them: one text for one call, else a list."""
        return _single(self._contents.feeds)


def _existing(source: str | os.PathLike[str]) -> Location:
    folder = location(os.fspath(source))
    if isinstance(folder, Path) and not folder.is_dir():
        raise MissingDumpRootError(f"Debug dump root directory {folder} does not exist.")
    return folder


def _only_run(folder: Location) -> FoundRun:
    return choose.single(folder, choose.all_runs(folder), "its own folder")


def _single(values: list[T]) -> T | list[T]:
    return values[0] if len(values) == 1 else values
