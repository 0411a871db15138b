"""A hostile program with breakpoints, and a page of another site: what the viewer does with them.

Takes an empty folder and returns the problems. The program answers each call of the service with random
messages, broken bytes, too much, too late or not at all; the page posts bodies that are cut, changed and
nested. It checks that every route answers with a known status and whole JSON, that nothing is obeyed without
the key, and that the secret is in no answer.
"""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from google.protobuf.message import Message
from werkzeug.test import TestResponse

from tb_debugger_plugin.errors import FormatError, QueryError
from tb_debugger_plugin.live.messages import discovery, messages
from tb_debugger_plugin.live.viewer import elements
from tests.fuzz.hostile import TEXTS, fill
from tests.support.asking import HOSTILE, Asker, decoded
from tests.support.live_program import served
from tests.support.serving import KEY

_QUESTIONS: Final = 12
_POSTS: Final = 12
#: Statuses of answers; 503 is that of a program that does not answer in time.
_STATUSES: Final = (200, 400, 404, 503)
_VALUES: Final = ("", "/info", "/text", "/summary", "/history", "/npy")
_DTYPES: Final = (0, 1, 1, 1, 2, 3, 7, 7, 9, 10, 14, 18, 20, 29, 101, 999)
_SHAPES: Final = ([], [2], [2, 3], [0, 5], [-1], [1 << 40], [1 << 40] * 3, [1] * 255, [9] * 60)


class HostileProgram:
    """Has the interface of a controller, and answers whatever it likes.

    Args:
      rng: Chooses the answers.

    Attributes:
      obeyed: Commands that reached it.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.obeyed: list[Message] = []

    def _random(self, kind: type[Message]) -> Message:
        message = kind()
        fill(self._rng, message)
        return message

    def state(self) -> Message:
        """Returns any state."""
        return self._random(messages.State)

    def follow(self, version: int, timeout: float) -> Message:
        """Returns any state, often at once."""
        if self._rng.random() < 0.5:
            time.sleep(0.01)
        state = self.state()
        state.version = version + 1
        if self._rng.random() < 0.7:
            state.phase = self._rng.randrange(1, 5)
        return state

    @contextmanager
    def connected(self, follower: str, keep_s: float = 0.0) -> Iterator[None]:
        """Counts nothing."""
        yield

    def control(self, command: Message) -> Message:
        """Obeys nothing."""
        self.obeyed.append(command)
        return self._any(messages.Outcome)

    def _any(self, kind: type[Message]) -> Message:
        if self._rng.random() < 0.1:
            raise RuntimeError(self._rng.choice(TEXTS)[:1000])
        return self._random(kind)

    def list_tensors(self, after: int, limit: int) -> Message:
        """Returns tensors, of which the first one may be the one that was asked for."""
        found = self._any(messages.TensorList)
        tensor = self._random(messages.Tensor)
        del tensor.shape[:]
        tensor.shape.extend(self._rng.choice(_SHAPES))
        tensor.number, tensor.dtype = after + 1, self._rng.choice(_DTYPES)
        tensor.has_value = self._rng.random() < 0.9
        found.tensors.insert(0, tensor) if self._rng.random() < 0.9 else None
        return found

    def elements(self, tensor: int, begin: int, end: int) -> Iterator[bytes]:
        """Yields too little, too much, nonsense or what is right for a float."""
        for _ in range(self._rng.choice((0, 1, 1, 3, 1000))):
            size = self._rng.choice((0, 1, 7, 4 * min(end - begin, 1 << 18), 1 << 20))
            yield self._rng.randbytes(min(size, 99)).ljust(size, b"\1")

    def evaluate(self, text: str) -> Message:
        """Returns any evaluation."""
        return self._any(messages.Evaluation)

    def close(self) -> None:
        """Nothing is open."""


def ask_program(folder: Path, rng: random.Random) -> Iterator[str]:
    """Serves a hostile program below a folder, and asks the viewer about it.

    Args:
      folder: An empty folder.
      rng: Chooses answers and questions.

    Yields:
      A sentence for each problem.
    """
    patience, elements._PATIENCE_S = elements._PATIENCE_S, 0.2
    # The viewer says once of each odd file that it is left out, as it should; gRPC, what the program raises.
    says = [logging.getLogger(name) for name in ("tb_debugger_plugin.live.viewer.programs", "grpc._server")]
    for one in says:
        one.disabled = True
    _leave_odd_files(folder, rng)
    program = HostileProgram(rng)
    try:
        with served(program, folder / "train"), Asker(folder) as asker:
            (file,) = discovery.find(folder / "train")
            assert file.program is not None
            asked = _Asked(asker, file.program.secret)
            yield from _look(asked, rng)
            yield from _post(asked, program, rng)
    finally:
        elements._PATIENCE_S = patience
        for one in says:
            one.disabled = False


def _leave_odd_files(folder: Path, rng: random.Random) -> None:
    odd = folder / "odd"
    odd.mkdir(parents=True)
    for number in range(5):
        file = odd / f"tb_debugger_live.host{number}.{number + 1}.json"
        file.write_text(rng.choice(HOSTILE), "utf-8", "replace")
        file.chmod(rng.choice((0o600, 0o600, 0o644)))
    (odd / "tb_debugger_live.link.9.json").symlink_to(rng.choice(("/etc/passwd", "absent", "/dev/zero", ".")))


class _Asked:
    """A page, and what is wrong with the answers that it gets."""

    def __init__(self, asker: Asker, secret: str) -> None:
        self.asker = asker
        self._secret = secret.encode()
        listing = asker.json("/live/programs")
        self.ids = [one["id"] for one in listing["programs"]]

    def problem(self, what: str, response: TestResponse, statuses: tuple[int, ...]) -> Iterator[str]:
        """Yields what is wrong with an answer."""
        try:
            answer = decoded(response.mimetype, response.data)
        except ValueError as error:
            yield f"{what}: {error}"
            return
        if response.status_code not in statuses or (response.status_code != 200) != ("error" in answer):
            yield f"{what}: {response.status_code} {str(answer)[:300]}"
        if self._secret in response.data or KEY.encode() in response.data:
            yield f"{what}: the answer has the secret"


def _look(asked: _Asked, rng: random.Random) -> Iterator[str]:
    if len(asked.ids) != 1:
        yield f"{len(asked.ids)} programs were found of 1"
        return
    since: object = 0
    for _ in range(_QUESTIONS):
        response = asked.asker.get("/live/programs", {"since": since, "wait": rng.choice((0, 0.02, "x"))})
        yield from asked.problem("/live/programs", response, _STATUSES)
        since = (response.json or {}).get("version", 0)
        query: dict[str, object] = {"program": asked.ids[0], "tensor": rng.choice((1, 2, 2**40))}
        if rng.random() < 0.5:
            query["slicing"] = rng.choice(("0", "...", "0, ...", "::-1", *HOSTILE[:20]))
        path = rng.choice(("/live/tensors", *(f"/values{one}" for one in _VALUES)))
        if rng.random() < 0.3:
            query[rng.choice(("program", "tensor", "after", "limit", "begin", "end"))] = rng.choice(HOSTILE)
        yield from _get(asked, path, query)


def _get(asked: _Asked, path: str, query: dict[str, object]) -> Iterator[str]:
    response = asked.asker.get(path, query)
    try:
        len(response.data)
    except (QueryError, FormatError):
        # A download whose elements stop to come is cut off: its first part was sent already.
        if path != "/values/npy":
            yield f"{path} {query}: its answer is cut off"
        return
    yield from asked.problem(f"{path} {query}", response, _STATUSES)


def _post(asked: _Asked, program: HostileProgram, rng: random.Random) -> Iterator[str]:
    for _ in range(_POSTS):
        path, body = _body(rng, asked.ids)
        before = len(program.obeyed)
        headers, is_forged = _headers(rng)
        # A wrong key may be any text that a header can hold.
        key = KEY if not is_forged or headers else rng.choice(("", "x", KEY[:-1], "é"))
        response = asked.asker.post(path, body, headers, key=key)
        statuses = (403,) if is_forged else (*_STATUSES, 413)
        yield from asked.problem(f"POST {path} {body[:200]!r} {headers}", response, statuses)
        if is_forged and len(program.obeyed) != before:
            yield f"POST {path}: a request that may be forged was obeyed"


def _headers(rng: random.Random) -> tuple[dict[str, str | None], bool]:
    """Headers of a request, and whether they may be forged; no headers may have a wrong key."""
    kind = rng.random()
    if kind < 0.5:
        return {}, False
    if kind < 0.7:
        return {}, True
    wrong: list[dict[str, str | None]] = [
        {"Sec-Fetch-Site": rng.choice(("cross-site", "same-site", "none", "", "same-origin,x"))},
        {
            "Sec-Fetch-Site": None,
            "Origin": rng.choice(("null", "http://evil.example", "http://[", "localhost")),
        },
        {
            "Content-Type": rng.choice(
                ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonx")
            )
        },
        {"Host": rng.choice(("evil.example", "localhost.evil.example", "[::", "a@b", ""))},
    ]
    return rng.choice(wrong), True


def _body(rng: random.Random, ids: list[str]) -> tuple[str, bytes]:
    name = rng.choice([*ids, *ids, *ids, *HOSTILE])
    if rng.random() < 0.5:
        body: dict[str, object] = {"program": name, "expression": rng.choice((*TEXTS, *HOSTILE))}
        path = "/live/evaluate"
    else:
        body, path = {"program": name, "command": _command(rng)}, "/live/control"
    text = json.dumps(body).encode()
    if rng.random() < 0.3:
        at = rng.randrange(len(text) + 1)
        text = rng.choice((text[:at], text[:at] + rng.randbytes(3) + text[at + 3 :], b"[" * 50_000, text * 2))
    return path, text


def _command(rng: random.Random) -> object:
    command: dict[str, object] = {
        rng.choice(list(messages.Command.DESCRIPTOR.fields_by_name)): _thing(rng, 0)
    }
    if rng.random() < 0.3:
        command[rng.choice((*TEXTS, "pause_number"))] = _thing(rng, 0)
    return command if rng.random() < 0.9 else _thing(rng, 0)


def _thing(rng: random.Random, depth: int) -> object:
    simple = (None, True, 0, -1, 3, 2**31, 2**63, 2**70, 1.5, 1e308, *TEXTS, {}, [])
    if depth > 3 or rng.random() < 0.6:
        return rng.choice(simple)
    if rng.random() < 0.2:
        return [_thing(rng, depth + 1) for _ in range(rng.randrange(4))]
    names = "where condition op_name slot calls tensor expression number ignore path".split()
    return {rng.choice(names): _thing(rng, depth + 1) for _ in range(rng.randrange(4))}
