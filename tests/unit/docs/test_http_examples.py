"""`docs/http-api.md`: the examples of the page are what the routes answer.

Each example is a request line and a ``json`` block; the body of a POST is a block before it. The request is
sent to the plugin, which serves the recording of :func:`~tests.support.events.small_program` and, for routes
below ``live``, a scripted program, and the last block must be the answer.
``pytest tests/unit/docs/test_http_examples.py --update-examples`` writes the answers into the page.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch
from urllib.parse import parse_qsl

import pytest

from tb_debugger_plugin.events.not_recorded import NotRecordedReason
from tb_debugger_plugin.live.messages.messages import Command
from tb_debugger_plugin.server import live
from tb_debugger_plugin.server.routes import POSTS, ROUTES
from tests.support.asking import Asker, decoded
from tests.support.checkout import ROOT
from tests.support.events import PATIENCE_S, small_program, values_program
from tests.support.live_program import ScriptedProgram, served

#: A value of JSON.
_Value = dict[str, object] | list[object] | str | float | bool | None

_PAGE = ROOT / "docs" / "http-api.md"
_TEXT = _PAGE.read_text("utf-8")
_EXAMPLE = re.compile(
    r"(?P<request>^`(?:GET|POST) (?P<route>[^`?\n]+)(?:\?(?P<query>[^`\n]*))?`\n\n"
    r"(?:```json\n(?P<body>[^\n]*)\n```\n\n(?=```))?)```json\n(?P<answer>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_CHAPTERS = ("Routes of Debugger V2", "Own routes")
#: Columns of a line of an example.
_WIDTH = 100
#: Several values on one line have at most this length each.
_SMALL = 36


@dataclass(frozen=True)
class Section:
    """A part of the page below one heading.

    Attributes:
      title: The heading.
      level: Number of ``#`` of the heading.
      chapter: The heading of level 2 that it belongs to.
      text: The lines below the heading, up to the next one.
    """

    title: str
    level: int
    chapter: str
    text: str

    @property
    def slug(self) -> str:
        """The heading as links have it."""
        return re.sub(r"[^\w -]", "", self.title.lower()).replace(" ", "-")


def _sections(text: str) -> list[Section]:
    sections, chapter = [], ""
    _, *parts = re.split(r"^(##+) (.+)\n", text, flags=re.MULTILINE)
    for marks, title, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        chapter = title if len(marks) == 2 else chapter
        sections.append(Section(title, len(marks), chapter, body))
    return sections


_SECTIONS = _sections(_TEXT)
_OF_ROUTES = [section for section in _SECTIONS if section.level == 3 and section.chapter in _CHAPTERS]


@pytest.fixture(autouse=True)
def what_a_pause_computed_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is: an answer says otherwise that not all of it is on record yet."""
    monkeypatch.setattr(live, "_READ_S", PATIENCE_S)


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """The plugin with the recording that the page describes."""
    logdir = tmp_path_factory.mktemp("logdir")
    recording = small_program(logdir / "train")
    recording.not_recorded(NotRecordedReason.FILTERED, "Only one of 2 steps is recorded (every_n_steps).")
    recording.counts(4, 8, finished=True)
    recording.request(1, feeds=[("x:0", 1, [2])], fetches=["Log:0"], targets=["train"])
    recording.session_run(1, 1, thread=1)
    recording.session_run(2, 1, thread=1, error="InvalidArgumentError: Incompatible shapes")
    recording.close()
    values_program(logdir / "values").close()
    with Asker(logdir) as asker:
        yield asker


@pytest.fixture(scope="module")
def page(asker: Asker, pytestconfig: pytest.Config) -> str:
    """The page; with --update-examples it is renewed first."""
    if not pytestconfig.getoption("--update-examples"):
        return _TEXT
    text = _EXAMPLE.sub(
        lambda match: f"{match['request']}```json\n{_formatted(_answer(asker, match))}\n```", _TEXT
    )
    _PAGE.write_text(text, "utf-8")
    return text


def _answer(asker: Asker, example: re.Match[str]) -> _Value:
    path = f"/{example['route']}"
    query = dict(parse_qsl(example["query"] or "", strict_parsing=bool(example["query"])))
    if path.startswith("/live/"):
        with _at_a_program(asker) as live:
            response = live.post(path, example["body"].encode()) if path in POSTS else live.get(path, query)
    elif path == "/replay":
        with _a_kept_call(asker):
            response = asker.post(path, example["body"].encode())
    elif path in POSTS:
        response = asker.post(path, example["body"].encode())
    else:
        response = asker.get(path, query)
    assert response.status_code == 200, response.text
    answer = decoded(response.headers["Content-Type"], response.data)
    return _as_shown(answer, asker.json("/logdir", {})["logdir"])


@contextmanager
def _a_kept_call(asker: Asker) -> Iterator[None]:
    """A call beside the run, and a command in place of the one that needs TensorFlow."""
    (metadata,) = (Path(asker.json("/logdir", {})["logdir"]) / "train").glob("*.metadata")
    bundle = metadata.with_suffix(".replay_1")
    ways = ("as it was, 2 tensors are bad. First: Log:0 (Log), train.py:3.", "in float64, nothing is bad.")
    said = json.dumps({"tried": [{"words": way} for way in ways]})
    done = CompletedProcess([], 0, said, "")
    bundle.touch()
    try:
        with patch("tb_debugger_plugin.server.replay.subprocess.run", return_value=done):
            yield
    finally:
        bundle.unlink()


@contextmanager
def _at_a_program(asker: Asker) -> Iterator[Asker]:
    """The plugin with a program that has made two steps."""
    logdir = asker.json("/logdir", {})["logdir"]
    program = ScriptedProgram(clock=lambda: 1000.75)
    at_mul = {"where": {"op_name": "mul", "slot": -1}, "condition": "nan > 0", "enabled": True}
    for command in (Command(set_breakpoint=at_mul), Command(step={}), Command(step={})):
        program.control(command)
    # Another host: this one knows that there is no such process.
    facts = {"host": "worker0", "pid": 4242, "started": 1000.5}
    with served(program, Path(logdir) / "train", files=_files(logdir), **facts), Asker(logdir) as live:
        listing, end = live.json("/live/programs"), time.monotonic() + 20
        while not any(one["state"] and one["state"]["followers"] for one in listing["programs"]):
            assert time.monotonic() < end
            listing = live.json("/live/programs", since=listing["version"], wait=1)
        yield live


def _files(logdir: str) -> str:
    (file,) = Path(logdir, "train").glob("*.metadata")
    return file.name.removesuffix("metadata")


#: Members that are another time another value, as the page shows them.
_SHOWN = {"generation": 1, "origins_generation": 1, "described": 1, "version": 1, "written": 1001.25}


def _as_shown(value: _Value, logdir: str) -> _Value:
    """An answer as the page shows it: a generation is 1, the logdir is /logs, numbers have six decimals."""
    if isinstance(value, dict):
        shown = {name: _as_shown(member, logdir) for name, member in value.items()}
        return {**shown, **{name: _SHOWN[name] for name in shown if name in _SHOWN}}
    if isinstance(value, list):
        return [_as_shown(member, logdir) for member in value]
    if isinstance(value, str):
        return value.replace(logdir, "/logs")
    return round(value, 6) if isinstance(value, float) else value


def _formatted(value: _Value, indent: str = "") -> str:
    """JSON with as much on a line as is easy to read."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent + flat) <= _WIDTH or not isinstance(value, (dict, list)) or not value:
        return flat
    inner = indent + "  "
    members = value.items() if isinstance(value, dict) else (("", member) for member in value)
    lines: list[str] = []
    is_open = False  # whether the last line takes another small member
    for name, member in members:
        text = (f"{json.dumps(name)}: " if name else "") + _formatted(member, inner)
        is_small = len(text) <= _SMALL
        if is_open and is_small and len(f"{lines[-1]}, {text},") <= _WIDTH:
            lines[-1] += f", {text}"
        else:
            lines.append(inner + text)
        is_open = is_small
    start, end = "{}" if isinstance(value, dict) else "[]"
    return "\n".join([start, ",\n".join(lines), indent + end])


def _ids() -> list[str]:
    return [f"{match['route']}?{match['query'] or ''}" for match in _EXAMPLE.finditer(_TEXT)]


@pytest.mark.parametrize("number", range(len(_ids())), ids=_ids())
def test_an_example_is_what_the_route_answers(page, asker, number):
    example = list(_EXAMPLE.finditer(page))[number]
    assert json.loads(example["answer"]) == _answer(asker, example)


def test_every_route_has_one_section_and_no_other_has_one():
    assert sorted(section.title for section in _OF_ROUTES) == sorted(path[1:] for path in (*ROUTES, *POSTS))


@pytest.mark.parametrize("section", _OF_ROUTES, ids=lambda section: section.title)
def test_the_section_of_a_route_has_examples_of_this_route(section):
    routes = {match["route"] for match in _EXAMPLE.finditer(section.text)}
    assert routes == {section.title}
    # Every request line and every block belongs to an example that is compared.
    examples = list(_EXAMPLE.finditer(section.text))
    blocks = sum(1 if match["body"] is None else 2 for match in examples)
    assert len(re.findall("`(?:GET|POST) ", section.text)) == len(examples)
    assert section.text.count("```json") == blocks


@pytest.mark.parametrize("number", range(len(_ids())), ids=_ids())
def test_every_field_of_an_example_is_described_or_linked(page, number):
    example = list(_EXAMPLE.finditer(page))[number]
    (section,) = (section for section in _OF_ROUTES if section.title == example["route"])
    links = set(re.findall(r"\]\(#([^)]*)\)", section.text))
    linked = [other.text for other in _SECTIONS if other.slug in links]
    prose = _EXAMPLE.sub("", "".join([section.text, *linked]))
    words = {word.rpartition(".")[2].replace("[]", "") for word in re.findall(r"`([^`\n]+)`", prose)}
    assert sorted(set(_names(json.loads(example["answer"]))) - words) == []


def _names(value: _Value) -> Iterator[str]:
    """The names of all members of all objects of an answer."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    yield from value if isinstance(value, dict) else ()
    for member in members:
        yield from _names(member)


def test_links_inside_the_page_lead_to_headings():
    links = set(re.findall(r"\]\(#([^)]*)\)", _TEXT))
    assert links and sorted(links - {section.slug for section in _SECTIONS}) == []


def test_the_program_of_the_page_reads_columns(asker):
    (program,) = re.findall(r"```python\n(.*?)```", _TEXT, re.DOTALL)
    response = asker.get("/columns/graph_executions", {"run": "train", "only": "bad"})
    names: dict[str, object] = {"body": response.data}
    exec(program, names)
    columns = names["columns"]
    assert columns["index"].tolist() == [1, 2, 3, 5, 6, 7]
    assert columns["op_name"] == ["Log", "mul", "Mean"] * 2
    assert columns["layer"] == [None] * 6
