"""A debugger in the process of a program: runs the program in a thread, and steers its controller."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from tb_debugger_plugin.live.messages.messages import Command, Message, State

if TYPE_CHECKING:
    from tb_debugger_plugin.live.program.api import Breakpoints
    from tb_debugger_plugin.live.program.controller import Controller

PAUSED = int(State.PAUSED)
OFF = (int(State.DETACHED), int(State.ENDED))


@contextmanager
def debuggers() -> Iterator[Callable[[Breakpoints], Debugger]]:
    """Yield a function that makes a debugger of a program with breakpoints; both end with the block."""
    with ExitStack() as stack:

        def follow(program: Breakpoints) -> Debugger:
            stack.callback(program.close)
            debugger = Debugger(program.controller)
            stack.callback(debugger.close)
            return debugger

        yield follow


class Debugger:
    """Follows a controller until `close()`.

    Args:
      controller: The controller.
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.number = 0
        self._stack = ExitStack()
        self._stack.enter_context(controller.connected("test"))
        self._threads: list[threading.Thread] = []
        self.errors: list[BaseException] = []
        self.results: list[Any] = []

    def start(self, program: Callable[[], object]) -> None:
        """Run a program in a thread; what it returns is in `results`."""

        def run() -> None:
            try:
                self.results.append(program())
            except BaseException as error:
                self.errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    @property
    def is_running(self) -> bool:
        """Whether a program has not ended."""
        return any(thread.is_alive() for thread in self._threads)

    def do(self, **what: object) -> Message:
        """Give a command, which is obeyed."""
        outcome = self.controller.control(Command(**what))
        assert outcome.done, outcome.sentence
        return outcome

    def paused(self, seconds: float = 60) -> Message:
        """The next pause."""
        version, rounds = 0, 0
        while True:
            state = self.controller.follow(version, 0.5)
            version, rounds = state.version, rounds + 1
            if state.phase == PAUSED and state.pause.number > self.number:
                self.number = state.pause.number
                return state
            assert state.phase not in OFF and rounds < seconds * 2, state
            assert not self.errors, self.errors

    def next(self, **what: object) -> Message:
        """Give a command, `continue_` unless another one is given, and return the next pause."""
        self.do(**(what or {"continue_": {}}))
        return self.paused()

    def rest(self) -> Any:
        """Continue, and wait for the program; returns what the last one returned."""
        self.do(continue_={})
        return self.finished()

    def has_stopped(self, seconds: float = 60) -> bool:
        """Whether the program stops once more before it ends."""
        version, rounds = 0, 0
        while any(thread.is_alive() for thread in self._threads):
            state = self.controller.follow(version, 0.1)
            version, rounds = state.version, rounds + 1
            if state.phase == PAUSED and state.pause.number > self.number:
                self.number = state.pause.number
                return True
            assert rounds < seconds * 10, state
        return False

    def tensors(self) -> list[Message]:
        """The tensors of the current call."""
        return list(self.controller.list_tensors(0, 0).tensors)

    def breakpoint(self, *, condition: str = "", **where: object) -> int:
        """Set a breakpoint."""
        what = {"where": where, "condition": condition, "enabled": True}
        return int(self.do(set_breakpoint=what).breakpoint)

    def finished(self, seconds: float = 60) -> Any:
        """Wait for the program; returns what the last one returned."""
        for thread in self._threads:
            thread.join(seconds)
            assert not thread.is_alive(), self.controller.state()
        assert not self.errors, self.errors
        return self.results[-1]

    def close(self) -> None:
        """Let everything go on."""
        self.controller.detach("The test is over.")
        for thread in self._threads:
            thread.join(60)
        self._stack.close()
