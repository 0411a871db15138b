"""Converts a number into a hostile file set.

Takes a seed and a number and returns the files of one host, with a word for their damage. One in four inputs
is the next of a list of all positions in a small recording: each byte of a file flipped, each byte of each
payload flipped with right checksums, each file cut at each length. The others are random.
"""

from __future__ import annotations

import functools
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from tb_debugger_plugin.events import fileset, tail
from tb_debugger_plugin.events.framing import read_records
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.fuzz import damage
from tests.fuzz.hostile import hostile_event
from tests.support.events import Recording, small_program, whole
from tests.support.tails import build_tail

Files = dict[str, bytes]
_MASKS: Final = (0x01, 0x80, 0xFF)
_HUGE: Final = 100 << 20
#: One input out of this many has a string of 100 MB.
HUGE_EVERY: Final = 20_011


@dataclass(frozen=True)
class Input:
    """One hostile file set.

    Attributes:
      number: Number of the input.
      kind: A word for its damage.
      files: Contents of the files by suffix of the name.
    """

    number: int
    kind: str
    files: Files

    def write(self, folder: Path, host: str) -> None:
        """Write the files."""
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, content in self.files.items():
            (folder / f"tfdbg_events.{1000 + self.number}.{host}.{suffix}").write_bytes(content)

    @property
    def has_tail(self) -> bool:
        """Whether there is a tail file, in which records may be, too."""
        return any(suffix.endswith(tail.SUFFIX) for suffix in self.files)


def make_input(seed: int, number: int) -> Input:
    """Makes the input with a number."""
    rng = random.Random(f"{seed}/{number}")
    if number % HUGE_EVERY == HUGE_EVERY - 1:
        return Input(number, "huge string", huge(rng.choice(list(_HUGE_FIELDS))))
    if number % 4 == 0:
        places = _places(seed)
        kind, suffix, place, mask = places[number // 4 % len(places)]
        return Input(number, kind, _spoil_place(kind, suffix, place, mask))
    kind = rng.choice(list(_DRAWN))
    return Input(number, kind, _DRAWN[kind](rng))


def num_places() -> int:
    """Returns the number of inputs that is needed to damage the small recording at every position."""
    return 4 * len(_places(0))


@functools.cache
def _recordings() -> list[Files]:
    with tempfile.TemporaryDirectory() as root:
        health = small_program(Path(root) / "health", steps=1)
        health.request(1, feeds=[("x:0", 1, [2])], fetches=["Log:0"])
        health.session_run(1, 1, thread=1, error="no")
        health.op_times(1, "CPU", [("Log", 1, 2, 3, 4)])
        health.close()
        tensors = Recording(Path(root) / "tensors", mode=TensorDebugMode.FULL_TENSOR)
        tensors.graph("g1", "f")
        for dtype, kind in ((1, "<f4"), (9, "<i8"), (10, "|b1"), (14, "<u2"), (18, "<c16")):
            tensors.execution("Fill", [whole(np.ones((2, 3), kind), dtype), None], ids=[1, 2], inputs=[1])
            tensors.trace("g1", "x", whole(np.zeros(4, kind), dtype))
        tensors.counts(5, 5, finished=True)
        tensors.close()
        golden = (
            Path(__file__).parents[1] / "golden" / "tensorflow-2.21.0" / "SHAPE"
        )  # one version, so that inputs do not change
        folders = [Path(root) / "health", Path(root) / "tensors", golden]
        return [_files_of(folder) for folder in folders]


def _files_of(folder: Path) -> Files:
    (files,) = fileset.find_file_sets(folder)
    paths = {suffix: files.path(suffix) for suffix in fileset.SUFFIXES}
    return {s: path.read_bytes() for s, path in paths.items() if path.exists() and path.stat().st_size}


def _payloads(content: bytes) -> list[bytes]:
    return [payload for _, payload in read_records(content)[0]]


@functools.cache
def _places(seed: int) -> list[tuple[str, str, int, int]]:
    actual = []
    for suffix, content in _recordings()[0].items():
        inside = sum(map(len, _payloads(content)))
        actual += [("flipped", suffix, place, mask) for place in range(len(content)) for mask in _MASKS]
        actual += [("flipped inside", suffix, place, mask) for place in range(inside) for mask in _MASKS]
        actual += [("cut", suffix, place, 0) for place in range(len(content))]
    random.Random(seed).shuffle(actual)
    return actual


def _spoil_place(kind: str, suffix: str, place: int, mask: int) -> Files:
    content = _recordings()[0][suffix]
    if kind == "cut":
        spoiled = content[:place]
    elif kind == "flipped":
        spoiled = damage.flip(content, place, mask)
    else:
        spoiled = damage.flip_inside(_payloads(content), place, mask)
    return {**_recordings()[0], suffix: spoiled}


def _spoiled(spoil: Callable[[random.Random, list[bytes]], bytes]) -> Callable[[random.Random], Files]:
    def make(rng: random.Random) -> Files:
        files = dict(rng.choice(_recordings()))
        for suffix in rng.sample(list(files), rng.randrange(1, 4)):
            files[suffix] = spoil(rng, _payloads(files[suffix]))
        return files

    return make


def _hostile(rng: random.Random) -> Files:
    files = dict(_recordings()[0]) if rng.random() < 0.5 else {}
    for suffix in fileset.SUFFIXES:
        count = 1 if suffix == fileset.METADATA else rng.choice((0, 1, 5, 20))
        events = [hostile_event(rng, suffix).SerializeToString() for _ in range(count)]
        files[suffix] = files.get(suffix, b"") + damage.framed(events)
    return files


def _with_tails(rng: random.Random) -> Files:
    files = dict(_recordings()[0])
    for suffix in fileset.WITH_TAIL:
        payloads = _payloads(files[suffix])
        kept = rng.randrange(len(payloads) + 1)
        files[suffix] = damage.framed(payloads[:kept])
        content = build_tail(
            payloads[kept:],
            mode=rng.choice(list(tail.TailMode)),
            file_size=rng.choice((len(files[suffix]), len(files[suffix]), 0, 10, 2**63)),
            tail=rng.choice((0, 4000, 2**40)),
        )
        for _ in range(rng.randrange(3)):
            place = rng.randrange(48) if rng.random() < 0.5 else rng.randrange(len(content))
            content = damage.flip(content, place, rng.choice(_MASKS))
        files[suffix + tail.SUFFIX] = content[: rng.choice((len(content), len(content), rng.randrange(5000)))]
    return files


_DRAWN: Final[dict[str, Callable[[random.Random], Files]]] = {
    "hostile fields": _hostile,
    "wrong length": _spoiled(damage.lie_about_length),
    "wrong checksum": _spoiled(damage.spoil_checksum),
    "shuffled records": _spoiled(damage.shuffle),
    "mangled records": _spoiled(damage.mangle),
    "protobuf garbage": _spoiled(damage.garbage),
    "text that is none": _spoiled(damage.bad_text),
    "tail files": _with_tails,
}

_HUGE_FIELDS: Final = {
    "op_name": (fileset.GRAPHS, "graph_op_creation"),
    "graph_id": (fileset.GRAPHS, "debugged_graph"),
    "lines": (fileset.SOURCE_FILES, "source_file"),
    "func": (fileset.STACK_FRAMES, "stack_frame_with_id"),
    "device_name": (fileset.GRAPH_EXECUTION_TRACES, "graph_execution_trace"),
    "op_type": (fileset.EXECUTION, "execution"),
}


def huge(name: str, size: int = _HUGE) -> Files:
    """Returns the small recording with one more record, in which one text is very long.

    Args:
      name: Name of the field.
      size: Length of the text.
    """
    suffix, kind = _HUGE_FIELDS[name]
    event = hostile_event(random.Random(0), suffix)
    event.Clear()
    message = getattr(event, kind)
    if name == "func":
        message.id, message = "huge", message.file_line_col
    if name == "lines":
        message.lines.append("x" * size)
    else:
        setattr(message, name, "x" * size)
    files = _recordings()[0]
    return {**files, suffix: files[suffix] + damage.framed([event.SerializeToString()])}
