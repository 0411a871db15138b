"""`live/program/server.py`: who may call, how much at a time, and what a failure or a lost debugger does."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import IO, NamedTuple

import grpc
import pytest

from tb_debugger_plugin.errors import RecordingError
from tb_debugger_plugin.live.messages.discovery import SECRET_KEY, new_secret
from tb_debugger_plugin.live.messages.messages import (
    METHODS,
    SERVICE_NAME,
    Command,
    ElementsRequest,
    EvaluateRequest,
    ListTensorsRequest,
    Message,
    State,
)
from tb_debugger_plugin.live.program import server as server_module
from tb_debugger_plugin.live.program.interface import BreakpointSettings, CallKind, ProgramCall
from tb_debugger_plugin.live.program.server import (
    MAX_CONNECTIONS,
    MAX_FOLLOWERS,
    MAX_MESSAGE_BYTES,
    DaemonThreads,
    Server,
)
from tests.support.checkout import ROOT
from tests.support.fake_controller import FakeController
from tests.support.live_client import LiveClient
from tests.support.processes import wait_until

_SECRET = new_secret()
_REQUESTS = {
    "Follow": b"",
    "Control": Command(step={}).SerializeToString(),
    "ListTensors": b"",
    "ReadElements": ElementsRequest(end=3).SerializeToString(),
    "Evaluate": b"",
}


@pytest.fixture
def controller() -> FakeController:
    return FakeController(BreakpointSettings())


@pytest.fixture
def server(controller: FakeController) -> Iterator[Server]:
    made = Server(controller, _SECRET)
    yield made
    controller.close()
    made.close()


@pytest.fixture
def client(server: Server) -> Iterator[LiveClient]:
    with _client(server, _SECRET) as made:
        yield made


@contextlib.contextmanager
def _client(server: Server, secret: str | None) -> Iterator[LiveClient]:
    with contextlib.closing(LiveClient(f"127.0.0.1:{server.port}", secret)) as made:
        yield made


def _status(client: LiveClient, name: str, request: bytes) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as failure:
        list(answer) if hasattr(answer := client.call(name, request), "__next__") else answer
    return failure.value.code()


def _works(client: LiveClient) -> bool:
    return client.call("Evaluate", EvaluateRequest(expression="1")).text == "1"


# Who may call.


def test_each_method_asks_the_controller(client):
    assert client.control(step={}).done
    tensors = client.call("ListTensors", ListTensorsRequest(after=7, limit=9))
    assert (tensors.call, tensors.total) == (7, 9)
    parts = client.call("ReadElements", ElementsRequest(begin=2, end=5))
    assert b"".join(part.data for part in parts) == bytes([2, 3, 4])
    assert client.call("Evaluate", EvaluateRequest(expression="a + b")).text == "a + b"
    assert next(client.follow()).phase == State.RUNNING


@pytest.mark.parametrize("name", [method.name for method in METHODS])
@pytest.mark.parametrize(
    "secret",
    [None, "", "x", new_secret(), _SECRET[:-1], f"{_SECRET}x"],
    ids=["none", "empty", "short", "another", "cut", "longer"],
)
def test_without_the_secret_no_method_answers(server, controller, name, secret):
    with _client(server, secret) as stranger:
        assert _status(stranger, name, _REQUESTS[name]) is grpc.StatusCode.UNAUTHENTICATED
        assert _status(stranger, name, b"\xff" * 99) is grpc.StatusCode.UNAUTHENTICATED
    assert not controller.log and controller.state().version == 1


@pytest.mark.parametrize(
    ("name", "secrets", "code"),
    [
        ("Evaluate", ("x", _SECRET), grpc.StatusCode.UNAUTHENTICATED),
        ("Shutdown", (_SECRET,), grpc.StatusCode.UNIMPLEMENTED),
    ],
    ids=["two secrets", "a method that is not there"],
)
def test_two_secrets_are_none_and_so_is_a_method_that_is_not_there(client, name, secrets, code):
    call = client.channel.unary_unary(f"/{SERVICE_NAME}/{name}")
    with pytest.raises(grpc.RpcError) as failure:
        call(b"", metadata=tuple((SECRET_KEY, secret) for secret in secrets), timeout=10)
    assert failure.value.code() is code


def test_callers_that_are_refused_make_one_line_of_the_log_without_the_secret(server, caplog):
    with caplog.at_level(logging.DEBUG), _client(server, "wrong" * 9) as stranger:
        for _ in range(20):
            _status(stranger, "Evaluate", b"")
    assert len(caplog.records) == 1
    assert "wrong" * 9 not in caplog.text and _SECRET not in caplog.text


def test_the_secret_is_in_no_text_of_the_server(server):
    assert _SECRET not in f"{server!r} {server}"


def test_it_listens_on_this_machine_only(server):
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for other in others - {"127.0.0.1", "127.0.1.1"}:
        with pytest.raises(OSError), socket.create_connection((other, server.port), 5):
            pass
    with socket.create_connection(("127.0.0.1", server.port), 5):
        pass


def test_an_address_that_is_taken_is_an_error(server, controller):
    with pytest.raises(RecordingError, match="cannot listen"):
        Server(controller, _SECRET, f"127.0.0.1:{server.port}")


# What is wrong with a message.


@pytest.mark.parametrize("name", [method.name for method in METHODS])
def test_a_message_that_cannot_be_read_is_refused_without_a_line_in_the_log(client, name, caplog):
    with caplog.at_level(logging.INFO):
        assert _status(client, name, b"\x0a\xff\xff\xff") is grpc.StatusCode.INVALID_ARGUMENT
    assert not caplog.records and _works(client)


def test_a_message_that_is_too_large_is_refused(client):
    request = EvaluateRequest(expression="x" * MAX_MESSAGE_BYTES).SerializeToString()
    assert _status(client, "Evaluate", request) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert _works(client)


def test_metadata_that_is_too_large_is_refused(server, client):
    with _client(server, "x" * 100_000) as stranger:
        code = _status(stranger, "Evaluate", b"")
    assert code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAUTHENTICATED)
    assert _works(client)


@pytest.mark.parametrize(
    ("tensor", "code"), [(404, grpc.StatusCode.NOT_FOUND), (500, grpc.StatusCode.INTERNAL)]
)
def test_a_failure_of_the_controller_is_a_status_that_does_not_tell_its_text(client, tensor, code, caplog):
    with pytest.raises(grpc.RpcError) as failure, caplog.at_level(logging.INFO):
        list(client.call("ReadElements", ElementsRequest(tensor=tensor, end=1)))
    assert failure.value.code() is code
    assert "a secret of the program" not in failure.value.details() and not caplog.records
    assert _works(client)


@pytest.mark.parametrize(
    "content",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00" * 99, os.urandom(1 << 16), b""],
    ids=["HTTP/1", "TLS", "noise", "nothing"],
)
def test_what_is_not_grpc_is_dropped(server, client, content):
    with socket.create_connection(("127.0.0.1", server.port), 5) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(content)
    assert _works(client)


# How much at a time.


def test_thousands_of_connections_are_refused_and_leave_descriptors_to_the_program(server, client):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))
    before = len(os.listdir("/proc/self/fd"))
    opened: list[socket.socket] = []
    try:
        assert _works(client)
        for _ in range(3000):
            connection = socket.socket()
            connection.settimeout(5)
            opened.append(connection)
            with contextlib.suppress(OSError):
                connection.connect(("127.0.0.1", server.port))
        ours = len(opened)  # the other ends are in this process, too
        assert wait_until(lambda: len(os.listdir("/proc/self/fd")) - before - ours <= MAX_CONNECTIONS + 8, 30)
        assert _works(client)
    finally:
        for connection in opened:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert _works(client)
    with _client(server, _SECRET) as another:
        assert wait_until(lambda: _answers(another), 30)


def _answers(client: LiveClient) -> bool:
    try:
        return _works(client)
    except grpc.RpcError:
        return False


def test_followers_have_an_end_and_leave_room_for_commands(server, client):
    with _client(server, _SECRET) as crowd:
        follows = [crowd.follow(str(number)) for number in range(MAX_FOLLOWERS)]
        for states in follows:
            next(states)
        with pytest.raises(grpc.RpcError) as failure:
            next(client.follow("one more"))
        assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert client.control(step={}).done and _works(client)
    assert wait_until(lambda: _can_follow(client), 30)


def _can_follow(client: LiveClient) -> bool:
    try:
        return next(client.follow()).followers == 1
    except grpc.RpcError:
        return False


def test_a_thousand_calls_at_a_time_are_answered_or_refused(client):
    call = client.channel.unary_unary(f"/{SERVICE_NAME}/Evaluate")
    metadata = ((SECRET_KEY, _SECRET),)
    futures = [call.future(b"", metadata=metadata, timeout=60) for _ in range(1000)]
    codes = {future.code() for future in futures}
    refused = {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE}
    assert codes <= {grpc.StatusCode.OK, *refused} and grpc.StatusCode.OK in codes
    assert wait_until(lambda: _answers(client), 30)


def test_the_threads_of_the_server_are_bounded_and_end_when_they_have_nothing_to_do(monkeypatch):
    monkeypatch.setattr("tb_debugger_plugin.live.program.server._IDLE_S", 0.1)
    threads = DaemonThreads(4, "counted")

    def counted() -> int:
        return sum(thread.name == "counted" for thread in threading.enumerate())

    go = threading.Event()
    futures = [threads.submit(go.wait, 30) for _ in range(50)]
    assert counted() == 4 and all(t.daemon for t in threading.enumerate() if t.name == "counted")
    go.set()
    assert all(future.result(30) for future in futures)
    assert wait_until(lambda: counted() == 0, 30)
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(30)
    threads.shutdown()
    with pytest.raises(RuntimeError):
        threads.submit(print)


# Debuggers that come and go.


def test_a_follower_gets_each_change_until_it_leaves(server, controller, client):
    states = client.follow("page")
    assert next(states).followers == 1
    controller.control(Command(step={}))
    assert next(states).version > 1
    states.cancel()
    assert wait_until(lambda: controller.log == ["+page", "-page"], 10)


def test_a_change_reaches_a_follower_at_once(controller, client):
    states = client.follow()
    seen = next(states).version
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        controller.control(Command(step={}))
        while next(states).version <= seen:
            pass
        times.append(time.perf_counter() - begin)
        seen = controller.state().version
    assert sorted(times)[10] < 0.1


_FOLLOWER = """
import sys, time
from tests.support.live_client import LiveClient
states = LiveClient(sys.argv[1], sys.argv[2]).follow("killed")
print(next(states).followers, flush=True)
for _ in states: pass
"""


@contextlib.contextmanager
def _follower(server: Server) -> Iterator[subprocess.Popen[str]]:
    """A debugger in a process of its own."""
    command = [sys.executable, "-c", _FOLLOWER, f"127.0.0.1:{server.port}", _SECRET]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "1\n"
        yield process


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=lambda how: how.name)
def test_a_debugger_that_is_killed_is_noticed_at_once(server, controller, how):
    with _follower(server) as process:
        process.send_signal(how)
    begin = time.monotonic()
    assert wait_until(lambda: controller.log == ["+killed", "-killed"], 10)
    assert time.monotonic() - begin < 3


def test_a_connection_that_is_reset_in_the_middle_of_a_call_does_no_harm(server, controller, client):
    for _ in range(20):
        connection = socket.create_connection(("127.0.0.1", server.port), 5)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        connection.close()
    assert _works(client)


def test_a_debugger_behind_a_cut_cable_is_noticed(controller, monkeypatch):
    """Its process stops, so that its system acknowledges bytes, but nobody answers pings."""
    for name in ("grpc.keepalive_time_ms", "grpc.keepalive_timeout_ms", "grpc.http2.ping_timeout_ms"):
        monkeypatch.setitem(server_module._OPTIONS, name, 1000)
    server = Server(controller, _SECRET)
    with _follower(server) as process:
        try:
            process.send_signal(signal.SIGSTOP)
            assert wait_until(lambda: controller.log == ["+killed", "-killed"], 30)
        finally:
            process.kill()
            server.close()


def test_a_server_that_closes_ends_the_calls_of_its_debuggers(controller):
    server = Server(controller, _SECRET)
    with _client(server, _SECRET) as client:
        states = client.follow()
        next(states)
        server.close()
        with pytest.raises(grpc.RpcError):
            list(states)
    assert wait_until(lambda: controller.log[-1].startswith("-"), 10)


# The program ends, or forks.

_PROGRAM = """
import os, sys, time
from tb_debugger_plugin.live.program.interface import BreakpointSettings
from tb_debugger_plugin.live.program.server import Server
from tests.support.fake_controller import FakeController
controller = FakeController(BreakpointSettings())
server = Server(controller, sys.argv[1])
print(server.port, flush=True)
while not controller.state().followers: time.sleep(0.01)
"""


class _Followed(NamedTuple):
    process: subprocess.Popen[str]
    said: IO[str]
    port: int
    client: LiveClient
    states: Iterator[Message]


@contextlib.contextmanager
def _program(words: str) -> Iterator[_Followed]:
    """A program, which a debugger follows."""
    command = [sys.executable, "-c", _PROGRAM + words, _SECRET]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with contextlib.closing(LiveClient(f"127.0.0.1:{port}", _SECRET)) as client:
            states = client.follow()
            next(states)
            yield _Followed(process, process.stdout, port, client, states)


def test_a_program_that_ends_does_not_wait_for_its_followers():
    with _program("") as program:
        assert program.process.wait(20) == 0
        with pytest.raises(grpc.RpcError):
            list(program.states)


def test_a_forked_child_keeps_no_socket_of_its_parent():
    words = """
child = os.fork()
if not child:
    server.abandon()
    sys.stdout.write("child\\n")
    sys.stdout.flush()
    time.sleep(60)
    os._exit(0)
sys.stdout.write(f"{child}\\n")
sys.stdout.flush()
os.wait()
"""
    with _program(words) as (process, said, port, client, states):
        (child,) = {said.readline().strip(), said.readline().strip()} - {"child"}
        assert _works(client)
        process.kill()
        with pytest.raises(grpc.RpcError):
            list(states)
        client.close()
        process.wait(30)  # its sockets are not all closed at once
        try:
            with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 5):
                pass
        finally:
            os.kill(int(child), signal.SIGKILL)


def test_forked_children_live_and_die_as_they_like():
    words = """
for _ in range(30):
    child = os.fork()
    if not child:
        server.abandon()
        time.sleep(0.01)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
    with _program(words) as program:
        assert program.process.wait(60) == 0


# A call of a program.


def test_the_facts_of_a_call_are_found_when_they_are_asked_for_and_never_fail():
    asked: list[str] = []

    def fails() -> tuple[str, int]:
        asked.append("place")
        raise RuntimeError("objects of the program may do anything")

    call = ProgramCall(3, CallKind.STEP, "step 3", thread="main", find_place=fails)
    assert not asked
    message = call.message(is_over=True)
    assert (message.number, message.name, message.path, message.is_over) == (3, "step 3", "", True)
    call.message()
    assert asked == ["place"]
    call.finish()
    assert call.function is None
