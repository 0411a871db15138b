"""Serves the debuggers of a program: checks each call, and asks the controller.

Invariants: a caller without the secret reaches nothing, and is told nothing; the log has one line for all of
them. A message is read only after its caller has been checked. No failure of a call reaches the program. What
callers can take of the program's threads, memory and file descriptors is bounded.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import queue
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias, TypeVar

from google.protobuf.message import DecodeError

from tb_debugger_plugin.errors import DebuggerError, NotFoundError, RecordingError, UsageError
from tb_debugger_plugin.live.messages.discovery import SECRET_KEY
from tb_debugger_plugin.live.messages.messages import METHODS, SERVICE_NAME, Message, Method

if TYPE_CHECKING:
    from tb_debugger_plugin.live.program.controller import Controller

# Imports gRPC without its handlers of forks, unless the program has imported it before or has chosen.
#
# While a server runs, the handlers do nothing in a process that forks, but they start threads in its child,
# and many a child crashes.

_VARIABLE: Final = "GRPC_ENABLE_FORK_SUPPORT"


def _imported() -> object:
    is_chosen = _VARIABLE in os.environ
    os.environ.setdefault(_VARIABLE, "0")
    try:
        import grpc
    finally:
        if not is_chosen:
            del os.environ[_VARIABLE]  # programs that this one starts choose for themselves
    return grpc


if TYPE_CHECKING:
    import grpc
else:
    grpc = _imported()


#: Most bytes of a message from a debugger.
MAX_MESSAGE_BYTES: Final = 1 << 20
#: Most debuggers that follow a program, and most other calls at a time.
MAX_FOLLOWERS, MAX_OTHER_CALLS = 16, 16
#: Most connections; others are closed as soon as they are made.
MAX_CONNECTIONS: Final = 64
#: Seconds after which a follower that has disappeared is noticed, if its connection does not say so.
_FOLLOW_S: Final = 0.5
_NAME_CHARACTERS: Final = 100
#: Most seconds for which a follower that leaves may keep the program paused.
_MOST_KEPT_S: Final = 86_400.0
_Result = TypeVar("_Result")
#: Seconds after which a thread without work ends.
_IDLE_S: Final = 10.0
_OPTIONS: Final = {
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    # A state with all its breakpoints and curves is bounded by the controller.
    "grpc.max_send_message_length": 64 << 20,
    "grpc.max_metadata_size": 8 << 10,
    "grpc.absolute_max_metadata_size": 8 << 10,
    "grpc.max_concurrent_streams": 2 * (MAX_FOLLOWERS + MAX_OTHER_CALLS),
    "grpc.max_allowed_incoming_connections": MAX_CONNECTIONS,
    # Connections that say nothing, and those whose cable is cut.
    "grpc.server_handshake_timeout_ms": 5_000,
    "grpc.max_connection_idle_ms": 60_000,
    "grpc.keepalive_time_ms": 10_000,
    "grpc.keepalive_timeout_ms": 5_000,
    "grpc.http2.ping_timeout_ms": 5_000,
    "grpc.http2.max_pings_without_data": 0,  # no limit: a paused program has nothing else to say
    # Debuggers look in the same way whether the program is there.
    "grpc.http2.min_recv_ping_interval_without_data_ms": 4_000,
    "grpc.so_reuseport": 0,  # else another process could listen at the same port
}
_log = logging.getLogger("tb_debugger_plugin")
_Context: TypeAlias = "grpc.ServicerContext"
#: The status of an error of the controller.
_STATUS_OF: Final = (
    (NotFoundError, grpc.StatusCode.NOT_FOUND),
    (UsageError, grpc.StatusCode.INVALID_ARGUMENT),
    (DebuggerError, grpc.StatusCode.FAILED_PRECONDITION),
)


class DaemonThreads(futures.ThreadPoolExecutor):
    """Runs functions in daemon threads, which are made when they are needed, and end with the program.

    Python waits for the threads of its own pool when it ends; a debugger that follows would keep it alive.

    gRPC wants a pool of Python's class, and calls only `submit` and `shutdown`.

    Args:
      most: Most threads at a time; what comes then waits.
      name: Name of each thread.
    """

    def __init__(self, most: int, name: str) -> None:
        super().__init__(1, name)  # it makes no thread before its own `submit`
        self._most = most
        self._name = name
        self._tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._counts = threading.Lock()  # guards the following fields
        self._num_threads = 0
        self._num_open = 0
        self._is_shut = False

    def submit(
        self, function: Callable[..., _Result], /, *args: object, **kwargs: object
    ) -> futures.Future[_Result]:
        """Run a function in a thread.

        Args:
          function: The function.
          *args: Its arguments.
          **kwargs: The same.

        Raises:
          RuntimeError: The pool is shut.
        """
        future: futures.Future[_Result] = futures.Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    result = function(*args, **kwargs)
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)

        with self._counts:
            if self._is_shut:
                raise RuntimeError("The threads of the debugger's server have ended.")
            self._num_open += 1
            needs_thread = self._num_open > self._num_threads and self._num_threads < self._most
            self._num_threads += needs_thread
        self._tasks.put(run)
        if needs_thread:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more functions; threads end when they have nothing left to do."""
        del wait, cancel_futures
        with self._counts:
            self._is_shut = True

    def _work(self) -> None:
        while True:
            try:
                run = self._tasks.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._counts:
                    if self._num_open < self._num_threads:
                        self._num_threads -= 1
                        return
                continue
            run()
            with self._counts:
                self._num_open -= 1


class Server:
    """Listens from the constructor to `close()`.

    Args:
      controller: Answers.
      secret: What each call must carry.
      address: `host:port`; port 0 is a free one.

    Raises:
      RecordingError: The address cannot be used.

    Attributes:
      port: Where it listens.
    """

    def __init__(self, controller: Controller, secret: str, address: str = "127.0.0.1:0") -> None:
        threads = DaemonThreads(2 * (MAX_FOLLOWERS + MAX_OTHER_CALLS), "tb-debugger-server")
        self._server = grpc.server(
            threads,
            handlers=(_Calls(controller, secret),),
            options=list(_OPTIONS.items()),
            maximum_concurrent_rpcs=2 * (MAX_FOLLOWERS + MAX_OTHER_CALLS),
        )
        self.port = _listen(self._server, address)
        self._server.start()

    def close(self) -> None:
        """End all calls and listen no more."""
        self._server.stop(grace=None)

    def abandon(self) -> None:
        """Let go of everything in a forked child, where no thread of the server runs.

        The child has the sockets of its parent. Debuggers would take it for the parent when that has ended.
        """
        with contextlib.suppress(OSError):
            null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            for descriptor in _open_descriptors():
                if _local_port(descriptor) == self.port:
                    os.dup2(null, descriptor, inheritable=False)
            os.close(null)


def _listen(server: grpc.Server, address: str) -> int:
    try:
        port = server.add_insecure_port(address)
    except RuntimeError:
        port = 0
    if not port:
        raise RecordingError(
            f"The debugger cannot listen at {address}: give another address, or none for a free port of this "
            "machine."
        )
    return int(port)


def _open_descriptors() -> list[int]:
    for folder in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            return [int(name) for name in os.listdir(folder)]
    return []


def _local_port(descriptor: int) -> int:
    """Return the port of a socket; 0 if it is something else."""
    with contextlib.suppress(OSError):
        copy = os.dup(descriptor)
        try:
            with socket.socket(fileno=copy) as opened:
                name = opened.getsockname()
                return int(name[1]) if isinstance(name, tuple) and len(name) >= 2 else 0
        except OSError:
            os.close(copy)
    return 0


class _Calls(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Checks each call and hands it to its method."""

    def __init__(self, controller: Controller, secret: str) -> None:
        self._secret = secret.encode()
        answers = _Answers(controller)
        self._handlers = {
            f"/{SERVICE_NAME}/{method.name}": _handler(method, answers.registry()[method.name])
            for method in METHODS
        }
        self._refuse = grpc.unary_unary_rpc_method_handler(_refused)
        self._lock = threading.Lock()  # guards _was_logged
        self._was_logged = False

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """Return what handles a call."""
        if not self._has_secret(details.invocation_metadata):
            self._log_once()
            return self._refuse
        return self._handlers.get(details.method)

    def _has_secret(self, metadata: Sequence[tuple[str, str | bytes]] | None) -> bool:
        given = [value for key, value in metadata or () if key == SECRET_KEY]
        if len(given) != 1:
            return False
        value = given[0]
        return hmac.compare_digest(value if isinstance(value, bytes) else value.encode(), self._secret)

    def _log_once(self) -> None:
        with self._lock:
            if self._was_logged:
                return
            self._was_logged = True
        _log.warning(
            "The debugger refused a call without the secret of this program. More such calls are refused "
            "without a message."
        )


def _refused(request: bytes, context: _Context) -> NoReturn:
    del request
    context.abort(grpc.StatusCode.UNAUTHENTICATED, "The secret is missing or wrong.")
    raise AssertionError("abort raises")


def _handler(method: Method, answer: Callable[..., Message]) -> object:
    """Return what serves a method: of bytes, since gRPC logs a stack for each unreadable message."""

    def one(content: bytes, context: _Context) -> Message:
        with _statuses(context):
            return answer(_parsed(method, content), context)

    def parts(content: bytes, context: _Context) -> Iterator[Message]:
        with _statuses(context):
            yield from answer(_parsed(method, content), context)

    if method.is_stream:
        return grpc.unary_stream_rpc_method_handler(parts, response_serializer=_serialized)
    return grpc.unary_unary_rpc_method_handler(one, response_serializer=_serialized)


def _serialized(message: Message) -> bytes:
    return bytes(message.SerializeToString())


def _parsed(method: Method, content: bytes) -> Message:
    try:
        return method.request.FromString(content)
    except (DecodeError, RecursionError):
        raise UsageError(f"The request of {method.name} cannot be read.") from None


@contextlib.contextmanager
def _statuses(context: _Context) -> Iterator[None]:
    """End a call with a status that says what went wrong, without a line in the log."""
    try:
        yield
    except DebuggerError as error:
        status, text = next(code for kind, code in _STATUS_OF if isinstance(error, kind)), str(error)
    except _Busy:
        status = grpc.StatusCode.RESOURCE_EXHAUSTED
        text = "The program has too many debuggers or too many calls at a time: try again later."
    except Exception as error:
        _log.debug("A call of a debugger failed:", exc_info=error)
        status, text = grpc.StatusCode.INTERNAL, f"The debugger failed: {type(error).__name__}."
    else:
        return
    context.abort(status, text)


class _Busy(Exception):
    """There are too many calls at a time."""


class _Places:
    """Bounds how many calls there are at a time."""

    def __init__(self, most: int) -> None:
        self._free = threading.BoundedSemaphore(most)

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Take a place inside a block.

        Raises:
          _Busy: There is none.
        """
        if not self._free.acquire(blocking=False):
            raise _Busy
        try:
            yield
        finally:
            self._free.release()


class _Answers:
    """The answers of the methods; each takes a request and the context of its call."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._followers = _Places(MAX_FOLLOWERS)
        self._others = _Places(MAX_OTHER_CALLS)

    def registry(self) -> dict[str, Callable[..., Message]]:
        """Return the answers by method."""
        return {
            "Follow": self._follow,
            "Control": self._one(lambda command: self._controller.control(command)),
            "ListTensors": self._one(lambda asked: self._controller.list_tensors(asked.after, asked.limit)),
            "ReadElements": self._read_elements,
            "Evaluate": self._one(lambda asked: self._controller.evaluate(asked.expression)),
        }

    def _one(self, answer: Callable[[Message], Message]) -> Callable[[Message, _Context], Message]:
        def answer_in_place(request: Message, context: _Context) -> Message:
            del context
            with self._others.one():
                return answer(request)

        return answer_in_place

    def _follow(self, request: Message, context: _Context) -> Iterator[Message]:
        name = request.follower[:_NAME_CHARACTERS]
        keep_s = min(max(0.0, request.keep_seconds), _MOST_KEPT_S)  # NaN is 0
        with self._followers.one(), self._controller.connected(name, keep_s):
            state = self._controller.state()
            yield state
            while context.is_active():
                newer = self._controller.follow(state.version, _FOLLOW_S)
                if newer.version > state.version:
                    state = newer
                    yield state

    def _read_elements(self, request: Message, context: _Context) -> Iterator[Message]:
        answer = next(method.answer for method in METHODS if method.name == "ReadElements")
        with self._others.one():
            for part in self._controller.elements(request.tensor, request.begin, request.end):
                if not context.is_active():
                    return
                yield answer(data=part)
