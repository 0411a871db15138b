"""`server/forgery.py`: who may read, and who may command programs; and the key in `live/messages/key.py`."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tensorboard.plugins import base_plugin

from tb_debugger_plugin.live.messages.key import KEY_VARIABLE, key_file, notebook_words, users_key
from tb_debugger_plugin.server.forgery import HOSTS_VARIABLE, KEY_HEADER
from tb_debugger_plugin.server.loader import DebuggerLoader
from tests.support.asking import FITTING, Asker, Facts
from tests.support.events import small_program
from tests.support.serving import KEY

_MEANT = {"run": ".", "rule": "InfNanAlert", "reason": "x"}
_UNKNOWN = {"Host": "rebound.example:6006"}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A run."""
    small_program(tmp_path / "logs").close()
    return tmp_path / "logs"


@pytest.fixture
def page(logdir: Path) -> Iterator[Asker]:
    with Asker(logdir) as page:
        yield page


@pytest.fixture
def no_key(monkeypatch, tmp_path) -> Path:
    """No key is chosen; returns the file in which one is kept."""
    monkeypatch.delenv(KEY_VARIABLE)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return key_file()


# The key.


def test_a_random_key_is_kept_in_a_file_that_only_its_user_can_read(no_key):
    key = users_key()
    assert len(key) >= 32 and users_key() == key and no_key.read_text() == key
    assert stat.S_IMODE(no_key.stat().st_mode) == 0o600 and os.listdir(no_key.parent) == [no_key.name]
    no_key.unlink()
    assert users_key() != key


def test_a_chosen_key_comes_first(no_key, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "my-own-key")
    assert users_key() == "my-own-key" and not no_key.exists()


def test_a_chosen_key_that_can_be_guessed_or_does_not_fit_into_an_address_is_not_used(
    no_key, monkeypatch, caplog
):
    for wrong in ("short", "with space", "ä" * 20, "a&b=c#dddd"):
        monkeypatch.setenv(KEY_VARIABLE, wrong)
        assert users_key() == no_key.read_text() != wrong
    assert "TB_DEBUGGER_KEY is not used" in caplog.text


@pytest.mark.parametrize("kind", ["readable", "pipe", "link", "empty", "folder", "below a file"])
def test_a_file_that_somebody_else_may_have_made_is_not_believed(no_key, kind, caplog):
    no_key.parent.mkdir(parents=True)
    known = "known-to-others-for-long"
    if kind == "readable":
        no_key.write_text(known)
        no_key.chmod(0o644)
    elif kind == "pipe":
        os.mkfifo(no_key, 0o600)
    elif kind == "link":
        other = no_key.with_name("other")
        other.write_text(known)
        other.chmod(0o600)
        no_key.symlink_to(other)
    elif kind == "empty":
        no_key.touch(0o600)
    elif kind == "folder":
        no_key.mkdir()
    else:
        no_key.parent.rmdir()
        no_key.parent.write_bytes(b"")
    key = users_key()
    assert key != known and len(key) >= 32 and users_key() != key
    assert "not kept in a file" in caplog.text


def test_a_notebook_is_told_the_key_and_a_terminal_is_not(monkeypatch):
    for shell, expected in ((None, ""), (SimpleNamespace(), ""), (SimpleNamespace(kernel=1), KEY)):
        ipython = SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        assert notebook_words().endswith(expected) and bool(notebook_words()) is bool(expected)


# Who may read.


@pytest.mark.parametrize("path", list(FITTING))
def test_under_a_name_that_another_site_may_have_nothing_is_told(page, path):
    query = {"run": ".", **FITTING[path](Facts("."))}
    response = page.get(path, query, headers=_UNKNOWN)
    assert (response.status_code, HOSTS_VARIABLE in response.json["error"]) == (403, True)
    assert page.get(path, query, headers={**_UNKNOWN, KEY_HEADER: "wrong"}).status_code == 403
    assert page.get(path, query, headers={**_UNKNOWN, KEY_HEADER: KEY}).status_code != 403


@pytest.mark.parametrize(
    "host",
    [
        *("localhost:6006", "127.0.0.1:6006", "[::1]:6006", "10.1.2.3", "x.localhost"),
        *(f"{os.uname().nodename}:80", "proxy.example", "PROXY.example:443"),
    ],
)
def test_known_names_are_answered(page, host, monkeypatch):
    monkeypatch.setenv(HOSTS_VARIABLE, "other.example, Proxy.example")
    assert page.get("/runs", headers={"Host": host}).status_code == 200


def test_the_host_that_tensorboard_listens_at_is_known(logdir):
    with Asker(logdir, SimpleNamespace(host="Board.example")) as page:
        assert page.get("/runs", headers={"Host": "board.example:6006"}).status_code == 200


def test_the_files_of_the_page_are_there_under_any_name_so_that_it_can_say_what_is_wrong(page):
    assert page.get("/index.js", headers=_UNKNOWN).status_code == 200


# Who may command.


def test_no_answer_has_the_key(page):
    for path, make in FITTING.items():
        assert KEY.encode() not in page.get(path, {"run": ".", **make(Facts("."))}).data


@pytest.mark.parametrize("key", ["", "wrong", KEY[:-1], f"{KEY}x", "é"])
def test_without_the_key_nothing_is_changed_and_the_answer_says_that_it_is_needed(logdir, page, key):
    response = page.post("/alerts/allow", _MEANT, key=key)
    assert (response.status_code, response.json["needs_key"]) == (403, True)
    assert not list(logdir.glob("*.toml"))
    assert page.post("/alerts/allow", _MEANT).status_code == 200


@pytest.mark.parametrize(
    "flags, is_open",
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "127.0.0.1"}, True),
        ({"host": "::1"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "192.168.1.2"}, False),
        ({"host": "board.example"}, False),
        ({"bind_all": True}, False),
        ({"bind_all": True, "debugger_allow_commands": True}, True),
        ({"host": "0.0.0.0", "debugger_allow_commands": True}, True),
        ({"debugger_allow_commands": True, "debugger_read_only": True}, False),
    ],
)
def test_beyond_this_machine_commands_are_taken_only_if_they_are_allowed(logdir, capsys, flags, is_open):
    with Asker(logdir, SimpleNamespace(**flags)) as page:
        response = page.post("/alerts/allow", _MEANT)
        listing = page.json("/live/programs")
    assert response.status_code == (200 if is_open else 403)
    assert listing["read_only"] is not is_open
    assert is_open or response.json["error"] == listing["why_read_only"]
    assert (KEY in capsys.readouterr().err) is is_open


def test_the_key_is_printed_at_the_start_and_the_link_at_the_first_request(logdir, capsys):
    with Asker(logdir) as page:
        assert f"Append #debugger&p.debugger.key={KEY} to the address" in capsys.readouterr().err
        page.get("/runs", headers=_UNKNOWN)
        assert capsys.readouterr().err == ""
        for _ in range(2):
            page.get("/runs", headers={"Host": "localhost:6007"})
        said = capsys.readouterr().err
    assert said.count("key=") == 1 and f"http://localhost:6007/#debugger&p.debugger.key={KEY}" in said


def test_the_flags_of_older_command_lines_are_taken(tmp_path, capsys):
    parser, loader = argparse.ArgumentParser(), DebuggerLoader()
    loader.define_flags(parser)
    flags = parser.parse_args(["--debugger_port", "6064"])
    loader.load(base_plugin.TBContext(logdir=str(tmp_path), flags=flags)).close()
    assert "--debugger_port is not needed" in capsys.readouterr().err
