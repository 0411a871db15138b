"""Calls the service of one program that can be stopped.

Takes what the program's file says of it. Each call carries the secret, has a deadline, and takes a bounded
answer. A program that does not answer, or not as it should, is a :class:`QueryError` with a sentence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol

import grpc

from tb_debugger_plugin.errors import BadQueryError, NotFoundError, NotReadyError, QueryError
from tb_debugger_plugin.live.messages import messages
from tb_debugger_plugin.live.messages.discovery import SECRET_KEY, LiveProgram
from tb_debugger_plugin.live.messages.messages import Message

#: Bytes of one message.
_MAX_MESSAGE: Final = 8 << 20
_MAX_SENTENCE: Final = 1000
#: Seconds that a call may take.
_CONTROL_S: Final = 10.0
_LIST_S: Final = 20.0
_READ_S: Final = 30.0
_EVALUATE_S: Final = 60.0
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", _MAX_MESSAGE),
    ("grpc.max_send_message_length", _MAX_MESSAGE),
    # The secret is for the program alone.
    ("grpc.enable_http_proxy", 0),
    # Two channels to one address are two connections, so that a long answer does not hold others up.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # A cable that was pulled out is noticed; without the last two, gRPC waits for a minute.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
)

_CODE: Final = grpc.StatusCode
_GONE: Final = "The program does not answer; it may have ended."
#: By the code of a call that failed: the error, and its sentence if the program's own one is not for users.
_ERRORS: Final[dict[grpc.StatusCode, tuple[type[QueryError], str]]] = {
    _CODE.INVALID_ARGUMENT: (BadQueryError, ""),
    _CODE.NOT_FOUND: (NotFoundError, ""),
    _CODE.FAILED_PRECONDITION: (NotFoundError, ""),
    _CODE.OUT_OF_RANGE: (BadQueryError, ""),
    _CODE.UNAVAILABLE: (NotFoundError, _GONE),
    _CODE.CANCELLED: (NotFoundError, _GONE),
    _CODE.DEADLINE_EXCEEDED: (
        NotReadyError,
        "The program does not answer in time; it may be busy. Try again.",
    ),
    _CODE.UNAUTHENTICATED: (
        NotFoundError,
        "The program refuses the secret of its file: the file is an old one.",
    ),
    _CODE.PERMISSION_DENIED: (NotFoundError, "The program refuses this debugger."),
    _CODE.UNIMPLEMENTED: (
        NotFoundError,
        "What listens at the program's address is no program with breakpoints.",
    ),
}


class Follower(NamedTuple):
    """What follows a program.

    Attributes:
      name: Its name, for the log of the program.
      keep_s: Seconds that a paused program waits at least when it leaves as the last one.
    """

    name: str
    keep_s: float = 0.0


class States(Protocol):
    """The states of a program that is followed."""

    def __iter__(self) -> Iterator[Message]:
        """Yield each state."""
        ...

    def cancel(self) -> object:
        """End the call; any thread may."""
        ...


class Service:
    """The service of one program; connects when it is first called, and lives until :meth:`close`.

    Args:
      program: What the file of the program says. The reader of the file has checked whose file it is.
    """

    def __init__(self, program: LiveProgram) -> None:
        self._metadata = ((SECRET_KEY, program.secret),)
        # With its scheme: a host may have the name of a scheme of gRPC.
        self._channel = grpc.insecure_channel(f"dns:///{program.address}", options=_OPTIONS)
        self._methods = {method.name: self._method(method) for method in messages.METHODS}

    def _method(self, method: messages.Method) -> Callable[..., Message]:
        make = self._channel.unary_stream if method.is_stream else self._channel.unary_unary
        call: Callable[..., Message] = make(
            f"/{messages.SERVICE_NAME}/{method.name}",
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.answer.FromString,
        )
        return call

    def close(self) -> None:
        """End all calls."""
        self._channel.close()

    def follow(self, follower: Follower) -> States:
        """Return the states of the program, from now on; iterating may raise ``grpc.RpcError``.

        Args:
          follower: What follows.
        """
        request = messages.FollowRequest(follower=follower.name, keep_seconds=follower.keep_s)
        states: States = self._methods["Follow"](request, metadata=self._metadata)
        return states

    def control(self, command: Message) -> Message:
        """Return what came of a command.

        Raises:
          QueryError: The program does not answer.
        """
        return self._call("Control", command, _CONTROL_S)

    def list_tensors(self, after: int, limit: int) -> Message:
        """Return tensors of the current call.

        Args:
          after: Only those with a higher number.
          limit: The most tensors.

        Raises:
          QueryError: The program does not answer.
        """
        return self._call("ListTensors", messages.ListTensorsRequest(after=after, limit=limit), _LIST_S)

    def evaluate(self, expression: str) -> Message:
        """Return the result of an expression.

        Raises:
          QueryError: The program does not answer.
        """
        return self._call("Evaluate", messages.EvaluateRequest(expression=expression), _EVALUATE_S)

    def read_elements(self, tensor: int, begin: int, end: int, max_bytes: int) -> bytes:
        """Return the bytes of a range of elements.

        Args:
          tensor: The number of the tensor.
          begin: The first element.
          end: After the last one.
          max_bytes: The most bytes that make sense; more are not waited for.

        Raises:
          QueryError: The program has gone on, does not answer, or sends more bytes.
        """
        request = messages.ElementsRequest(tensor=tensor, begin=begin, end=end)
        data = bytearray()
        with _sentences():
            parts = self._methods["ReadElements"](request, metadata=self._metadata, timeout=_READ_S)
            for part in parts:
                data += part.data
                if len(data) > max_bytes:
                    parts.cancel()
                    raise NotFoundError("The program sends more elements than were asked for.")
        return bytes(data)

    def _call(self, name: str, request: Message, timeout: float) -> Message:
        with _sentences():
            return self._methods[name](request, metadata=self._metadata, timeout=timeout)


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    try:
        yield
    except grpc.RpcError as error:
        raise as_query_error(error) from error
    except ValueError as error:  # the channel was closed meanwhile
        raise NotFoundError(_GONE) from error


def as_query_error(error: grpc.RpcError) -> QueryError:
    """Return the error of a call with a sentence for the user."""
    code, details = error.code(), str(error.details() or "")[:_MAX_SENTENCE]
    kind, sentence = _ERRORS.get(code, (NotFoundError, f"The program cannot answer: {details or code}."))
    return kind(sentence or details or _GONE)
