"""`shell/ui/history.py`: what was typed is found again, by its beginning, and in the next shell."""

from __future__ import annotations

import os
import stat

import pytest

from tb_debugger_plugin.shell.ui.history import MAX_LINES, History, Recall, history_file


def test_lines_are_kept_from_one_shell_to_the_next(tmp_path):
    file = tmp_path / "state" / "history"
    first = History(file)
    for line in ("lt", "pt é:0", "pt é:0", "  ", "lt"):
        first.add(line)
    assert list(History(file).lines()) == ["lt", "pt é:0", "lt"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_two_shells_keep_the_lines_of_both(tmp_path):
    one, other = History(tmp_path / "history"), History(tmp_path / "history")
    one.add("lt")
    other.add("ni")
    assert list(History(tmp_path / "history").lines()) == ["lt", "ni"]


def test_a_long_file_is_shortened(tmp_path):
    file = tmp_path / "history"
    file.write_text("".join(f"pt {number}\n" for number in range(3 * MAX_LINES)), "utf-8")
    lines = History(file).lines()
    assert (len(lines), lines[-1]) == (MAX_LINES, f"pt {3 * MAX_LINES - 1}")
    assert len(file.read_text("utf-8").splitlines()) == MAX_LINES


@pytest.mark.parametrize("content", [b"\xff\xfe\x00lt\n", None])
def test_a_file_that_cannot_be_used_is_no_failure(tmp_path, content):
    file = tmp_path / "history"
    if content is None:
        file.mkdir()  # a folder can be neither read nor written as a file
    else:
        file.write_bytes(content)
    history = History(file)
    history.add("lt")
    assert history.lines()[-1] == "lt"


def test_the_file_is_in_the_folder_of_the_users_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "tb_debugger_plugin" / "shell_history"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert history_file() == tmp_path / ".local" / "state" / "tb_debugger_plugin" / "shell_history"


def test_the_keys_step_through_the_lines_with_the_typed_beginning():
    history = History(None)
    for line in ("pt a:0", "lt", "pt b:0", "pt a:0"):
        history.add(line)
    recall = Recall(history)
    seen = ["p"]
    for step in (recall.older, recall.older, recall.older, recall.newer, recall.newer, recall.newer):
        seen.append(step(seen[-1]))
    assert seen == ["p", "pt a:0", "pt b:0", "pt b:0", "pt a:0", "p", "p"]


def test_an_edited_line_begins_a_new_look():
    history = History(None)
    for line in ("pt a:0", "lt -f x", "lt"):
        history.add(line)
    recall = Recall(history)
    assert recall.older("") == "lt"
    assert recall.older("lt ") == "lt -f x"
    history.add("ni")
    recall.forget()
    assert recall.older("") == "ni"


def test_a_home_that_nobody_may_write_is_no_failure(tmp_path):
    (tmp_path / "file").write_text("", "utf-8")
    history = History(tmp_path / "file" / "folder" / "history")  # there cannot be such a folder
    history.add("lt")
    assert list(history.lines()) == ["lt"] and os.listdir(tmp_path) == ["file"]
