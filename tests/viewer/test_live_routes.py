"""`server/live.py`: a page finds a program, commands it, and looks at what it holds."""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tensorboard.plugins import base_plugin

from tb_debugger_plugin.server import live
from tb_debugger_plugin.server.forgery import HOSTS_VARIABLE, KEY_HEADER, MAX_BODY
from tb_debugger_plugin.server.loader import DebuggerLoader
from tb_debugger_plugin.server.plugin import READ_ONLY_VARIABLE
from tests.support.asking import Asker
from tests.support.events import PATIENCE_S, small_program
from tests.support.live_program import ScriptedProgram, served

#: An object of an answer.
Json: TypeAlias = Mapping[str, Any]
pytestmark = pytest.mark.timeout(60)


@pytest.fixture(autouse=True)
def what_a_pause_computed_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is: an answer says otherwise that not all of it is on record yet."""
    monkeypatch.setattr(live, "_READ_S", PATIENCE_S)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[ScriptedProgram]:
    recording = small_program(tmp_path / "train")
    recording.close()
    with served(ScriptedProgram(), tmp_path / "train", files=recording.files.prefix) as program:
        yield program


@pytest.fixture
def asker(tmp_path: Path, program: ScriptedProgram) -> Iterator[Asker]:
    with Asker(tmp_path) as asker:
        yield asker


def _listing(asker: Asker, since: int | None = None) -> Json:
    return asker.json("/live/programs", {} if since is None else {"since": since, "wait": 10})


def _until(asker: Asker, is_right: Callable[[Json], bool]) -> Json:
    """The first program once it is as wanted."""
    listing, end = _listing(asker), time.monotonic() + 20
    while not (listing["programs"] and listing["programs"][0]["state"] and is_right(listing["programs"][0])):
        assert time.monotonic() < end, listing
        listing = _listing(asker, listing["version"])
    return listing["programs"][0]


def _version_at_rest(asker: Asker) -> int:
    """The version after which nothing comes by itself: a program that was just found says more."""
    since, end = _listing(asker)["version"], time.monotonic() + 20
    while (version := asker.json("/live/programs", since=since, wait=0.3)["version"]) != since:
        assert time.monotonic() < end
        since = version
    return since


def _is(phase: str) -> Callable[[Json], bool]:
    return lambda one: one["state"]["phase"] == phase


def _command(asker: Asker, one: Json, **command: object) -> Json:
    response = asker.post("/live/control", {"program": one["id"], "command": command})
    assert response.status_code == 200, response.text
    return response.json


@pytest.fixture
def one(asker: Asker) -> Json:
    """The program, which waits."""
    return _until(asker, _is("waiting"))


def test_a_program_that_waits_is_found_with_its_run(asker, one, program):
    assert (one["run"], one["program"], one["problem"]) == ("train", ["train.py"], None)
    assert one["state"]["pause"]["reason"] == "before_call"
    assert program.wait_for_followers(1)


def test_a_program_is_stepped_and_each_state_comes_at_once(asker, one):
    for name in ("x", "Log", "mul"):
        outcome = _command(asker, one, step={})
        assert outcome["done"] and outcome["state"]["pause"]["tensor"]["op_name"] == name
    paused = _until(asker, lambda one: (one["state"]["pause"] or {}).get("tensor"))
    assert paused["state"]["pause"]["tensor"]["op_name"] == "mul"


def test_a_pause_comes_with_what_is_on_record_of_its_op(asker, one):
    pause = one["state"]["pause"]["number"]
    between = asker.json("/live/paused", program=one["id"], pause=pause)
    assert (between["run"], between["is_complete"], between["op"]) == ("train", True, None)
    _command(asker, one, step={})
    _command(asker, one, step={})
    paused = _until(asker, lambda one: (one["state"]["pause"] or {}).get("tensor"))["state"]["pause"]
    found = asker.json("/live/paused", program=one["id"], pause=paused["number"])
    assert found["status"] == asker.json("/status", run="train")
    tensor, op = paused["tensor"], found["op"]
    at = op["graph_execution"]
    asked = {"run": "train", "graph_id": tensor["graph_id"], "op_name": tensor["op_name"], "at": at}
    assert op["info"] == asker.json("/graphs/op_info", asked)
    assert op["info"]["outputs"][tensor["slot"]]["health"]["graph_execution_index"] == at


def test_a_pause_that_is_over_has_no_record(asker, one):
    _command(asker, one, step={})
    response = asker.get("/live/paused", program=one["id"], pause=one["state"]["pause"]["number"])
    assert response.status_code == 404 and "gone on" in response.json["error"]


def test_a_question_waits_until_something_has_changed(asker, program):
    one = _until(asker, lambda one: one["state"]["followers"] == 1)
    answers: list[Json] = []
    since = _version_at_rest(asker)
    waiting = threading.Thread(target=lambda: answers.append(_listing(asker, since)))
    waiting.start()
    time.sleep(0.3)
    assert not answers
    _command(asker, one, step={})
    waiting.join(5)
    assert answers[0]["programs"][0]["state"]["phase"] == "paused"


def test_a_question_is_answered_when_nothing_changes(asker):
    _until(asker, lambda one: one["state"]["followers"] == 1)
    version = _version_at_rest(asker)
    start = time.monotonic()
    assert asker.json("/live/programs", since=version, wait=0.3)["version"] == version
    assert 0.2 < time.monotonic() - start < 5


def test_a_breakpoint_hits_and_a_command_about_an_earlier_pause_is_refused(asker, one):
    where = {"op_name": "mul", "slot": -1}
    given = {"where": where, "condition": "nan > 0", "enabled": True}
    assert _command(asker, one, set_breakpoint=given)["breakpoint"] == 1
    _command(asker, one, continue_={})
    pause = _until(asker, lambda one: (one["state"]["pause"] or {}).get("breakpoint"))["state"]["pause"]
    assert pause["tensor"]["op_name"] == "mul" and "nan > 0" in pause["sentence"]
    refused = _command(asker, one, step={}, pause_number=pause["number"] - 1)
    assert not refused["done"] and refused["sentence"] == "The program has gone on since."


def test_the_tensors_at_hand_are_listed(asker, one):
    _command(asker, one, step_over={})
    for _ in range(3):
        _command(asker, one, step={})
    tensors = asker.json("/live/tensors", program=one["id"])
    assert [tensor["op_name"] for tensor in tensors["tensors"]] == ["x", "Log", "mul"]
    first = tensors["tensors"][0]["number"]
    rest = asker.json("/live/tensors", program=one["id"], after=first, limit=1)
    assert [tensor["op_name"] for tensor in rest["tensors"]] == ["Log"] and rest["total"] == 3


def test_an_expression_has_a_value_that_can_be_looked_at(asker, one):
    _command(asker, one, step={})
    response = asker.post("/live/evaluate", {"program": one["id"], "expression": "`x:0` * [2, 3]"})
    result = response.json
    assert response.status_code == 200 and result["done"] and result["shape"] == [1, 2]
    cells = asker.json("/values/text", program=one["id"], tensor=result["tensor"])["cells"]
    assert cells == [["0.0", "3.0"]]
    wrong = asker.post("/live/evaluate", {"program": one["id"], "expression": "`y:0`"}).json
    assert not wrong["done"] and "y:0" in wrong["text"]


def test_two_viewers_see_and_steer_the_same_program(asker, program, tmp_path):
    with Asker(tmp_path) as other:
        mine, its = _until(asker, _is("waiting")), _until(other, _is("waiting"))
        assert mine["id"] == its["id"] and program.wait_for_followers(2)
        _command(asker, mine, step={})
        assert _until(other, _is("paused"))["state"]["pause"]["tensor"]["op_name"] == "x"
    assert program.wait_for_followers(1)


def test_a_program_that_has_ended_is_shown_as_ended(asker, one, program, tmp_path):
    for file in (tmp_path / "train").glob("tb_debugger_live.*"):
        file.unlink()
    assert _until(asker, _is("ended"))["state"]["pause"] is None
    body = {"program": one["id"], "command": {"step": {}}}
    response = asker.post("/live/control", body)
    assert (response.status_code, response.json["error"]) == (
        404,
        "The program has ended, and its values are gone.",
    )


def test_the_tab_is_active_before_anything_is_recorded(tmp_path):
    with served(ScriptedProgram(), tmp_path / "new"), Asker(tmp_path) as asker:
        assert asker.plugin.is_active()
        assert asker.json("/runs") == {}
        assert _until(asker, _is("waiting"))["run"] is None


def test_the_secret_is_in_no_answer(asker, one, tmp_path):
    (file,) = (tmp_path / "train").glob("tb_debugger_live.*")
    secret = json.loads(file.read_text())["secret"]
    assert len(secret) > 30 and secret not in json.dumps(one)
    texts = [
        asker.get("/live/tensors", program=one["id"]).text,
        asker.get("/live/tensors", program="nobody").text,
        asker.post("/live/control", {"program": one["id"], "command": {"step": {}}}).text,
        asker.post("/live/evaluate", {"program": one["id"], "expression": "secret"}).text,
    ]
    assert not [text for text in texts if secret in text]


# What may be forged.


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({KEY_HEADER: "wrong"}, "does not have the key"),
        ({KEY_HEADER: None}, "does not have the key"),
        ({KEY_HEADER: "é"}, "does not have the key"),
        ({"Content-Type": "text/plain"}, "application/json"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, "application/json"),
        ({"Content-Type": None}, "application/json"),
        ({"Sec-Fetch-Site": "cross-site"}, "another site"),
        ({"Sec-Fetch-Site": "same-site"}, "another site"),
        ({"Sec-Fetch-Site": "none"}, "another site"),
        ({"Sec-Fetch-Site": None, "Origin": "http://evil.example"}, "another site"),
        ({"Sec-Fetch-Site": None, "Origin": "http://localhost:1"}, "another site"),
        ({"Sec-Fetch-Site": None, "Origin": "null"}, "another site"),
        ({"Sec-Fetch-Site": None, "Origin": "http://[::"}, "another site"),
        ({"Host": "rebound.example"}, HOSTS_VARIABLE),
        ({"Host": "localhost.evil.example:6006"}, HOSTS_VARIABLE),
        ({"Host": "["}, HOSTS_VARIABLE),
    ],
)
def test_a_request_that_may_be_forged_is_refused_and_does_nothing(asker, one, program, headers, said):
    response = asker.post("/live/control", {"program": one["id"], "command": {"step": {}}}, headers)
    assert response.status_code == 403 and said in response.json["error"]
    assert program.commands == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": None},
        {"Sec-Fetch-Site": None, "Origin": "http://localhost"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://proxy.example"},
        {"Host": "127.0.0.1:6006"},
        {"Host": "[::1]:6006"},
        {"Content-Type": "application/json; charset=utf-8"},
    ],
)
def test_a_request_of_the_page_is_obeyed(asker, one, program, headers):
    response = asker.post("/live/control", {"program": one["id"], "command": {"step": {}}}, headers)
    assert response.status_code == 200, response.text
    assert len(program.commands) == 1


def test_the_name_of_the_host_can_be_allowed(asker, one, monkeypatch):
    monkeypatch.setenv(HOSTS_VARIABLE, "other.example, gpu.example")
    body = {"program": one["id"], "command": {"step": {}}}
    assert asker.post("/live/control", body, {"Host": "gpu.example:6006"}).status_code == 200
    assert asker.post("/live/control", body, {"Host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/live/control", b"", 400),
        ("/live/control", b"{", 400),
        ("/live/control", b"[]", 400),
        ("/live/control", b"[" * 60_000, 400),
        ("/live/control", {"program": "nobody", "command": {"step": {}}}, 404),
        ("/live/control", {"program": 3, "command": {"step": {}}}, 400),
        ("/live/control", {"program": "\ud800", "command": {"step": {}}}, 400),
        ("/live/control", {"program": "nobody", "command": {"steps": {}}}, 400),
        ("/live/control", {"program": "nobody", "command": {"step": {}}, "more": 1}, 400),
        ("/live/control", {"command": {"step": {}}}, 400),
        ("/live/evaluate", {"program": "nobody", "expression": "1"}, 404),
        ("/live/evaluate", {"program": "nobody", "expression": ["1"]}, 400),
        ("/live/evaluate", {"program": "nobody", "expression": "x" * 10_001}, 400),
        ("/live/evaluate", b"x" * (MAX_BODY + 1), 413),
    ],
)
def test_a_body_that_makes_no_sense_is_refused_in_a_sentence(asker, program, path, body, status):
    response = asker.post(path, body)
    assert response.status_code == status, response.text
    assert response.json["error"].endswith(".") and program.commands == []


def test_a_read_only_viewer_shows_and_does_nothing(tmp_path, program, monkeypatch):
    monkeypatch.setenv(READ_ONLY_VARIABLE, "1")
    with Asker(tmp_path) as asker:
        one = _until(asker, _is("waiting"))
        assert _listing(asker)["read_only"] is True
        response = asker.post("/live/control", {"program": one["id"], "command": {"step": {}}})
        assert response.status_code == 403 and "read-only" in response.json["error"]
        assert asker.json("/live/tensors", program=one["id"])["total"] == 0
    assert program.commands == []


def test_tensorboard_has_an_option_for_a_read_only_viewer(tmp_path, program):
    parser = argparse.ArgumentParser()
    DebuggerLoader().define_flags(parser)
    flags = parser.parse_args(["--debugger_read_only"])
    plugin = DebuggerLoader().load(base_plugin.TBContext(logdir=str(tmp_path), flags=flags))
    plugin.close()
    with Asker(tmp_path, flags) as asker:
        assert _listing(asker)["read_only"] is True
    with Asker(tmp_path, parser.parse_args([])) as asker:
        assert _listing(asker)["read_only"] is False


def test_a_read_only_program_refuses_and_says_so(tmp_path):
    with served(ScriptedProgram(read_only=True), tmp_path), Asker(tmp_path) as asker:
        one = _until(asker, _is("waiting"))
        assert one["state"]["read_only"] and _listing(asker)["read_only"] is False
        outcome = _command(asker, one, step={})
        assert not outcome["done"] and "read_only" in outcome["sentence"]
