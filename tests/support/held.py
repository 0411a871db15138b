"""Runs programs whose graphs stop at the gate, with a watchdog that lets them go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

from tb_debugger_plugin.capture.gate import Gate, TensorOfGraph
from tb_debugger_plugin.capture.options import make_options
from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.native.structs import GateHit

_Result = TypeVar("_Result")
#: Seconds after which a test counts as hanging; then its gate is closed.
PATIENCE = 120.0
#: Seconds after which a call that has not ended must have hit.
SOON = 30.0


class Program(threading.Thread, Generic[_Result]):
    """A call of the program in a thread of its own.

    Attributes:
      result: What it returned.
      error: What it raised.
    """

    def __init__(self, call: Callable[..., _Result], *arguments: object) -> None:
        super().__init__(daemon=True)
        self._call = call
        self._arguments = arguments
        self.result: _Result | None = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        """Called by the thread."""
        try:
            self.result = self._call(*self._arguments)
        except Exception as error:
            self.error = error

    def returned(self) -> _Result:
        """Wait for the end of the call, and return what it returned."""
        self.join(SOON)
        assert not self.is_alive(), "the program hangs"
        if self.error is not None:
            raise self.error
        return self.result


class Debugger:
    """Controls the program that a recording records.

    Attributes:
      recording: The recording.
      gate: Its gate.
    """

    def __init__(self, recording: Recording) -> None:
        assert recording.gate is not None, "this machine has no native library"
        self.recording = recording
        self.gate: Gate = recording.gate

    def hit(self) -> GateHit:
        """The next hit."""
        hit = self.gate.wait(SOON)
        assert hit is not None, "the program does not stop"
        return hit

    def tensor(self, op_name: str, function: str = "", slot: int = 0) -> TensorOfGraph:
        """The newest watched tensor of an op with this name in a function whose name contains `function`."""
        return [
            tensor
            for tensor in self.recording.watched
            if (tensor.op_name, tensor.slot) == (op_name, slot) and function in tensor.function
        ][-1]

    def start(self, call: Callable[..., _Result], *arguments: object) -> Program[_Result]:
        """Start a call that stops at its first tensor."""
        self.gate.stop_at_next(True)
        return Program(call, *arguments)

    def hits_until_end(
        self, program: Program, *, act: Callable[[GateHit], None] = lambda hit: None, most: int = 1 << 30
    ) -> list[GateHit]:
        """Step through a call: stop at each tensor until the call has ended.

        Args:
          program: The running call; it may have stopped already.
          act: Called at each hit.
          most: Number of hits after which the program runs on.
        """
        hits: list[GateHit] = []
        while program.is_alive() and len(hits) < most:
            self.gate.stop_at_next(True)
            hit = self.gate.wait(0.02)
            if hit is not None:
                hits.append(hit)
                act(hit)
                self.gate.stop_at_next(True)
                assert self.gate.release(hit.number)
        self.gate.let_all_pass()
        return hits


@contextmanager
def debugged(
    folder: Path, mode: str = "FULL_HEALTH", *, patience: float = PATIENCE, **options: object
) -> Iterator[Debugger]:
    """Record interactively, with a gate that is closed when the time is over.

    Args:
      folder: Dump root.
      mode: Name of the mode.
      patience: That time in seconds.
      options: Other arguments of `Options`.
    """
    plain = make_options(
        folder,
        mode,
        -1,
        op_regex=None,
        tensor_dtypes=None,
        function_regex=None,
        name_regex=None,
        every_n_steps=1,
        step_range=None,
        max_tensor_bytes=1 << 20,
        keep_graph_optimizations=False,
    )
    recording = Recording(replace(plain, is_interactive=True, **options))
    try:
        debugger = Debugger(recording)
        watchdog = threading.Timer(patience, debugger.gate.close)
        watchdog.daemon = True
        watchdog.start()
        yield debugger
        watchdog.cancel()
    finally:
        recording.close()
