"""`live/viewer/programs.py`: which programs are found, and how long each is followed and shown."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.index.logdir import one_folder
from tb_debugger_plugin.index.run_library import Library
from tb_debugger_plugin.live.messages import discovery, messages
from tb_debugger_plugin.live.messages.discovery import is_live_file
from tb_debugger_plugin.live.viewer import programs as programs_module
from tb_debugger_plugin.live.viewer.followed_program import FollowedProgram
from tb_debugger_plugin.live.viewer.programs import Programs
from tests.support.live_program import ScriptedProgram, served

pytestmark = pytest.mark.timeout(60)

_PHASE = messages.State.Phase


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Programs]:
    library = Library(one_folder(tmp_path), is_mark=is_live_file)
    programs = Programs(library, patience=0.5)
    yield programs
    programs.close()
    library.close()


def _until(
    programs: Programs, is_right: Callable[[tuple[FollowedProgram, ...]], bool]
) -> tuple[FollowedProgram, ...]:
    """The programs once they are as wanted."""
    end, listing = time.monotonic() + 20, programs.listing()
    while not is_right(listing.programs):
        assert time.monotonic() < end, [(one.state, one.problem) for one in listing.programs]
        listing = programs.listing(listing.version, 1.0)
    return listing.programs


def _version_at_rest(programs: Programs) -> int:
    """The version after which nothing comes by itself: a program that was just found says more."""
    end, since = time.monotonic() + 20, programs.listing().version
    while (version := programs.listing(since, 0.3).version) != since:
        assert time.monotonic() < end
        since = version
    return since


def _has_states(programs: Sequence[FollowedProgram]) -> bool:
    return bool(programs) and all(one.state is not None for one in programs)


def _write(folder: Path, **fields: object) -> Path:
    """Leaves the file of a program of this process that may not be there."""
    program = discovery.LiveProgram(
        **{
            **{"address": "127.0.0.1:9", "secret": discovery.new_secret(), "pid": os.getpid()},
            **{"host": discovery.this_host(), "program": ("train.py",), "started": 1000.0, "files": ""},
            **fields,
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    return discovery.write(folder, program)


def test_several_programs_are_found_each_with_its_state(found, tmp_path):
    first, second = ScriptedProgram(), ScriptedProgram(name="evaluate")
    with served(first, tmp_path / "a", started=1.0), served(second, tmp_path / "b" / "c", started=2.0):
        newest, oldest = _until(found, lambda some: len(some) == 2 and _has_states(some))
        assert (newest.state.call.name, oldest.state.call.name) == ("evaluate", "loss")
        found.program(oldest.id).service.control(messages.Command(step={}))
        assert first.state().phase == _PHASE.Value("PAUSED")
        assert second.state().phase == _PHASE.Value("WAITING")


def test_a_program_is_followed_only_while_somebody_asks(found, tmp_path):
    with served(ScriptedProgram(), tmp_path) as program:
        _until(found, _has_states)
        assert program.wait_for_followers(1)
        assert program.wait_for_followers(0)
        _until(found, _has_states)
        assert program.wait_for_followers(1)
        time.sleep(0.2)  # nothing changes any more
        thread = threading.Thread(target=found.listing, args=(found.listing().version, 1.5))
        thread.start()
        time.sleep(1.2)  # longer than the patience; a waiting page counts as one that asks
        assert program.followers == 1
        thread.join()
    assert not [one for one in threading.enumerate() if one.name == "scripted-program"]


def test_a_program_that_is_not_followed_can_be_asked(found, tmp_path):
    with served(ScriptedProgram(), tmp_path) as program:
        (one,) = _until(found, _has_states)
        assert program.wait_for_followers(0)
        assert found.program(one.id).service.control(messages.Command(step={})).done


def test_a_program_that_ends_is_shown_for_a_while(found, tmp_path, monkeypatch):
    monkeypatch.setattr(programs_module, "_SHOWN_AFTER_END_S", 1.0)
    with served(ScriptedProgram(), tmp_path):
        (one,) = _until(found, _has_states)
    _until(found, lambda some: some[0].state.phase == _PHASE.Value("ENDED"))
    assert one.state.call.name == "loss" and not one.state.HasField("pause") and one.problem is None
    with pytest.raises(NotFoundError, match="has ended"):
        found.program(one.id)
    _until(found, lambda some: not some)


_KILLED = """
import sys
from pathlib import Path
from tests.support.live_program import ScriptedProgram, served
with served(ScriptedProgram(), Path(sys.argv[1])):
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_program_that_is_killed_is_shown_as_ended_though_its_file_stays(found, tmp_path):
    command = [sys.executable, "-c", _KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        _until(found, _has_states)
        process.kill()
        process.wait()
        _until(found, lambda some: some[0].state.phase == _PHASE.Value("ENDED"))
    assert [path.name for path in tmp_path.iterdir() if is_live_file(path.name)]


def test_a_leftover_of_a_program_that_was_killed_before_is_not_shown(found, tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    _write(tmp_path, pid=process.pid)
    assert found.listing().programs == ()


def test_a_connection_that_was_lost_comes_back(found, tmp_path):
    program = ScriptedProgram()
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    _write(tmp_path, address=f"127.0.0.1:{port}")
    (one,) = _until(found, lambda some: bool(some) and some[0].problem is not None)
    assert one.state is None and one.problem == "The program does not answer; it may have ended."
    with pytest.raises(NotFoundError, match="does not answer"):
        one.service.list_tensors(0, 1)
    program.close()


def test_what_refuses_the_secret_is_shown_with_the_reason(found, tmp_path):
    with served(ScriptedProgram(), tmp_path, started=5.0):
        (file,) = tmp_path.glob("tb_debugger_live.*")
        fields = json.loads(file.read_text())
        file.write_text(json.dumps({**fields, "secret": "x" * 40, "started": 6.0}))
        (one,) = _until(found, lambda some: bool(some) and some[0].problem is not None)
        assert "refuses the secret" in one.problem and one.state is None


def test_something_else_at_the_address_is_shown_as_such(found, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        _write(tmp_path, address=f"127.0.0.1:{other.getsockname()[1]}")
        answering = threading.Thread(target=_answer_as_http, args=(other,), daemon=True)
        answering.start()
        (one,) = _until(found, lambda some: bool(some) and some[0].problem is not None)
        assert one.problem.endswith(".") and one.state is None
    answering.join(5)


def _answer_as_http(listening: socket.socket) -> None:
    try:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    except OSError:
        pass  # the test has ended


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", "\0" * 100, "x" * 100_000, '{"address": "evil.example:1"}', "[" * 50_000],
)
def test_a_file_that_is_odd_is_left_out_with_one_message(found, tmp_path, content, caplog):
    file = tmp_path / f"tb_debugger_live.{discovery.this_host()}.1.json"
    file.write_text(content)
    file.chmod(0o600)
    assert found.listing().programs == ()
    time.sleep(1.1)
    assert found.listing().programs == ()
    assert caplog.text.count("is left out") == 1


def test_a_logdir_full_of_files_is_followed_in_part(found, tmp_path):
    for number in range(80):
        _write(tmp_path, host=f"host{number}", started=float(number))
    assert len(found.listing().programs) == programs_module._MAX_PROGRAMS
    assert sum(one.name.startswith("tb-debugger-follow") for one in threading.enumerate()) <= 64


def test_the_end_of_the_viewer_leaves_no_thread_and_no_follower(tmp_path):
    with served(ScriptedProgram(), tmp_path) as program:
        library = Library(one_folder(tmp_path), is_mark=is_live_file)
        programs = Programs(library)
        _until(programs, _has_states)
        programs.close()
        library.close()
        assert program.wait_for_followers(0)
    names = [one.name for one in threading.enumerate()]
    assert not [name for name in names if name.startswith("tb-debugger-follow") or name == "tb-debugger-live"]


def test_a_step_is_told_once_when_the_program_is_paused_again(found, tmp_path, monkeypatch):
    monkeypatch.setattr(programs_module, "_SOON_S", 30.0)
    with served(ScriptedProgram(), tmp_path):
        (one,) = _until(found, lambda some: _has_states(some) and some[0].state.HasField("pause"))
        before, number = _version_at_rest(found), one.state.pause.number
        one.service.control(messages.Command(step={}))
        (one,) = _until(found, lambda some: some[0].state.pause.number > number)
        assert found.listing().version == before + 1


def test_states_that_come_fast_are_told_at_most_some_times_a_second(found, tmp_path):
    with served(ScriptedProgram(call_seconds=0.0005), tmp_path) as program:
        (one,) = _until(found, _has_states)
        found.program(one.id).service.control(messages.Command(continue_={}))
        _until(found, lambda some: some[0].state.phase == _PHASE.Value("RUNNING"))
        first, start, versions = found.listing().version, time.monotonic(), 0
        while time.monotonic() < start + 1.0:
            listing = found.listing(first, 1.0)
            versions, first = versions + 1, listing.version
        assert 3 <= versions <= 15
        assert program.state().call.number > 20
