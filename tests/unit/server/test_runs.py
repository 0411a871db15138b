"""`server/runs.py`: a list that opens no run; the report and the note are those of `tbdbg`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.beside import MAX_NOTE, note_name
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.index.cache import keep_cache_small
from tb_debugger_plugin.index.runs import find_runs
from tests.support.asking import Asker
from tests.support.events import PATIENCE_S, small_program

_NOTE = "The loss explodes.\n\n<b>Ask</b> Ann & Bob."


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))
    mode = TensorDebugMode.FULL_HEALTH
    small_program(
        tmp_path / "logs" / "train", recorder_version="0.1.0", mode=mode, tensor_debug_mode=mode
    ).close()
    return tmp_path / "logs"


@pytest.fixture
def page(logdir: Path) -> Iterator[Asker]:
    with Asker(logdir) as asker:
        yield asker


def _notes(logdir: Path) -> list[Path]:
    return sorted(logdir.rglob("tbdbg_note*"))


# The list.


def test_the_list_says_mode_size_age_and_processes_of_a_run_that_is_not_open(logdir, page):
    files = [path for path in (logdir / "train").iterdir() if path.is_file()]
    for path in files:
        os.utime(path, (1000, 1000))
    os.utime(files[0], (2000, 2000))
    run = page.json("/runs")["train"]
    assert (run["mode"], run["processes"], run["written"]) == ("FULL_HEALTH", 1, 2000)
    assert run["bytes"] == sum(path.stat().st_size for path in files)
    assert not list((logdir.parent / "cache").glob("*.duckdb"))


def test_a_run_of_tensorflow_has_no_mode_in_its_metadata(tmp_path):
    small_program(tmp_path / "logs").close()
    with Asker(tmp_path / "logs") as page:
        assert page.json("/runs")["."]["mode"] is None


def test_a_run_of_several_processes_counts_them(tmp_path):
    for number in range(3):
        small_program(tmp_path / "logs" / f"host{number}", run_id="job", host=f"worker{number}").close()
    with Asker(tmp_path / "logs") as page:
        assert [run["processes"] for run in page.json("/runs").values()] == [3]


def test_two_hundred_runs_are_listed_without_opening_one(tmp_path):
    small_program(tmp_path / "logs" / "run0").close()
    for number in range(1, 200):
        folder = tmp_path / "logs" / f"run{number}"
        folder.mkdir()
        for path in (tmp_path / "logs" / "run0").iterdir():
            os.link(path, folder / path.name)
    with Asker(tmp_path / "logs") as page:
        runs = page.json("/runs")
        assert len(runs) == 200
        assert not any(page.plugin._viewer.run_library.opened(name) for name in runs)


# The report.


@pytest.mark.parametrize(
    "form, kind, end", [("html", "text/html", "html"), ("markdown", "text/markdown", "md")]
)
def test_the_report_is_that_of_the_command_line_as_a_file(logdir, page, form, kind, end, capsys):
    page.post("/note/write", {"run": "train", "note": _NOTE})
    response = page.get("/report", run="train", format=form)
    assert main(["report", str(logdir), "--format", form]) == 0
    assert response.text == capsys.readouterr().out
    assert (response.status_code, response.mimetype) == (200, kind)
    assert response.headers["Content-Disposition"] == f'attachment; filename="report-train.{end}"'
    assert response.headers["Content-Security-Policy"] == "default-src 'none'"


def test_a_report_has_the_note_as_it_is_now(page):
    assert "explodes" not in page.get("/report", run="train").text
    page.post("/note/write", {"run": "train", "note": _NOTE})
    text = page.get("/report", run="train").text
    assert "The loss explodes.<br><br>&lt;b&gt;Ask&lt;/b&gt; Ann &amp; Bob." in text
    text = page.get("/report", run="train", format="markdown").text
    assert "> The loss explodes.  \n>\n> \\<b\\>Ask\\</b\\> Ann \\& Bob." in text


def test_a_report_of_no_format_is_refused(page):
    assert page.refusal("/report", run="train", format="pdf")[0] == 400
    assert page.refusal("/report", run="absent")[0] == 404


# The note.


def test_a_note_is_a_file_in_the_folder_of_its_run(logdir, page):
    assert page.json("/note", run="train") == {"note": "", "file": _name(logdir), "why_fixed": ""}
    answer = page.post("/note/write", {"run": "train", "note": f"{_NOTE}\r\n\n"})
    assert (answer.status_code, answer.json) == (200, {"file": _name(logdir)})
    (path,) = _notes(logdir)
    assert (path.parent.name, path.read_text("utf-8")) == ("train", f"{_NOTE}\n")
    assert page.json("/note", run="train")["note"] == _NOTE
    # Somebody has seen no note, and does not overwrite this one.
    answer = page.post("/note/write", {"run": "train", "note": "mine", "instead_of": ""})
    assert (answer.status_code, _NOTE in answer.json["error"]) == (400, True)
    assert path.read_text("utf-8") == f"{_NOTE}\n"
    answer = page.post("/note/write", {"run": "train", "note": "mine", "instead_of": _NOTE})
    assert (answer.status_code, path.read_text("utf-8")) == (200, "mine\n")
    assert page.post("/note/write", {"run": "train", "note": " \n"}).status_code == 200
    assert _notes(logdir) == []


def _name(logdir: Path) -> str:
    (run,) = find_runs(logdir)
    return note_name(run)


def test_two_runs_in_one_folder_have_notes_of_their_own(tmp_path):
    small_program(tmp_path / "logs", run_id="a", start=1000.0).close()
    small_program(tmp_path / "logs", run_id="b", start=2000.0).close()
    with Asker(tmp_path / "logs") as page:
        page.post("/note/write", {"run": ". (2)", "note": "second"})
        assert page.json("/note", run=".")["note"] == ""
        assert page.json("/note", run=". (2)")["note"] == "second"


def test_neither_clean_nor_eviction_deletes_a_note_and_a_note_changes_no_verdict(
    logdir, page, capsys, monkeypatch
):
    page.json("/verdict", run="train")
    page.post("/note/write", {"run": "train", "note": _NOTE})
    assert page.json("/runs")["train"]["state"] == "judged"
    page.plugin.close()
    assert main(["clean", str(logdir)]) == 0 and main(["clean"]) == 0
    monkeypatch.setenv("TB_DEBUGGER_CACHE_GB", "0")
    keep_cache_small()
    (path,) = _notes(logdir)
    assert path.read_text("utf-8") == f"{_NOTE}\n"
    assert main(["info", str(logdir)]) == 0
    assert "  note: The loss explodes.\n" in capsys.readouterr().out


def test_a_note_beside_tables_is_no_change_of_them(logdir, tmp_path):
    assert main(["export", str(logdir), "--parquet", str(tmp_path / "tables")]) == 0
    with Asker(tmp_path / "tables") as page:
        (name,) = page.json("/runs")
        assert page.plugin._viewer.run_library.loader(name).wait(PATIENCE_S)
        page.json("/verdict", run=name)
    with Asker(tmp_path / "tables") as page:
        before = page.json("/runs")[name]
        assert page.post("/note/write", {"run": name, "note": _NOTE}).status_code == 200
        assert page.json("/runs")[name] == before and before["state"] == "judged"


@pytest.mark.parametrize(
    "body",
    [
        *(None, [], "x", {}, {"run": "train"}, {"note": "x"}, {"run": "train", "note": 1}),
        *({"run": "train", "note": "x", "more": "y"}, {"run": "", "note": "x"}),
        *({"run": "train", "note": "x" * (MAX_NOTE + 1)}, {"run": "train", "note": "\ud800"}),
    ],
)
def test_what_is_no_note_is_refused_and_nothing_is_written(logdir, page, body):
    assert page.post("/note/write", body).status_code == 400
    assert _notes(logdir) == []


@pytest.mark.parametrize("key", ["", "wrong"])
def test_without_the_key_no_note_is_written(logdir, page, key):
    response = page.post("/note/write", {"run": "train", "note": "x"}, key=key)
    assert (response.status_code, response.json["needs_key"]) == (403, True)
    other = page.post("/note/write", {"run": "train", "note": "x"}, {"Sec-Fetch-Site": "cross-site"})
    assert other.status_code == 403 and _notes(logdir) == []


def test_a_viewer_that_is_read_only_says_so_beside_the_note(logdir):
    with Asker(logdir, argparse.Namespace(debugger_read_only=True)) as page:
        why = page.json("/note", run="train")["why_fixed"]
        response = page.post("/note/write", {"run": "train", "note": "x"})
    assert (response.status_code, response.json["error"]) == (403, why) and "read-only" in why


def test_a_folder_that_cannot_be_written_to_is_said(page, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tb_debugger_plugin.analysis.beside.replace_file", refuse)
    response = page.post("/note/write", {"run": "train", "note": "x"})
    assert response.status_code == 403
    assert response.json["error"] == "The note cannot be kept in the folder of the run: Permission denied."


def test_a_run_that_is_elsewhere_has_no_note_and_a_sentence(logdir):
    import fsspec

    files = fsspec.filesystem("memory")
    for path in (logdir / "train").iterdir():
        files.pipe(f"/notes_of_runs/train/{path.name}", path.read_bytes())
    try:
        with Asker("memory://notes_of_runs") as page:
            answer = page.json("/note", run="train")
            response = page.post("/note/write", {"run": "train", "note": "x"})
            run = page.json("/runs")["train"]
    finally:
        files.rm("/notes_of_runs", recursive=True)
    assert (answer["note"], response.status_code) == ("", 403)
    assert (
        answer["why_fixed"]
        == response.json["error"]
        == "The run is not on this machine, so nothing is " + ("written beside it.")
    )
    assert (run["bytes"], run["written"], run["mode"]) == (None, None, "FULL_HEALTH")


def test_a_link_or_a_pipe_in_place_of_a_note_is_not_read_and_a_link_is_replaced(logdir, page, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("word")
    path = logdir / "train" / _name(logdir)
    os.mkfifo(path)
    assert page.json("/note", run="train")["note"] == ""
    path.unlink()
    path.symlink_to(secret)
    assert page.json("/note", run="train")["note"] == ""
    page.post("/note/write", {"run": "train", "note": "mine"})
    assert (secret.read_text(), path.read_text()) == ("word", "mine\n")


def test_a_damaged_note_is_shown_as_far_as_it_is_text(logdir, page):
    (logdir / "train" / _name(logdir)).write_bytes(b"ok \xff" + b"x" * 100_000)
    note = page.json("/note", run="train")["note"]
    assert note.startswith("ok \ufffdx") and len(note) == MAX_NOTE
