"""`index/logdir.py`: a logdir of several named folders, and the reason why nothing is found in one."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.index.logdir import one_folder, several_folders
from tb_debugger_plugin.index.run_library import Library
from tb_debugger_plugin.index.runs import Problem, find_runs
from tests.support.asking import Asker
from tests.support.events import Recording, small_program


def _locked(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let nobody list a folder, whoever runs this test."""
    scandir = os.scandir

    def refuse(path: str | os.PathLike[str] = ".") -> Iterator[os.DirEntry[str]]:
        if os.fspath(path) == str(folder):
            raise PermissionError(13, "Permission denied", str(folder))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)


def _found(logdir: Path) -> tuple[list[str], list[Problem]]:
    problems: list[Problem] = []
    return [run.name for run in find_runs(logdir, problems.append)], problems


def _asked(logdir: str = "", spec: str = "") -> tuple[bool, dict[str, str], Json]:
    """Whether the tab is active, titles of runs by name, and the answer of the route ``logdir``."""
    with Asker(logdir, flags=argparse.Namespace(logdir_spec=spec)) as asker:
        runs = {name: run["title"] for name, run in asker.json("/runs", {}).items()}
        return asker.plugin.is_active(), runs, asker.json("/logdir", {})


def test_a_folder_that_may_not_be_read_is_named_and_hides_no_other(tmp_path, monkeypatch):
    for name in ("a", "b", "c"):
        Recording(tmp_path / name).close()
    _locked(monkeypatch, tmp_path / "b")
    message = f"{tmp_path / 'b'} cannot be read: Permission denied."
    assert _found(tmp_path) == (["a", "c"], [Problem(str(tmp_path / "b"), message)])


def test_the_command_line_names_it_beside_the_other_runs(tmp_path, monkeypatch, tbdbg):
    for name in ("a", "b"):
        small_program(tmp_path / name).close()
    _locked(monkeypatch, tmp_path / "b")
    said = tbdbg.said("info", tmp_path, "--json", code=0)
    assert list(json.loads(said.out)) == ["a"]
    assert said.err == f"tbdbg: {tmp_path / 'b'} cannot be read: Permission denied.\n"


def test_metadata_that_cannot_be_read_is_named_and_still_a_run(tmp_path):
    metadata = tmp_path / "tfdbg_events.1000.worker0.metadata"
    metadata.symlink_to(metadata)
    names, (problem,) = _found(tmp_path)
    assert names == ["."] and problem.location == str(metadata) and "symbolic links" in problem.message


def test_a_logdir_that_is_not_there_says_so(tmp_path):
    _, (problem,) = _found(tmp_path / "absent")
    assert problem == Problem(str(tmp_path / "absent"), f"{tmp_path / 'absent'} does not exist.", True)
    _, (problem,) = _found(location("memory://absent"))
    assert problem == Problem("memory://absent", "memory://absent does not exist.", True)


def test_the_tab_is_active_when_the_logdir_cannot_be_read_and_says_why(tmp_path, monkeypatch):
    (tmp_path / "logs" / "below").mkdir(parents=True)
    logs = tmp_path / "logs"
    absent = str(tmp_path / "absent")
    active, _, answer = _asked(absent)
    message = f"{absent} does not exist."
    assert active and answer == {"logdir": absent, "problems": [{"location": absent, "message": message}]}
    (logs / "events.out.tfevents.1000.worker0").touch()
    _locked(monkeypatch, logs / "below")
    active, _, answer = _asked(str(logs))
    assert not active and [one["location"] for one in answer["problems"]] == [str(logs / "below")]
    _locked(monkeypatch, logs)
    active, runs, answer = _asked(str(logs))
    message = f"{logs} cannot be read: Permission denied."
    assert active and not runs and answer["problems"] == [{"location": str(logs), "message": message}]


def test_a_service_that_refuses_is_named(monkeypatch):
    class Refusing:
        def _strip_protocol(self, url: str) -> str:
            return url

        def ls(self, url: str, detail: bool) -> None:
            raise RuntimeError("Unable to locate credentials")

    monkeypatch.setattr("tb_debugger_plugin.events.locations._file_system", lambda protocol: Refusing())
    active, runs, answer = _asked("s3://bucket/logs")
    message = "s3://bucket/logs cannot be read: Unable to locate credentials."
    assert active and not runs and [one["message"] for one in answer["problems"]] == [message]


def test_a_service_that_fails_when_it_is_only_named_is_asked_again_when_it_is_read(monkeypatch):
    def refuse(protocol: str) -> None:
        raise RuntimeError("no credentials")

    monkeypatch.setattr("tb_debugger_plugin.events.locations._file_system", refuse)
    _, (problem,) = _found(location("gs://bucket"))
    assert problem.message == "gs://bucket cannot be read: no credentials."


def test_a_url_whose_package_is_missing_is_one_warning_and_a_reason_on_the_page(monkeypatch, caplog):
    def refuse(protocol: str) -> None:
        raise ImportError("Please install gcsfs to access Google Storage")

    monkeypatch.setattr("tb_debugger_plugin.events.locations._file_system", refuse)
    active, runs, answer = _asked("gs://bucket/logs")
    reason = "gs:// cannot be read here: Please install gcsfs to access Google Storage."
    assert active and not runs
    assert answer["problems"] == [{"location": "gs://bucket/logs", "message": reason}]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"The debugger cannot show gs://bucket/logs: {reason}")
    ]


def test_runs_of_several_folders_are_called_by_the_names_of_these(tmp_path):
    for folder, run_id in (("x", "1"), ("y/deep", "2"), ("y/deep", "3"), ("z", "4")):
        small_program(tmp_path / folder, run_id=run_id, start=1000.0 * int(run_id)).close()
    spec = f"first:{tmp_path / 'x'},second:{tmp_path / 'y'},{tmp_path / 'z'},"
    active, runs, answer = _asked(spec=spec)
    names = {"first": "first", "second/deep": "second/deep", "second/deep (2)": "second/deep (2)", ".": "z"}
    assert active and runs == names
    assert answer == {"logdir": spec, "problems": []}
    with Asker("", flags=argparse.Namespace(logdir_spec=spec)) as asker:
        assert asker.json("/status", {"run": "first"})["num_graph_executions"] == 8


def test_several_programs_in_a_named_folder_and_folders_of_one_name_are_all_there(tmp_path):
    for folder, run_id in (("x", "1"), ("x", "2"), ("y", "3")):
        small_program(tmp_path / folder, run_id=run_id, start=1000.0 * int(run_id)).close()
    runs, _ = several_folders(f"a:{tmp_path / 'x'},a:{tmp_path / 'y'}").find_runs()
    assert {name: run.folder.name for name, run in runs.items()} == {"a": "x", "a (2)": "x", "a (3)": "y"}


def test_a_file_of_a_running_program_marks_its_folder_and_is_worth_showing(tmp_path):
    marked = tmp_path / "a" / "deep"
    for folder in (marked, tmp_path / "b"):
        folder.mkdir(parents=True)
        (folder / "notes.txt").touch()
    (tmp_path / "events.out.tfevents.1000.worker0").touch()
    library = Library(one_folder(tmp_path), is_mark=lambda name: name == "mark")
    assert not library.is_active()
    assert library.marked_folders() == []
    (marked / "mark").touch()
    with contextlib.closing(Library(one_folder(tmp_path), is_mark=lambda name: name == "mark")) as library:
        assert library.is_active()
        assert library.marked_folders() == [marked] and library.runs() == {}


@pytest.mark.parametrize(
    ("spec", "roots"),
    [
        ("/a:b", [("", "/a:b")]),
        ("name:/a:b", [("name", "/a:b")]),
        ("memory://a", [("", "memory://a")]),
        ("name:memory://a,b", [("name", "memory://a"), ("", "b")]),
        ("one:/a,two:/a", [("two", "/a")]),
        (",,", []),
    ],
)
def test_a_spec_is_read_as_tensorboard_reads_it(spec, roots):
    assert [(name, str(folder)) for name, folder in several_folders(spec).roots] == roots


def test_one_folder_keeps_its_commas_and_colons():
    assert [(name, str(folder)) for name, folder in one_folder("a:b,c").roots] == [("", "a:b,c")]
