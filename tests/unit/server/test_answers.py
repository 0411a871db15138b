"""`server/routes.py`: what routes answer of recordings has exactly the fields of the declared shapes.

The first table of fields in the section of a route, in ``docs/http-api.md``, names the shape of its answer,
or of each member of it.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import pytest

from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.server import live
from tb_debugger_plugin.server.answers import CONTENT_TYPE
from tb_debugger_plugin.server.routes import POSTS, ROUTES
from tests.support.asking import Asker, decoded, facts_of, fitting
from tests.support.checkout import ROOT
from tests.support.events import PATIENCE_S, small_program, values_program
from tests.support.live_program import ScriptedProgram, served

_GOLDEN = ROOT / "tests" / "golden"
_RECORDED = sorted(
    {path.parent for path in _GOLDEN.glob("tensorflow-*/**/*.metadata")}, key=lambda path: path.as_posix()
)


#: Members of the header of each binary answer.
_OF_EACH_HEADER = {"columns", "dictionaries"}
#: Fields of dataclasses that may be missing.
_OPTIONAL = {"Phrase": {"target"}}


def _shapes_of_routes() -> dict[str, tuple[str, bool]]:
    """Return the name of each shape, and whether it is that of each member of the answer, or of its list."""
    page = (ROOT / "docs" / "http-api.md").read_text("utf-8")
    parts = iter(re.split(r"^##+ (.+)$", page, flags=re.MULTILINE)[1:])
    named = (
        (
            f"/{title}",
            re.search(r"<!-- (\w+): field(?: of (?:the \w+|(each) [^>]+))? -->", text),
        )
        for title, text in zip(parts, parts, strict=True)
    )
    return {
        path: (found[1], found[2] == "each") for path, found in named if found and path in (*ROUTES, *POSTS)
    }


_OF_ROUTES = _shapes_of_routes()
#: The rooms that have answers.
_ROOMS = tuple(f"tb_debugger_plugin.{room}." for room in ("analysis", "live.viewer", "server"))
#: They answer only while a program runs.
_OF_PAUSES = {"/live/paused"}


def _class(name: str) -> type:
    modules = (module for key, module in sys.modules.items() if key.startswith(_ROOMS))
    found = {getattr(module, name) for module in modules if hasattr(module, name)}
    (shape,) = found
    assert isinstance(shape, type)
    return shape


def misfits(value: object, kind: object, where: str = "") -> Iterator[str]:
    """Yields where a value is not as a type says, with the reason."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        yield from misfits(value, arguments[1], where)
    elif origin is Literal:
        if value not in arguments:
            yield f"{where}: {value!r} is none of {arguments}"
    elif hasattr(kind, "DESCRIPTOR"):
        members = {field.name for field in kind.DESCRIPTOR.fields}
        yield from () if members == set(value) else [f"{where}: {set(value)} are not the fields of a message"]
    elif hasattr(kind, "__required_keys__") or is_dataclass(kind):
        yield from _misfits_of_object(value, kind, where)
    elif origin in (list, tuple, dict):
        yield from _misfits_of_items(value, dict if origin is dict else list, arguments, where)
    elif arguments:  # a union
        found = [list(misfits(value, each, where)) for each in arguments]
        yield from () if [] in found else found[0]
    elif type(value) is not kind and not (kind is float and type(value) is int):
        yield f"{where}: {value!r} is no {kind.__name__}"


def _misfits_of_items(value: object, kind: type, items: tuple[object, ...], where: str) -> Iterator[str]:
    if not isinstance(value, kind):
        yield f"{where}: {value!r} is no {kind.__name__}"
        return
    kinds = items if len(items) > 1 and items[-1] is not ... and kind is list else None
    if kinds is not None and len(kinds) != len(value):
        yield f"{where}: {value!r} has not {len(kinds)} items"
        return
    for i, (key, item) in enumerate(value.items() if isinstance(value, dict) else enumerate(value)):
        each = kinds[i] if kinds is not None else items[-1] if kind is dict else items[0]
        yield from misfits(item, each, f"{where}[{key}]")


def _misfits_of_object(value: object, kind: object, where: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{where}: {value!r} is no object"
        return
    hints = _hints(kind)
    needed = getattr(kind, "__required_keys__", set(hints)) - _OPTIONAL.get(kind.__name__, set())
    yield from (f"{where}.{name} is missing" for name in sorted(needed - set(value)))
    yield from (f"{where}.{name} is not declared" for name in sorted(set(value) - set(hints)))
    for name in set(value) & set(hints):
        yield from misfits(value[name], hints[name], f"{where}.{name}")


def _hints(kind: object) -> dict[str, object]:
    hints = get_type_hints(kind, include_extras=True)
    if not is_dataclass(kind):
        return hints
    hints.pop("MEMBERS")
    for each in kind.MEMBERS.split():
        if each not in hints:
            hints[each] = get_type_hints(getattr(kind, each).fget, include_extras=True)["return"]
    return {name: hints[name] for name in kind.MEMBERS.split() or hints}


@pytest.fixture(autouse=True)
def what_a_pause_computed_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is: an answer says otherwise that not all of it is on record yet."""
    monkeypatch.setattr(live, "_READ_S", PATIENCE_S)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    """The plugin with a small recording."""
    logdir = tmp_path_factory.mktemp("drawn")
    small_program(logdir / "train").close()
    values_program(logdir / "values").close()
    with Asker(logdir) as asker:
        yield asker


def _members(answer: Json) -> list[object]:
    lists = [value for value in answer.values() if isinstance(value, list)]
    return lists[0] if lists else list(answer.values())


def _check_run(asker: Asker, run: str) -> set[str]:
    """Check the answers to several questions about each part of a run; returns the routes that answered."""
    asked = set()
    for seed in range(3):
        for path, query in fitting(facts_of(asker, run, random.Random(seed))):
            if path in _OF_ROUTES and (response := asker.get(path, query)).status_code == 200:
                name, is_each = _OF_ROUTES[path]
                answer = decoded(response.content_type, response.data)
                if response.content_type == CONTENT_TYPE:
                    # The generation may be described once for all binary answers.
                    apart = _OF_EACH_HEADER | ({"generation"} - _class(name).__annotations__.keys())
                    answer = {key: value for key, value in answer.items() if key not in apart}
                for value in _members(answer) if is_each else [answer]:
                    assert list(misfits(value, _class(name), path)) == []
                asked.add(path)
    return asked


def test_the_answers_about_a_small_program_have_their_shapes(drawn):
    assert _check_run(drawn, "train") | _check_run(drawn, "values") == set(_OF_ROUTES) - _OF_PAUSES


def test_the_answers_about_a_program_that_is_paused_have_their_shapes(tmp_path):
    recording = small_program(tmp_path / "train")
    recording.close()
    with (
        served(ScriptedProgram(), tmp_path / "train", files=recording.files.prefix),
        Asker(tmp_path) as asker,
    ):
        end = time.monotonic() + 20
        while not _pause(listing := asker.json("/live/programs")):
            assert time.monotonic() < end, listing
        assert list(misfits(listing, _class("LiveProgramsJson"))) == []
        program = listing["programs"][0]["id"]
        for _ in range(2):
            asker.post("/live/control", {"program": program, "command": {"step": {}}})
        while not ((pause := _pause(asker.json("/live/programs"))) and pause["tensor"]):
            assert time.monotonic() < end, pause
        found = asker.json("/live/paused", program=program, pause=pause["number"])
        assert found["op"] is not None
        assert list(misfits(found, _class("PausedJson"))) == []


def _pause(listing: Json) -> Json | None:
    """Return the pause of the first program, if it is known."""
    state = listing["programs"][0]["state"] if listing["programs"] else None
    return state and state["pause"]


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(path, marks=[pytest.mark.long] * (path.name not in ("FULL_HEALTH", "FULL_TENSOR")))
        for path in _RECORDED
    ],
    ids=lambda path: path.relative_to(_GOLDEN).as_posix(),
)
def test_the_answers_about_a_recording_of_tensorflow_have_their_shapes(folder: Path):
    with Asker(folder) as asker:
        (run,) = asker.json("/runs")
        assert "/status" in _check_run(asker, run)


def test_a_missing_an_unknown_and_a_wrong_field_do_not_fit(drawn):
    answer = drawn.json("/alerts", run="train")
    shape = _class("AlertsJson")
    first = answer["alerts"][0]
    del first["op_type"]
    first.update(surplus=1, output_slot="0")
    answer["rules"] = None
    assert sorted(misfits(answer, shape)) == [
        ".alerts[0].op_type is missing",
        ".alerts[0].output_slot: '0' is no int",
        ".alerts[0].surplus is not declared",
        ".rules: None is no list",
    ]
