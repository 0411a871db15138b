"""Describes what a debugger sees of a recording. TensorFlow is not needed here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING

from tb_debugger_plugin.capture.gate import TensorOfGraph

if TYPE_CHECKING:
    from tb_debugger_plugin.capture.hooks.sessions import SessionCall
    from tb_debugger_plugin.capture.tf_types import EagerTensors


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
        self, op_type: str | bytes, inputs: EagerTensors, outputs: EagerTensors, frame: FrameType
    ) -> EagerTensors | None:
        """Take an eager op that was recorded. Return as many other outputs for the program, or None."""

    def around_graph(self, run: Callable[..., object], *args: object, **kwargs: object) -> object:
        """Run a function that the program runs from Python, by `run(*args, **kwargs)`; return the result."""
        return run(*args, **kwargs)

    def around_session_run(self, called: SessionCall) -> object:
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
