"""Describes what a debugger sees of a recording, and what it may do to it. TensorFlow is not needed here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from tb_debugger_plugin.capture.gate import Gate, TensorOfGraph

if TYPE_CHECKING:
    from tb_debugger_plugin.capture.hooks.sessions import SessionCall


class Observer:
    """What sees a recording, from `Recording.observe` to `Recording.leave`.

    Its own methods do nothing: override those that are needed. Threads of the program call them, without a
    lock of the recording. What they raise, the program gets, except for `at_new_tensors`.

    Attributes:
      sees_eager_ops: Whether `after_eager_op` is called. Of several observers with this or the following,
        only the last one is called.
      sees_graphs: Whether `around_graph` is called.
      sees_session_runs: Whether `around_session_run` is called.
    """

    sees_eager_ops = sees_graphs = sees_session_runs = False

    def before_op(self, op_type: str | bytes, frame: FrameType) -> bool:
        """Take an eager op that runs next, and the frame below which the program makes it.

        Returns whether no more of them need be shown in this thread.
        """
        return True

    def after_eager_op(
        self, op_type: str | bytes, inputs: Sequence[Any], outputs: Sequence[Any], frame: FrameType
    ) -> Sequence[Any] | None:
        """Take an eager op that was recorded. Return as many other outputs for the program, or None."""

    def around_graph(self, run: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function that the program runs from Python, by `run(*args, **kwargs)`; return the result."""
        return run(*args, **kwargs)

    def around_session_run(self, called: SessionCall) -> Any:
        """Run a session, whose run is recorded inside, and return what it returns."""
        return called.run()

    def at_end_of_step(self) -> None:
        """Take the end of a step, which the program marks."""

    def at_new_tensors(self, tensors: Sequence[TensorOfGraph]) -> None:
        """Take the tensors of a graph that gets watch ops, in the thread that makes the graph.

        One may come again, when a function that XLA compiles turns out to contain it.
        """

    def at_end(self) -> None:
        """Take the end of the recording, which begins. This must not wait for a thread that uses it."""


class InteractiveRecording(Protocol):
    """What a `Recording` with `Options.is_interactive` offers to a debugger."""

    @property
    def gate(self) -> Gate | None:
        """The gate; None without the native library."""

    @property
    def watched(self) -> Sequence[TensorOfGraph]:
        """All watched tensors so far. A copy."""

    @property
    def dump_root(self) -> str:
        """The folder of the recording."""

    @property
    def does_not_stop(self) -> str:
        """A sentence on what a debugger cannot stop at, because it was made before; often empty."""

    def note_running_stack(self, frame: FrameType) -> None:
        """Record the running stack of this thread, from its innermost frame, with its sources."""

    def note_changed_value(self, graph_id: str, op_name: str, slot: int, expression: str) -> None:
        """Note that a user has changed a value; see `Recording.note_changed_value`."""

    def observe(self, observer: Observer) -> None:
        """Let an observer see the recording from now on; see `Recording.observe`."""

    def isolate(self, tensor_ids: frozenset[int]) -> frozenset[int]:
        """Give tensors watch ops of their own, for which their consumers wait, from the next call on.

        The functions that have the tensors, and their callers, get new definitions; a function that XLA
        compiles runs uncompiled meanwhile. An empty set restores the plan of the recorder. Call it between
        calls of the program.

        Args:
          tensor_ids: All tensors that are to have such ops; those of the last call that are not among them
            lose theirs.

        Returns:
          The tensors that have them now. Tensors of sessions keep the ops that they have.
        """
