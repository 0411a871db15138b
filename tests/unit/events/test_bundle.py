"""`events/bundle.py`: a bundle is read as it was written, and other bytes are refused with a sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events import framing
from tb_debugger_plugin.events.bundle import (
    Argument,
    Bundle,
    Header,
    Result,
    parse_name,
    read_bundle,
    read_header,
    write_bundle,
)

HEADER = Header(
    function="f_bundled",
    original="f",
    title="f (train.py:3)",
    call=4,
    step=None,
    wall_time=2.5,
    bad=("result 0",),
    arguments=(
        Argument("x", "value", "float32", values=(0,)),
        Argument("w", "variable", "float32", (2, -1), "layer/w", (1,)),
        Argument("table", "unused", "resource"),
    ),
    results=(Result("float32", (3,), "ab"),),
    sizes=(3, 0),
    left_out={1: 9},
    optionals={1: (0,)},
    versions={"tensorflow": "2.21.0"},
)
BUNDLE = Bundle(HEADER, b"functions", [b"one", b""])


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_bundle(tmp_path / "b", BUNDLE)
    assert read_bundle(tmp_path / "b") == BUNDLE
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_large_value_is_in_several_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_debugger_plugin.events.bundle._CHUNK", 2)
    write_bundle(tmp_path / "b", BUNDLE)
    assert read_bundle(tmp_path / "b") == BUNDLE
    with (tmp_path / "b").open("rb") as stream:
        assert len(framing.read_records(stream)[0]) == 4


def test_the_header_is_read_alone(tmp_path: Path) -> None:
    write_bundle(tmp_path / "b", BUNDLE)
    content = (tmp_path / "b").read_bytes()
    (tmp_path / "b").write_bytes(content[:-10])
    assert read_header(tmp_path / "b") == HEADER
    (tmp_path / "b").write_bytes(content[:10])
    with pytest.raises(FormatError, match="does not begin with a record"):
        read_header(tmp_path / "b")


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("tfdbg_events.7.a.host.replay_12", ("tfdbg_events.7.a.host.", 12, "")),
        ("tfdbg_events.7.host.replay_1.tried", ("tfdbg_events.7.host.", 1, ".tried")),
        ("tfdbg_events.7.host.replay_1.replay_2", ("tfdbg_events.7.host.replay_1.", 2, "")),
        ("tfdbg_events.7.host.replay_", None),
        ("tfdbg_events.7.host.graphs", None),
        ("replay_1", None),
    ],
)
def test_names_are_parsed(name: str, parsed: object) -> None:
    assert parse_name(name) == parsed


@pytest.mark.parametrize(
    "change",
    [
        {"bundle": 2},
        {"arguments": [{**json.loads(json.dumps(HEADER.arguments[0].__dict__)), "kind": "other"}]},
        {"arguments": [{"name": "x"}]},
        {"arguments": 3},
        {"sizes": [3, -1]},
        {"sizes": [4, 0]},
        {"sizes": [3]},
        {"function": 3},
        {"call": "much"},
        {"call": 1e400},
        {"versions": []},
        {"left_out": {"x": 1}},
        {"optionals": {"0": [7]}},
        {"optionals": {"0": 7}},
        {"wall_time": None},
    ],
)
def test_a_wrong_header_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    write_bundle(tmp_path / "good", BUNDLE)
    with (tmp_path / "good").open("rb") as stream:
        payloads = [payload for _, payload in framing.read_records(stream)[0]]
    payloads[0] = json.dumps({**json.loads(payloads[0]), **change}).encode()
    (tmp_path / "bad").write_bytes(b"".join(map(framing.frame, payloads)))
    with pytest.raises(FormatError, match="bad is not the bundle of a call"):
        read_bundle(tmp_path / "bad")


@given(st.binary(max_size=300))
def test_other_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "other_bytes"
    for made in (content, framing.frame(content), framing.frame(content) * 2):
        path.write_bytes(made)
        with pytest.raises(FormatError):
            read_bundle(path)


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_flipped_byte_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, position: int, mask: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "flipped"
    write_bundle(path, replace(BUNDLE, functions=b"functions" * 20))
    damaged = bytearray(path.read_bytes())
    damaged[position % len(damaged)] ^= mask
    path.write_bytes(damaged)
    with pytest.raises(FormatError):
        read_bundle(path)
