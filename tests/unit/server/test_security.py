"""`server`: whatever a log names or a URL asks for is only text.

The log of these tests names an existing file in every field that could name one. The content of the file is a
word that no answer may hold.
"""

from __future__ import annotations

import logging
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tensorboard.backend import security_validator
from werkzeug.test import Client

from tb_debugger_plugin.server.routes import POSTS
from tests.support.asking import FITTING, HOSTILE, PARAMETERS, PREFIX, Asker, Facts, decoded, fitting
from tests.support.events import Recording, full_health

_WORD = "mellon-7c1f"
_SCRIPT = "<script>alert(1)</script>"
_opened: list[str] = []


def _note_open(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        _opened.append(str(arguments[0]))


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("elsewhere") / "secret.txt"
    path.write_text(_WORD)
    return path


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory, secret: Path) -> Path:
    folder = tmp_path_factory.mktemp("logdir")
    name = str(secret)
    recording = Recording(folder, program=[name], recorder_version=name)
    recording.source(name, [_SCRIPT])
    recording.source(f"file://{name}", [])
    recording.frame("f1", 0, 1, name)
    recording.device(1, name)
    recording.graph("g1", name)
    recording.graph(name, _SCRIPT, "g1")
    recording.op("g1", "Log", _SCRIPT, [f"{name}:0"], ids=[1], stack=["f1", name])
    recording.op("g1", name, name, ["Log:0"], ids=[1], stack=["f1"])
    recording.trace("g1", "Log", full_health([float("nan")]))
    recording.trace("g1", name, full_health([1.0]))
    recording.execution(_SCRIPT, [full_health([1.0])], graph_id="g1", ids=[1], stack=["f1"])
    recording.counts(1, 2, finished=False, failure=name)
    return recording.close()


@pytest.fixture(scope="module")
def asker(logdir: Path) -> Iterator[Asker]:
    with Asker(logdir) as actual:
        yield actual


def _tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def _hostile_questions(path: str, secret: Path, values_each: int) -> Iterator[dict[str, object]]:
    rng = random.Random(path)
    sql = f"(SELECT content FROM read_text('{secret}'))"
    values = [*HOSTILE, str(secret), f"file://{secret}", f"' || {sql} || '", f"nan>{sql}", f"{sql}--"]
    query = {"run": ".", **FITTING[path](Facts("."))}
    for name in PARAMETERS:
        for value in rng.sample(values, values_each):
            yield {**query, name: value}


# Each route with each parameter; over all routes a parameter has each value several times.
@pytest.mark.parametrize("values_each", [1, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize("path", list(FITTING))
def test_no_parameter_makes_a_route_fail_or_tell_a_secret(asker, secret, path, values_each):
    for query in _hostile_questions(path, secret, values_each):
        response = asker.get(path, query)
        assert response.status_code in (200, 400, 404), query
        answer = decoded(response.mimetype, response.data)
        assert response.status_code == 200 or (set(answer) == {"error"} and len(answer["error"]) < 15_000)
        assert _WORD.encode() not in response.data
        assert response.headers["X-Content-Type-Options"] == "nosniff" and "X-Evil" not in response.headers


@pytest.mark.parametrize("path", POSTS)
def test_no_body_makes_a_route_fail_or_tell_a_secret(asker, secret, path):
    names = {"/live/control": "command", "/live/evaluate": "expression", "/alerts/allow": "reason"}
    names |= {"/note/write": "note", "/replay": "call"}
    other = names[path]
    for value in (*HOSTILE, str(secret), None, [], {}, {"step": {}}, 10**400, 1e308, True):
        run = {"run": value, "rule": "InfNanAlert", "reason": "x"}
        for body in (
            value,
            {"program": value, other: "1"},
            {"program": "x", other: value},
            run,
            {str(value): 1},
        ):
            response = asker.post(path, body)
            assert response.status_code in (400, 404), body
            assert set(response.json) == {"error"} and len(response.json["error"]) < 15_000
            assert _WORD.encode() not in response.data
            assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_no_route_opens_a_file_that_the_log_names_or_changes_one(logdir, secret, asker):
    questions = fitting(Facts(".", 0, 0, str(secret), _SCRIPT)) + fitting(Facts("."))
    before = _tree(logdir)
    for path, query in questions:
        asker.get(path, query)
    sys.addaudithook(_note_open)  # it stays as long as Python runs; it only keeps a list
    secret.open().close()
    assert str(secret) in _opened
    _opened.clear()
    for path, query in questions:
        assert _WORD.encode() not in asker.get(path, query).data
    assert str(secret) not in _opened
    assert _tree(logdir) == before


def test_names_of_a_log_come_as_they_are_and_as_nothing_but_text(asker):
    actual = asker.get("/source_files/file", {"run": ".", "index": 0})
    assert actual.json["lines"] == [_SCRIPT] and actual.mimetype == "application/json"
    alert = asker.json("/alerts", {"run": "."})["alerts"][0]
    assert alert["op_type"] == _SCRIPT


def test_tensorboard_has_nothing_to_say_about_the_headers(asker, caplog):
    for path, app in asker.plugin.get_plugin_apps().items():
        address = "/index.js" if path == "/*" else path
        checked = security_validator.SecurityValidatorMiddleware(app)
        with caplog.at_level(logging.WARNING):
            Client(checked).get(PREFIX + address, query_string={"run": "."})
            Client(checked).get(PREFIX + address + "/../absent")
    assert not [record for record in caplog.records if "warning will become" in record.getMessage()]


@pytest.mark.parametrize(
    "path", ["/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/%00"]
)
def test_files_of_the_page_are_the_only_files(asker, path):
    response = asker.get(path, {})
    assert response.status_code == 404 and b"root" not in response.data
