"""Describes the gate: where threads that compute tensors of graphs are held.

A watch op asks the gate of its recording after it has recorded a tensor. The gate holds the thread when a
rule fits, or when the next tensor is wanted. While one thread is held, the other threads that reach a watch
op wait too; threads of input pipelines go on, unless a rule stops them. One thread of Python waits for hits
and lets go.

Invariants: a held thread holds neither the GIL nor a lock that Python code can need. After `close()`, and in
a forked child, no thread is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from tb_debugger_plugin.native.structs import NO_CALL, GateCounts, GateHit, GateRule, Passed


@runtime_checkable
class HeldElements(Protocol):
    """The elements of a tensor that is held. A numeric one has the buffer protocol: `memoryview(elements)`.

    The view is of bytes, read-only, row by row, as TensorFlow has them in memory; nothing is copied. It stays
    valid as long as this object.
    """

    @property
    def dtype(self) -> int:
        """TensorFlow's DataType number."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""

    @property
    def num_bytes(self) -> int:
        """Bytes in memory; for strings, of their contents."""

    def strings(self, begin: int, end: int) -> list[bytes]:
        """Return some elements of a tensor of strings.

        Raises:
          TypeError: The tensor has no strings.
        """


class Gate(Protocol):
    """The gate of a recording. Thread-safe. No method waits for a thread of the program but `wait`."""

    def set_rules(self, rules: Sequence[GateRule]) -> None:
        """Replace all rules. Hits are counted anew; of equal rules (all fields) they go on.

        Raises:
          ValueError: A condition is not well-formed.
        """

    def stop_at_next(self, wanted: bool) -> None:
        """Choose whether the next tensor stops its thread, not in input pipelines. A hit ends the wish."""

    def wait(self, timeout: float) -> GateHit | None:
        """Wait for a hit that no earlier call has returned, without the GIL; None after `timeout` seconds.

        Returns None at once after `close()`.
        """

    def release(self, hit_number: int) -> bool:
        """Let the thread of a hit go on; False if it is not held. Others then stop where rules say so."""

    def let_all_pass(self) -> None:
        """Remove the rules and the wish for the next tensor, and let all threads go on."""

    def close(self) -> None:
        """Let all threads go on, for ever, and forget all values."""

    def hold_values(self, max_bytes: int) -> None:
        """Note what passes from now on, and hold its values up to a limit; 0: nothing from now on."""

    def begin_run(self, call: int) -> None:
        """Announce that this thread is about to run a graph for a call, so that its tensors are known.

        Waits, 0.1 s at most, while another graph runs of which no tensor has passed. Two graphs that begin
        together cannot be told apart: their tensors have `NO_CALL`.

        Args:
          call: The number of the call, from 0.
        """

    def end_run(self, call: int) -> None:
        """Announce that the graph has run."""

    def forget_values(self, calls: Sequence[int] = ()) -> None:
        """Forget what passed so far: a new call begins. The tensor of a held thread stays.

        Args:
          calls: Calls that go on. Their tensors stay.
        """

    def tensors(self, after: int = 0, limit: int = 1000, call: int = NO_CALL) -> list[Passed]:
        """Return what passed with a number above `after`, oldest first.

        At most 100,000 are noted; then the oldest are forgotten.

        Args:
          after: The number.
          limit: Most tensors that are returned.
          call: Only tensors of this call, and those whose call is not known; `NO_CALL` for all.
        """

    def elements(self, number: int) -> HeldElements | None:
        """Return the elements of a tensor that passed; None if they are not held."""

    def replace(self, hit_number: int, data: bytes | bytearray | memoryview) -> None:
        """Give the consumers of the tensor at which a thread is held another value. The last one counts.

        Args:
          hit_number: The hit.
          data: Elements of the same dtype and shape, row by row.

        Raises:
          ValueError: The data have another size.
          RuntimeError: No thread is held there, or the value cannot be changed.
        """

    def counts(self, call: int = NO_CALL) -> GateCounts:
        """Return the counts now.

        Args:
          call: The call of which `passed` counts the tensors; see `tensors`.
        """

    @property
    def hit(self) -> GateHit | None:
        """The hit at which a thread is held."""

    @property
    def held_calls(self) -> Sequence[int]:
        """The call of each thread that waits because another thread is held, or `NO_CALL`."""


class Line(NamedTuple):
    """A line of a source file."""

    path: str
    line: int


class TensorOfGraph(NamedTuple):
    """A watched tensor of a graph, as it is known before the graph runs.

    Attributes:
      tensor_id: The tensor id.
      graph_id: Id of its graph.
      op_name: Name of its op in the graph.
      slot: Number of the output.
      op_type: Type of the op.
      dtype: TensorFlow's DataType number.
      dims: Static shape, -1 for an unknown dimension; None when the rank is not known.
      device: Device that the program asked for; empty when TensorFlow chooses.
      function: Name of its graph: that of the function; empty for the graph of a session.
      layer: Path of the Keras layer; empty if it has none.
      path: File of the innermost line of the program that made the op; empty if not known.
      line: That line.
      is_compiled: Whether XLA compiles its function: a thread stops after the call, without a value.
      in_pipeline: Whether it is part of an input pipeline.
      is_constant: Whether it is a constant, which does not pass the gate.
      is_recorded: Whether it is recorded. Another one passes the gate only with a watch op of its own.
      lines: The lines of the program that led to the op inside of its function, outermost first; in a graph
        of a session, all.
      inputs: Ids of the tensors that its op takes, where they were computed.
    """

    tensor_id: int
    graph_id: str
    op_name: str
    slot: int
    op_type: str
    dtype: int
    dims: tuple[int, ...] | None
    device: str
    function: str
    layer: str
    path: str
    line: int
    is_compiled: bool = False
    in_pipeline: bool = False
    is_constant: bool = False
    is_recorded: bool = True
    lines: tuple[Line, ...] = ()
    inputs: tuple[int, ...] = ()
