"""`live/messages/discovery.py`: the file of a program is private, whole, read strictly, and no recording."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.events.fileset import find_file_sets
from tb_debugger_plugin.index.logdir import one_folder
from tb_debugger_plugin.live.messages import discovery
from tests.support.events import small_program

_SECRET = discovery.new_secret()
_PROGRAM = discovery.LiveProgram(
    address="127.0.0.1:6064",
    secret=_SECRET,
    pid=os.getpid(),
    host=discovery.this_host(),
    program=("train.py", "--steps=5"),
    started=1.5,
    files="tfdbg_events.1.vm.",
)


def _ended_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def _with(folder: Path, **fields: object) -> discovery.LiveFile:
    """Reads a file in which some fields are others."""
    path = discovery.write(folder, _PROGRAM)
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    return discovery.read(path)


def test_what_is_written_is_found(tmp_path):
    path = discovery.write(tmp_path, _PROGRAM)
    assert discovery.find(tmp_path) == [discovery.LiveFile(path, _PROGRAM)]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_only_its_user_can_read_it_whatever_the_umask_is(tmp_path):
    before = os.umask(0)
    try:
        path = discovery.write(tmp_path, _PROGRAM)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_waits_in_its_place_is_replaced_and_not_written_into(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("untouched")
    (tmp_path / _PROGRAM.name).symlink_to(elsewhere)
    path = discovery.write(tmp_path, _PROGRAM)
    assert elsewhere.read_text() == "untouched" and not path.is_symlink()


def test_a_folder_that_cannot_be_written_is_an_error_and_nothing_is_left(tmp_path):
    with pytest.raises(OSError):
        discovery.write(tmp_path / "missing", _PROGRAM)
    assert not list(tmp_path.iterdir())


def test_the_secret_is_in_no_text_of_a_program():
    assert _SECRET not in f"{_PROGRAM} {_PROGRAM!r} {discovery.LiveFile(Path('x'), _PROGRAM)!r}"
    assert _SECRET != discovery.new_secret()


def test_a_file_is_removed_only_by_the_program_that_wrote_it(tmp_path):
    path = discovery.write(tmp_path, _PROGRAM)
    discovery.remove(path, dataclasses.replace(_PROGRAM, secret=discovery.new_secret()))
    assert path.exists()
    discovery.remove(path, _PROGRAM)
    discovery.remove(path, _PROGRAM)
    assert not path.exists()


def test_what_programs_left_that_were_killed_is_removed_by_the_next_one(tmp_path):
    ended = dataclasses.replace(_PROGRAM, pid=_ended_pid())
    elsewhere = dataclasses.replace(_PROGRAM, pid=ended.pid, host="another-host")
    discovery.write(tmp_path, elsewhere)
    left = discovery.write(tmp_path, ended)
    assert discovery.read(left).program == ended and ended.has_ended and not elsewhere.has_ended
    discovery.write(tmp_path, _PROGRAM)
    assert {file.program for file in discovery.find(tmp_path)} == {_PROGRAM, elsewhere}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o610])
def test_a_file_that_others_may_touch_is_left_out(tmp_path, mode):
    path = discovery.write(tmp_path, _PROGRAM)
    path.chmod(mode)
    file = discovery.read(path)
    assert file.program is None and "Other users" in file.problem


def test_a_file_of_another_user_is_left_out(tmp_path, monkeypatch):
    path = discovery.write(tmp_path, _PROGRAM)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    file = discovery.read(path)
    assert file.program is None and "another user" in file.problem


def test_links_pipes_folders_and_missing_files_are_left_out_without_waiting(tmp_path):
    real = discovery.write(tmp_path, _PROGRAM)
    name = dataclasses.replace(_PROGRAM, pid=77).name
    link, pipe = tmp_path / "a" / name, tmp_path / "b" / name
    for path in (link, pipe):
        path.parent.mkdir()
    link.symlink_to(real)
    os.mkfifo(pipe, 0o600)
    folder = tmp_path / name
    folder.mkdir()
    for path in (link, pipe, folder, tmp_path / "c" / name):
        file = discovery.read(path)
        assert file.program is None and file.problem, path


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"[" * 60_000, b"\xff\xfe", b"{}", b'{"version": 2}', b" " * 70_000],
    ids=repr,
)
def test_what_is_no_such_file_is_left_out_with_a_reason(tmp_path, content):
    path = discovery.write(tmp_path, _PROGRAM)
    path.write_bytes(content)
    file = discovery.read(path)
    assert file.program is None and file.problem.endswith(".")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("address", "127.0.0.1"),
        ("address", "127.0.0.1:0"),
        ("address", "127.0.0.1:99999"),
        ("address", "unix:/run/docker.sock"),
        ("address", "host:80/path"),
        ("address", "a b:80"),
        ("address", "host:80\n"),
        ("address", 80),
        ("secret", ""),
        ("secret", "short"),
        ("secret", "x" * 1000),
        ("secret", "Zeilen\n" * 8),
        ("secret", None),
        ("pid", True),
        ("pid", -1),
        ("pid", 1 << 40),
        ("pid", "1"),
        ("host", "../.."),
        ("host", "another"),
        ("program", "train.py"),
        ("program", [1]),
        ("program", ["x"] * 101),
        ("started", "now"),
        ("started", -1),
        ("started", float("nan")),
        ("files", "../x"),
        ("files", None),
        ("version", True),
    ],
)
def test_a_field_that_is_wrong_spoils_the_file(tmp_path, name, value):
    file = _with(tmp_path, **{name: value})
    assert file.program is None and file.problem


def test_further_fields_of_later_versions_do_no_harm(tmp_path):
    assert _with(tmp_path, more="x").program == _PROGRAM


@pytest.mark.parametrize("address", ["127.0.0.1:1", "[::1]:65535", "worker-0.example.org:6064"])
def test_addresses_of_all_kinds_are_read(tmp_path, address):
    file = _with(tmp_path, address=address)
    assert file.program is not None and file.program.address == address


def test_a_folder_with_thousands_of_such_files_is_read_in_part(tmp_path):
    for pid in range(1, 1200):
        (tmp_path / dataclasses.replace(_PROGRAM, pid=pid).name).touch(0o600)
    assert len(discovery.find(tmp_path)) == 1000
    assert discovery.find(tmp_path / "missing") == []


def test_a_very_long_command_line_still_makes_a_file_that_is_read(tmp_path):
    program = dataclasses.replace(_PROGRAM, program=discovery.shortened(["x" * 10_000] * 10_000))
    assert discovery.read(discovery.write(tmp_path, program)).program == program


def test_a_host_with_an_odd_name_makes_a_plain_file_name(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "a/b c\n")
    assert discovery.this_host() == "a_b_c_"


def test_the_index_and_tbdbg_do_not_see_the_file(tmp_path, capsys):
    small_program(tmp_path).close()
    before = one_folder(tmp_path).find_runs()
    path = discovery.write(tmp_path, _PROGRAM)
    (tmp_path / "alone").mkdir()
    alone = discovery.write(tmp_path / "alone", _PROGRAM)
    # A folder without any event file is worth showing: a program may begin there.
    (tmp_path / "alone" / "events.out.tfevents.1.host").touch()
    assert one_folder(tmp_path).find_runs() == before
    assert len(find_file_sets(tmp_path)) == 1 and not find_file_sets(tmp_path / "alone")
    assert not one_folder(tmp_path / "alone").is_worth_showing()
    assert main(["clean", str(tmp_path)]) == 0
    assert path.exists() and alone.exists()
    assert _SECRET not in "".join(capsys.readouterr())
