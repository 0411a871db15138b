"""Finds the record of the bad values of a recording: their ops, stacks and reasons."""

from __future__ import annotations

import logging
from collections.abc import Callable

from tb_debugger_plugin.capture.alarm import BadValue, BadValueReason
from tb_debugger_plugin.capture.graph_records import GraphRecords
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.own_recording import reason_of, verdict
from tb_debugger_plugin.capture.sinks.protocol import FirstBad, Sink
from tb_debugger_plugin.capture.stacks.frames import StackFrames

_log = logging.getLogger("tb_debugger_plugin")


class BadValues:
    """The bad values of one recording.

    Args:
      options: Those of the recording.
      sink: Counts them.
      graphs: Knows the ops of graphs.
      frames: Knows the lines of stacks.
      write_out: Writes buffered records to the files.
    """

    def __init__(
        self,
        options: Options,
        sink: Sink,
        graphs: GraphRecords,
        frames: StackFrames,
        write_out: Callable[[], None],
    ) -> None:
        self._options = options
        self._sink = sink
        self._graphs = graphs
        self._frames = frames
        self._write_out = write_out

    def log_first(self) -> None:
        """Log what `tbdbg why` says of the recording, which has ended: it names the op, or where to ask."""
        try:
            first = self._sink.first_bad()
            if first is not None:
                self._log_cause(first)
        except Exception as error:  # whatever it is, the program must not see it
            _log.debug("The first bad value cannot be named.", exc_info=error)

    def _log_cause(self, first: FirstBad) -> None:
        root = self._options.dump_root
        said = verdict(root, self._sink.files)
        if said is None:
            kind = first.kind[0].upper() + first.kind[1:]
            _log.warning("%s is on record. `tbdbg why %s` says where it comes from.", kind, root)
        elif said[0] == "expected":
            _log.info("%s: `tbdbg origins %s` says why.", said[1], root)
        else:
            _log.warning("%s. Run `tbdbg why %s` for the reason.", said[1], root)

    def of_ring(self, ring: int) -> BadValue | None:
        """Return the one that rang the alarm; None if it was too long ago.

        Args:
          ring: The number of the ring.
        """
        first = self._sink.ring(ring)
        if first is None:
            return None
        first = self._with_type(first)
        stack = self._frames.of_ids(first.stack)
        return BadValue(first, stack, self._options.dump_root, self._reason_of)

    def _with_type(self, first: FirstBad) -> FirstBad:
        """Return a bad value with the type and the stack of its op, which records of graphs lack."""
        if not first.op_name:
            return first
        op_type, stack = self._graphs.type_and_stack(first.graph_id, first.op_name)
        return first._replace(op_type=op_type, stack=stack)

    def _reason_of(self, bad: BadValue) -> BadValueReason | None:
        self._write_out()
        return reason_of(bad, is_temporary=self._options.is_temporary)
