"""`cli`: what each verb of `tbdbg` prints about unreadable input, and its exit code."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.events import locations
from tb_debugger_plugin.events.framing import frame
from tests.support.events import Recording, small_program

_DAMAGE = b"damaged, and more than a header long"
_VERBS = {
    "info": [],
    "dump": [],
    "index": [],
    "sql": ["SELECT count(*) FROM graph_executions"],
    "value": ["--graph_execution", "0"],
    "export": ["--parquet", "{out}"],
    "clean": [],
}


def _two_runs(folder):
    small_program(folder / "one").close()
    small_program(folder / "two").close()


def _damaged(recording, *suffixes):
    recording.close()
    for suffix in suffixes:
        recording.files.path(suffix).write_bytes(_DAMAGE)


def _damaged_tables(folder):
    small_program(folder.with_name("events")).close()
    assert main(["export", str(folder.with_name("events")), "--parquet", str(folder)]) == 0
    (next(folder.rglob("graph_executions.parquet"))).write_bytes(b"x" * 5000)


#: Makes each thing that a path may lead to.
_MAKE = {
    "empty": Path.mkdir,
    "missing": lambda folder: None,
    "a file": lambda folder: folder.write_text("x"),
    # Not even root can list it.
    "unreadable": lambda folder: folder.symlink_to(folder.name),
    "two runs": _two_runs,
    "damaged events": lambda folder: _damaged(
        small_program(folder), "execution", "graph_execution_traces", "graphs"
    ),
    "damaged metadata": lambda folder: _damaged(Recording(folder), "metadata"),
    "damaged tables": _damaged_tables,
}
_NONE = {verb: (1, "holds no debug events") for verb in _VERBS}
_NOT_THERE = dict.fromkeys(_VERBS, (1, "does not exist"))
_FINE = dict.fromkeys(_VERBS, (0, ""))
_ONE_PLEASE = (1, "holds several runs; choose one with --run: 'one' and 'two'.")
_BAD_TABLES = (1, "Reading this run's files failed: ")
_NO_ROWS = (1, "There is no graph execution 0; there are 0.")
_NO_SETS = (1, "is neither an event file nor a folder with tfdbg_events")
#: Of each thing that a path may lead to: exit code, and what is said on stderr, by verb.
_SAID = {
    "empty": {**_NONE, "dump": _NO_SETS, "clean": (0, "")},
    "missing": _NOT_THERE,
    "a file": {
        **dict.fromkeys(_VERBS, (1, "cannot be read: Not a directory")),
        "dump": (1, "is not an event file"),
    },
    "unreadable": dict.fromkeys(_VERBS, (1, "Too many levels of symbolic links")),
    "two runs": {**_FINE, "dump": _NO_SETS, **dict.fromkeys(("sql", "value"), _ONE_PLEASE)},
    "damaged events": {**_FINE, "value": _NO_ROWS},
    "damaged metadata": {**_FINE, "value": _NO_ROWS},
    "damaged tables": {
        **dict.fromkeys(_VERBS, _BAD_TABLES),
        **{"dump": _NO_SETS, "clean": (0, "")},
    },
}


@pytest.fixture(scope="module")
def make(tmp_path_factory) -> dict[str, Callable[[Path], object]]:
    """Makes each thing, too; tables are made once, and copied."""
    tables = tmp_path_factory.mktemp("made") / "tables"
    _damaged_tables(tables)
    return {**_MAKE, "damaged tables": lambda folder: shutil.copytree(tables, folder)}


@pytest.mark.parametrize(
    ("what", "verb"),
    [pytest.param(what, verb, id=f"{verb}-{what}") for what, by_verb in _SAID.items() for verb in by_verb],
)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_verb_says_in_one_sentence_why_it_cannot(make, tmp_path, capfd, what, verb, as_json):
    folder = tmp_path / "logs"
    make[what](folder)
    capfd.readouterr()
    code, sentence = _SAID[what][verb]
    more = [word.format(out=tmp_path / "out") for word in _VERBS[verb]]
    assert main([verb, str(folder), *more, *(["--json"] if as_json else [])]) == code
    said = capfd.readouterr()
    if sentence:
        assert said.err.startswith("tbdbg: ") and sentence in said.err and said.err.count("\n") == 1
        assert as_json or said.out == ""
    else:
        assert said.err == ""


@pytest.mark.parametrize("verb", ["info", "index", "export"])
def test_a_run_that_cannot_be_read_does_not_take_the_others_with_it(make, tmp_path, capfd, verb):
    logs = tmp_path / "logs"
    _two_runs(logs)
    make["damaged tables"](logs / "bad")
    small_program(logs / "three").close()
    more = [word.format(out=tmp_path / "out") for word in _VERBS[verb]]
    capfd.readouterr()
    assert main([verb, str(logs), *more]) == 1
    said = capfd.readouterr()
    assert all(name in said.out for name in ("one", "two", "three")) and "\nbad" not in said.out
    assert said.err.startswith("tbdbg: bad: Reading this run's files failed: ") and said.err.count("\n") == 1
    assert main([verb, str(logs), *more, "--json"]) == 1
    actual = json.loads(capfd.readouterr().out)
    assert [name for name, facts in actual.items() if "error" in facts] == ["bad"] and len(actual) == 4
    assert "graph_executions.parquet" in actual["bad"]["error"]


@pytest.mark.parametrize("verb", _VERBS)
def test_a_url_that_cannot_be_read_here_is_a_wrong_argument_with_its_reason(capsys, monkeypatch, verb):
    def refuse(protocol):
        raise ImportError(f"Install {protocol}fs")

    monkeypatch.setattr(locations, "_file_system", refuse)
    with pytest.raises(SystemExit) as exit_:
        main([verb, "s3://bucket/logs", *_VERBS[verb]])
    assert exit_.value.code == 2
    assert "s3:// cannot be read here: Install s3fs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        (["a"], "There is no run named 'nope' in logs; choose from 'a'."),
        (["a", "b", "c"], "There is no run named 'nope' in logs; choose from 'a', 'b' and 'c'."),
        (
            list("abcdefgh"),
            "There is no run named 'nope' in logs; choose from 'a', 'b', 'c', 'd', 'e' and 3 more.",
        ),
        (["."], "There is no run named 'nope' in logs; choose from '.'."),
    ],
    ids=["one", "few", "many", "the logdir itself"],
)
def test_a_run_that_is_not_there_is_answered_with_some_that_are(tmp_path, tbdbg, monkeypatch, runs, sentence):
    monkeypatch.chdir(tmp_path)
    for name in runs:
        small_program(tmp_path / "logs" / name).close()
    assert tbdbg.error("index", "logs", "--run", "nope") == f"tbdbg: {sentence}\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty", b""),
        ("notes.txt", b"some text that is longer than the header of a record"),
        # An ordinary event file begins with its time and its version.
        ("events.out.tfevents.1.host", frame(b"\x09" + struct.pack("<d", 1.75e9) + b"\x1a\x0dbrain.Event:2")),
    ],
)
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_dump_refuses_what_is_no_event_file(tmp_path, tbdbg, name, content, options):
    (tmp_path / name).write_bytes(content)
    said = tbdbg.said("dump", tmp_path / name, *options, code=1)
    assert said.out == "" and "is not an event file" in said.err and said.err.count("\n") == 1


def test_dump_takes_event_files_that_are_empty_damaged_or_renamed(tmp_path, tbdbg):
    recording = small_program(tmp_path / "run")
    recording.close()
    renamed = tmp_path / "copy"
    renamed.write_bytes(recording.files.path("execution").read_bytes())
    assert "execution:" in tbdbg("dump", renamed)
    for content in (b"", _DAMAGE):
        recording.files.path("execution").write_bytes(content)
        assert main(["dump", str(recording.files.path("execution"))]) == 0


def test_an_error_of_duckdb_has_its_lines(small_run, tbdbg):
    first, *others = (
        tbdbg.error("sql", small_run, "SELECT nothing FROM graph_executions").rstrip("\n").split("\n")
    )
    assert first.startswith("tbdbg: The query failed: Binder Error") and "\\n" not in first
    assert any(line.startswith("  LINE 1: SELECT nothing") for line in others)
    assert all(line.startswith("  ") or not line for line in others)


def test_an_error_of_duckdb_controls_nothing(small_run, tbdbg):
    query = "SELECT CAST(concat('\x1b[2J', chr(27), chr(10), 'tbdbg: all is well') AS INTEGER)"
    err = tbdbg.error("sql", small_run, query)
    assert "\x1b" not in err and "\ntbdbg: " not in err


def test_the_help_of_a_verb_about_one_run_says_that_one_is_needed(capsys):
    for verb, words in (("sql", "needed if there are several"), ("index", "default: all")):
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        assert words in " ".join(capsys.readouterr().out.split())
