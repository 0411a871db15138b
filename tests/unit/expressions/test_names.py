"""`expressions/names.py`: what is typed means the tensors it names, or the nearest names are suggested."""

from __future__ import annotations

import pytest

from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.expressions.names import (
    KnownTensor,
    TensorName,
    chosen,
    near,
    nth,
    number_in_brackets,
    only_slot,
    parse_tensor_name,
    suggestion,
)

_CPU = "/job:a/replica:0/task:0/device:CPU:0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("loss/Log", TensorName("loss/Log", node="loss/Log")),
        (" Log:1 [:, 3]", TensorName("Log:1", "[:, 3]", "Log", 1)),
        ("x:0:DebugIdentity", TensorName("x:0:DebugIdentity", node="x", slot=0, debug_op="DebugIdentity")),
        (f"{_CPU}:x:0", TensorName(f"{_CPU}:x:0", node="x", slot=0, device=_CPU)),
        ("#12", TensorName("#12", graph_execution=12)),
        ("#e5:1[0]", TensorName("#e5:1", "[0]", execution=5, slot=1)),
    ],
)
def test_a_name_has_its_parts(text: str, expected: TensorName) -> None:
    assert parse_tensor_name(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Lgo", "No tensor Lgo is recorded; did you mean 'Log'?"),
        ("x:3", "x has no recorded output 3; it has 0, 1."),
        (f"{_CPU}:x:0", f"x was not recorded on {_CPU}, but on gpu."),
    ],
)
def test_a_name_that_means_no_tensor_says_what_there_is(text: str, said: str) -> None:
    name = parse_tensor_name(text)
    known = [KnownTensor(slot, "gpu", slot) for slot in (0, 1, 0)] if name.node == "x" else []
    with pytest.raises(NotFoundError, match=f"^{said.replace('?', '[?]')}$"):
        chosen(name, known, lambda: ["Log", "x"])


def test_a_name_without_a_slot_means_all_outputs_and_a_value_needs_one() -> None:
    known = [KnownTensor(slot, None, slot) for slot in (1, 0, 1)]
    assert chosen(parse_tensor_name("x"), known, list) == [1, 0, 1]
    assert chosen(parse_tensor_name("x:1"), known, list) == [1, 1]
    assert only_slot(parse_tensor_name("x"), [1, 1]) == 1
    with pytest.raises(UsageError, match="write x:0"):
        only_slot(parse_tensor_name("x"), [1, 0])


def test_a_name_means_the_last_computation_or_that_of_its_brackets() -> None:
    assert [nth(number_in_brackets(parse_tensor_name(text)), 3, text) for text in ("x", "x[0]", "x[-2]")] == [
        2,
        0,
        1,
    ]
    with pytest.raises(UsageError, match="write slices after the backticks"):
        number_in_brackets(parse_tensor_name("x[:, 1]"))
    with pytest.raises(NotFoundError, match="was computed 3 time"):
        nth(3, 3, "x")


def test_suggestions_are_names_of_other_scopes_longer_names_and_those_spelled_alike() -> None:
    names = ["loss/Log", "Mean", "dense/LogSoftmax", "Lag", "Cast"]
    assert near("Log", names) == ["loss/Log", "dense/LogSoftmax", "Lag"]
    assert near("other/loss/Log", ["Log", "Mean"]) == ["Log"]
    assert near("lgo", ["a/b/Log", "MatMul"]) == ["a/b/Log"]
    assert suggestion("zzz", names) == "there is 'Cast', 'Lag', 'Mean', 'dense/LogSoftmax', 'loss/Log'."
    assert suggestion("zzz", []) == "there is none."
