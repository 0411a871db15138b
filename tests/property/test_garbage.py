"""`server/routes.py`: every route answers, whatever is in records with correct frames."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.errors import QueryError
from tb_debugger_plugin.events.framing import frame, read_records
from tb_debugger_plugin.index.logdir import one_folder
from tb_debugger_plugin.server.answers import Download, encoded
from tb_debugger_plugin.server.query import Query
from tb_debugger_plugin.server.routes import ROUTES
from tb_debugger_plugin.server.viewer import Access, Viewer, open_viewer
from tests.support.asking import Facts, fitting
from tests.support.events import PATIENCE_S, small_program
from tests.support.examples import examples

_MUTATION = st.tuples(st.sampled_from("set cut add".split()), st.integers(0, 2**16), st.integers(0, 255))


def _mutate(payload: bytes, mutations: list[tuple[str, int, int]]) -> bytes:
    content = bytearray(payload)
    for kind, place, value in mutations:
        at = place % (len(content) + 1)
        if kind == "add":
            content.insert(at, value)
        elif at < len(content):
            content[at : at + 1] = bytes([value]) if kind == "set" else b""
    return bytes(content)


@given(st.lists(st.tuples(st.integers(0, 2**16), st.lists(_MUTATION, min_size=1, max_size=3)), max_size=8))
@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.too_slow])
def test_no_content_of_a_record_keeps_a_route_from_answering(victims):
    with tempfile.TemporaryDirectory() as folder:
        small_program(Path(folder)).close()
        paths = sorted(Path(folder).iterdir())
        for number, mutations in victims:
            path = paths[number % len(paths)]
            payloads = [payload for _, payload in read_records(path.read_bytes())[0]]
            victim = number // len(paths) % len(payloads)
            payloads[victim] = _mutate(payloads[victim], mutations)
            path.write_bytes(b"".join(map(frame, payloads)))
        _ask_everything(Path(folder))


def _ask_everything(folder: Path) -> None:
    viewer = open_viewer(one_folder(folder), Access("some key"))
    try:
        for run in viewer.run_library.runs():
            loader = viewer.run_library.loader(run)
            assert loader.wait(PATIENCE_S) and not loader.failure
            for path, parameters in fitting(Facts(run, execution=1, trace=1)):
                _ask(viewer, path, {name: str(value) for name, value in parameters.items()})
    finally:
        viewer.close()


def _ask(viewer: Viewer, path: str, parameters: dict[str, str]) -> None:
    try:
        answer = ROUTES[path](viewer, Query(parameters))
    except QueryError as error:
        assert str(error).endswith(".")
        return
    if isinstance(answer, Download):
        assert sum(map(len, answer.chunks)) == answer.size
        answer.close()
    else:
        assert encoded(answer).content
