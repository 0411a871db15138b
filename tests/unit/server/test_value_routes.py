"""`server/values.py`: a recorded tensor as numbers, texts, statistics, occurrences and a file."""

from __future__ import annotations

import io

import numpy as np
import pytest

from tb_debugger_plugin.events.messages import TensorProto
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.asking import Asker, decoded
from tests.support.events import Recording, shaped, values_program

with np.errstate(all="ignore"):
    _LOGS = [np.log(np.array([[1, 0, -1], [4, step, 2]], np.float32)) for step in range(3)]
#: The position of the last Log among the graph executions.
_LOG = {"run": ".", "graph_execution": 5}


@pytest.fixture(scope="module")
def asker(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logdir")
    values_program(logdir).close()
    with Asker(logdir) as asker:
        yield asker


def test_a_slice_comes_element_by_element(asker):
    header, columns = asker.columns("/values", {**_LOG, "slicing": "[:, ::-1]"})
    assert (header["slice_shape"], header["grid"], header["tile"]) == ([2, 3], [2, 3], [1, 1])
    assert header["dtype"] == "float32"
    np.testing.assert_array_equal(columns["value"], _LOGS[2][:, ::-1].reshape(-1).astype(np.float64))


def test_a_slice_comes_in_tiles_when_it_is_larger_than_the_picture(asker):
    header, columns = asker.columns("/values", {**_LOG, "rows": 1, "columns": 2})
    assert (header["grid"], header["tile"]) == ([1, 2], [2, 2])
    assert columns["kinds"].tolist() == [4 + 8, 1 + 8]
    np.testing.assert_allclose(columns["max"], [np.log(4), np.log(2)], rtol=1e-6)


def test_the_output_of_an_execution_has_a_value(asker):
    info = asker.json("/values/info", {"run": ".", "execution": 0})
    assert (info["name"], info["dtype"], info["shape"], info["bytes"]) == ("Fill:0", "float32", [2, 3], 24)
    assert info["is_kept"] and info["reason"] is None
    assert (info["num_occurrences"], info["occurrence"]) == (3, 0)


def test_what_is_known_of_a_tensor_of_a_graph(asker):
    info = asker.json("/values/info", _LOG)
    assert (info["name"], info["op_type"], info["function"]) == ("Log:0", "Log", "loss")
    assert info["health"]["bad"] and info["health"]["nan"] == 1
    assert (info["num_occurrences"], info["occurrence"]) == (3, 2)


def test_texts_are_exact_and_a_window_of_the_slice(asker):
    actual = asker.json("/values/text", {**_LOG, "column": 1, "rows": 1, "columns": 9})
    assert actual == {"slice_shape": [2, 3], "row": 0, "column": 1, "cells": [["-inf", "nan"]]}
    strings = asker.json("/values/text", {"run": ".", "execution": 6})
    assert strings["cells"] == [["'a b'", "'é'", "b'\\xff'"]]


def test_statistics_and_a_range(asker):
    actual = asker.json("/values/summary", {**_LOG, "slicing": "0", "low": "-inf", "high": 0, "bins": 2})
    assert actual["size"] == 3
    assert actual["counts"] == {
        "neg_inf": 1,
        "negative": 0,
        "zero": 1,
        "positive": 0,
        "pos_inf": 0,
        "nan": 1,
    }
    assert actual["in_range"] == 2 and sum(actual["histogram"]["counts"]) == 1


def test_the_history_has_one_element_of_each_occurrence(asker):
    header, columns = asker.columns("/values/history", {**_LOG, "slicing": "1, 1"})
    assert (header["begin"], header["end"], header["total"]) == (0, 3, 3)
    assert columns["index"].tolist() == [1, 3, 5] and columns["is_kept"].tolist() == [1, 1, 1]
    np.testing.assert_allclose(columns["value"], [log[1, 1] for log in _LOGS], rtol=1e-6)
    assert "value" not in asker.columns("/values/history", _LOG)[1]
    page, rows = asker.columns("/values/history", {**_LOG, "begin": 1, "end": 2})
    assert (page["total"], rows["index"].tolist()) == (3, [3])


def test_a_slice_is_downloaded_for_numpy(asker):
    response = asker.get("/values/npy", {**_LOG, "slicing": ":, 1"})
    assert response.headers["Content-Disposition"] == 'attachment; filename="Log_0_5.npy"'
    assert int(response.headers["Content-Length"]) == len(response.data)
    np.testing.assert_array_equal(np.load(io.BytesIO(response.data)), _LOGS[2][:, 1])


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ({}, 400, "Exactly one of the parameters execution and graph_execution is needed."),
        ({"execution": 0, "graph_execution": 0}, 400, "Exactly one of the parameters"),
        ({"graph_execution": 6}, 400, "There is no graph execution 6; there are 6."),
        ({"execution": 0, "slot": 1}, 404, "Execution 0 has no output 1; it has 1 outputs."),
        ({"execution": 6, "slot": 1}, 404, "has no value here. Nothing is recorded of this output."),
        ({"execution": 6, "slot": 2}, 404, "The value has 24 bytes, which is more than the recording keeps"),
        ({"graph_execution": 0, "slicing": "7"}, 400, "Index 7 is out of range for axis 0"),
        ({"execution": 6}, 400, "A tensor of strings has no numbers"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_sentence(asker, query, status, said):
    actual, sentence = asker.refusal("/values", {"run": ".", **query})
    assert actual == status and said in sentence


def test_strings_are_not_downloaded(asker):
    assert asker.refusal("/values/npy", {"run": ".", "execution": 6})[0] == 400


def test_a_tensor_that_was_too_large_has_its_summary(asker):
    info = asker.json("/values/info", {"run": ".", "execution": 6, "slot": 2})
    assert not info["is_kept"] and info["health"]["positive"] == 6
    assert info["reason"].startswith("The value has 24 bytes, which is more")


_HOSTILE = {
    "highest_rank": shaped(*[1] * 254, tensor_content=b"1234"),
    "product_overflows": shaped(1 << 40, 1 << 40, tensor_content=b"1234"),
    "fewer_bytes": shaped(100, 100, tensor_content=b"1234"),
    "negative": shaped(-5, tensor_content=b"1234"),
    "one_for_a_million_millions": shaped(10**6, 10**6, float_val=[1.0]),
    "long_strings": shaped(2, dtype=7, string_val=[b"\xff\0", b"x" * 100_000]),
    "no_elements": shaped(2, dtype=20, tensor_content=b"1234"),
    "nothing": TensorProto(),
}


@pytest.fixture(scope="module")
def hostile_asker(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("hostile")
    recording = Recording(logdir, mode=TensorDebugMode.FULL_TENSOR)
    recording.graph("g")
    for name, proto in _HOSTILE.items():
        recording.op("g", name, "Log", ids=[len(name)])
        recording.trace("g", name, proto)
    recording.close()
    with Asker(logdir) as asker:
        yield asker


@pytest.mark.timeout(30)
@pytest.mark.parametrize("index", range(len(_HOSTILE)), ids=list(_HOSTILE))
@pytest.mark.parametrize("path", ["", "/info", "/text", "/summary", "/npy", "/history"])
@pytest.mark.parametrize("slicing", [None, "0", "0, ..."])
def test_a_hostile_tensor_is_refused_at_once_and_breaks_nothing(hostile_asker, index, path, slicing):
    query = {"run": ".", "graph_execution": index, **({} if slicing is None else {"slicing": slicing})}
    response = hostile_asker.get(f"/values{path}", query)
    assert response.status_code in (200, 400, 404), response.text
    answer = decoded(response.mimetype, response.data)
    assert response.status_code == 200 or answer["error"].endswith(".")
    assert len(response.data) < 10_000
