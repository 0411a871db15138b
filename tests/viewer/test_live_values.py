"""`live/viewer/live_value.py`: values that a program holds, by the routes of recorded ones."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from google.protobuf.message import Message

from tb_debugger_plugin.events.dtypes import NUMBER_OF
from tb_debugger_plugin.live.messages import messages as m
from tb_debugger_plugin.live.viewer import elements as elements_module
from tests.support.asking import Asker
from tests.support.live_program import KINDS, LOSS, Op, ScriptedProgram, served

pytestmark = pytest.mark.timeout(120)

_VALUES: dict[str, np.ndarray] = {}
for _op in (*LOSS, *KINDS):
    _VALUES[_op.name] = np.asarray(_op.compute(_VALUES, 0))


class _Page:
    """A page at a program."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        listing = asker.json("/live/programs")
        self.id = listing["programs"][0]["id"]

    def tensors(self, name: str) -> list[dict[str, object]]:
        """The tensors of an op."""
        listed = self.asker.json("/live/tensors", program=self.id)["tensors"]
        return [one for one in listed if one["op_name"] == name]

    def query(self, name: str, **more: object) -> dict[str, object]:
        """Names the last tensor of an op."""
        return {"program": self.id, "tensor": self.tensors(name)[-1]["number"], **more}


@pytest.fixture(scope="module")
def program() -> ScriptedProgram:
    """A program that is paused after all ops of its call."""
    program = ScriptedProgram(ops=(*LOSS, *KINDS))
    for _ in range(len(LOSS) + len(KINDS)):
        program.control(m.Command(step={}))
    return program


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, program: ScriptedProgram) -> Iterator[_Page]:
    logdir = tmp_path_factory.mktemp("logdir")
    with served(program, logdir), Asker(logdir) as asker:
        yield _Page(asker)


@pytest.mark.parametrize(
    "name", [op.name for op in (*LOSS, *KINDS) if op.dtype not in ("string", "resource")]
)
def test_a_tensor_of_each_dtype_has_the_values_of_the_program(page, name):
    if _VALUES[name].dtype.name in ("bfloat16", "int4"):
        texts = page.asker.json("/values/text", page.query(name))["cells"]
        assert [float(one) for one in np.ravel(texts)] == _VALUES[name].astype(float).ravel().tolist()
        return
    response = page.asker.get("/values/npy", page.query(name))
    assert response.status_code == 200, response.text
    actual = np.load(io.BytesIO(response.data))
    np.testing.assert_array_equal(actual, _VALUES[name])


def test_strings_are_texts(page):
    cells = page.asker.json("/values/text", page.query("strings"))["cells"]
    assert cells == [["'a b'", "'é'", "b'\\xff'"]]


def test_a_slice_is_a_picture_and_only_its_range_travels(page, program, monkeypatch):
    asked: list[int] = []
    elements = program.elements
    monkeypatch.setattr(
        program, "elements", lambda *given: asked.append(given[2] - given[1]) or elements(*given)
    )
    header, columns = page.asker.columns("/values", page.query("big", slicing="[3, :, 2, :]"))
    assert header["slice_shape"] == [32, 16]
    np.testing.assert_array_equal(columns["value"], _VALUES["big"][3, :, 2, :].ravel())
    assert sum(asked) < _VALUES["big"].size / 8


def test_statistics_are_of_all_elements(page):
    actual = page.asker.json("/values/summary", page.query("big", low=10, high=19))
    assert (actual["size"], actual["in_range"]) == (_VALUES["big"].size, 10)
    assert actual["mean"] == pytest.approx(_VALUES["big"].mean())


def test_what_is_known_of_a_value(page):
    info = page.asker.json("/values/info", page.query("Log"))
    assert (info["program"], info["name"], info["graph_id"], info["function"]) == (
        page.id,
        "Log:0",
        "g1",
        "loss",
    )
    assert (info["dtype"], info["shape"], info["bytes"], info["is_kept"]) == ("float32", [1, 2], 8, True)
    assert info["health"]["bad"] and info["health"]["neg_inf"] == 1 and info["health"]["max"] == 0
    assert abs(info["wall_time"] - time.time()) < 100


def test_a_value_that_is_not_held_says_why(page):
    info = page.asker.json("/values/info", page.query("variable"))
    assert (info["is_kept"], info["reason"]) == (False, "A resource has no value.")
    refusal = page.asker.refusal("/values", page.query("variable"))
    assert refusal == (404, "variable:0 has no value here. A resource has no value.")


def test_the_history_has_the_times_that_the_tensor_was_computed_in_the_call(page):
    numbers = [one["number"] for one in page.tensors("while/Mul")]
    header, columns = page.asker.columns("/values/history", page.query("while/Mul", slicing="0, 1"))
    assert header["total"] == 3 and columns["index"].tolist() == numbers
    assert columns["value"].tolist() == [2.0, 4.0, 8.0] and columns["is_kept"].tolist() == [1, 1, 1]
    info = page.asker.json("/values/info", {"program": page.id, "tensor": numbers[1]})
    assert (info["num_occurrences"], info["occurrence"]) == (3, 1)
    page_of_one = page.asker.columns("/values/history", page.query("while/Mul", begin=1, end=2))
    assert page_of_one[1]["index"].tolist() == [numbers[1]]


@pytest.mark.parametrize("path", ["", "/info", "/text", "/summary", "/history", "/npy"])
def test_a_value_is_gone_when_the_program_has_gone_on(tmp_path, path):
    with served(ScriptedProgram(), tmp_path) as program, Asker(tmp_path) as asker:
        page = _Page(asker)
        program.control(m.Command(step={}))
        query = page.query("x")
        assert asker.get(f"/values{path}", query).status_code == 200
        program.control(m.Command(step_over={}))
        status, sentence = asker.refusal(f"/values{path}", query)
        assert status == 404 and "The program has gone on" in sentence


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ({"tensor": 0}, 404, "does not hold tensor 0"),
        ({"tensor": 10**14}, 404, "does not hold tensor"),
        ({"tensor": -1}, 400, "tensor must not be below 0"),
        ({}, 400, "The parameter tensor is missing."),
        ({"program": "nobody", "tensor": 1}, 404, "There is no program 'nobody'"),
        ({"tensor": 1, "slicing": "7"}, 400, "Index 7 is out of range"),
    ],
)
def test_a_value_that_is_not_there_is_refused_in_a_sentence(page, query, status, said):
    actual, sentence = page.asker.refusal("/values", {"program": page.id, **query})
    assert actual == status and said in sentence


# Programs that answer what they should not.


class _Hostile(ScriptedProgram):
    """A program that sends other elements than it lists."""

    def __init__(self, tensor: Message, parts: Callable[[int, int], Iterator[bytes]]) -> None:
        super().__init__(ops=(Op("x", "X", lambda values, call: np.zeros(2, np.float32)),))
        self._tensor, self._parts = tensor, parts

    def list_tensors(self, after: int, limit: int) -> Message:
        return m.TensorList(tensors=[self._tensor])

    def elements(self, tensor: int, begin: int, end: int) -> Iterator[bytes]:
        yield from self._parts(begin, end)


def _tensor(shape: list[int], dtype: str | int = "float32") -> Message:
    number = NUMBER_OF[dtype] if isinstance(dtype, str) else dtype
    return m.Tensor(number=1, op_name="<b>x</b>", shape=shape, dtype=number, has_value=True)


def _endless(begin: int, end: int) -> Iterator[bytes]:
    while True:
        yield bytes(1 << 20)


def _right(begin: int, end: int) -> Iterator[bytes]:
    for at in range(begin, end, 1 << 18):
        yield bytes(4 * (min(end, at + (1 << 18)) - at))


@pytest.mark.parametrize(
    ("tensor", "parts", "said"),
    [
        (_tensor([2]), lambda *_: iter([b"123"]), "3 bytes in place of 8"),
        (_tensor([2]), lambda *_: iter([]), "0 bytes in place of 8"),
        (_tensor([2]), _endless, "more elements than were asked for"),
        (_tensor([-1]), _endless, "impossible shape"),
        (_tensor([1 << 40, 1 << 40]), _endless, "impossible shape"),
        (_tensor([1] * 255), _endless, "impossible shape"),
        (_tensor([2], 999), _endless, "has no value here. NumPy has no arrays of its dtype"),
        (_tensor([2], "variant"), _endless, "NumPy has no arrays of variant"),
        (_tensor([2], "string"), lambda *_: iter([b"\x05ab"]), "as many strings"),
        (_tensor([2], "string"), lambda *_: iter([b"\xff" * 30]), "cannot be read"),
        (_tensor([2], "string"), lambda *_: iter([b"\x01a\x01b\x01c"]), "as many strings"),
        (_tensor([2], "string"), _endless, "more elements than were asked for"),
        (_tensor([1 << 40]), _right, "takes too long"),
    ],
)
def test_a_program_that_sends_nonsense_is_told_in_a_sentence(tmp_path, monkeypatch, tensor, parts, said):
    monkeypatch.setattr(elements_module, "_PATIENCE_S", 0.5)
    path = "/values/text" if tensor.dtype == NUMBER_OF["string"] else "/values/summary"
    with served(_Hostile(tensor, parts), tmp_path), Asker(tmp_path) as asker:
        page = _Page(asker)
        status, sentence = asker.refusal(path, program=page.id, tensor=1)
        assert status == 404 and said in sentence
        assert asker.get("/values/info", program=page.id, tensor=1).status_code == 200
        assert asker.get("/values/history", program=page.id, tensor=1, slicing="0").status_code in (200, 400)
        assert asker.json("/live/programs")["programs"]
