"""A debugger of few words: joins a program that can be stopped, and says what a script says."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc

from tb_debugger_plugin.live.messages import discovery
from tb_debugger_plugin.live.messages.messages import (
    METHODS,
    SERVICE_NAME,
    Command,
    FollowRequest,
    Message,
)
from tests.support.processes import wait_until

PATIENCE_S = 60


def program_in(folder: Path) -> discovery.LiveProgram:
    """The one program of a folder or of a folder below, as soon as there is one."""
    found: list[discovery.LiveProgram] = []

    def look() -> bool:
        folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
        found[:] = [file.program for each in folders for file in discovery.find(each) if file.program]
        return bool(found)

    assert wait_until(look, PATIENCE_S), f"no program appeared in {folder}"
    (program,) = found
    return program


class LiveClient:
    """A connection to a program, until `close()`.

    Args:
      address: Where the program listens.
      secret: What each call carries; None for no metadata.
    """

    def __init__(self, address: str, secret: str | None) -> None:
        self._metadata = None if secret is None else ((discovery.SECRET_KEY, secret),)
        self.channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self._follows: list[grpc.Call] = []

    def call(self, name: str, request: Message | bytes, timeout: float = PATIENCE_S) -> Any:
        """Call a method; `request` may be bytes. Returns an answer, or an iterator."""
        method = next(method for method in METHODS if method.name == name)
        make = self.channel.unary_stream if method.is_stream else self.channel.unary_unary
        content = request if isinstance(request, bytes) else request.SerializeToString()
        return make(f"/{SERVICE_NAME}/{name}", response_deserializer=method.answer.FromString)(
            content, metadata=self._metadata, timeout=timeout
        )

    def follow(self, name: str = "test") -> Iterator[Message]:
        """The states of the program."""
        states = self.call("Follow", FollowRequest(follower=name))
        self._follows.append(states)
        return states

    def control(self, **command: object) -> Message:
        """Give a command, such as `step={}`."""
        return self.call("Control", Command(**command))

    def close(self) -> None:
        for states in self._follows:
            states.cancel()
        self.channel.close()


class Debugger:
    """Follows a program in a thread, and waits for what a test waits for.

    Args:
      folder: Where the program leaves its file, or a folder above.
    """

    def __init__(self, folder: Path) -> None:
        self.program = program_in(folder)
        self.client = LiveClient(self.program.address, self.program.secret)
        self.states: list[Message] = []
        self._last_pause = 0
        self._new: queue.Queue[Message | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(grpc.RpcError):
            for state in self.client.follow():
                self.states.append(state)
                self._new.put(state)
        self._new.put(None)

    def wait(self, is_it: Callable[[Message], bool]) -> Message:
        """The next state that is what a test waits for."""
        while True:
            state = self._new.get(timeout=PATIENCE_S)
            assert state is not None, f"the program has gone: {self.states[-1:]}"
            if is_it(state):
                return state

    def pause(self) -> Message:
        """The next pause."""
        state = self.wait(lambda state: state.HasField("pause") and state.pause.number > self._last_pause)
        self._last_pause = state.pause.number
        return state

    def control(self, **command: object) -> Message:
        outcome = self.client.control(**command)
        assert outcome.done, outcome.sentence
        return outcome

    def is_over(self) -> bool:
        """Whether the program has ended the connection."""
        self._thread.join(PATIENCE_S)
        return not self._thread.is_alive()

    def close(self) -> None:
        self.client.close()
        self._thread.join(PATIENCE_S)

    def __enter__(self) -> Debugger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
