"""`analysis/origins`: in random programs, the first origin is where op-by-op evaluation first went wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.origins.origins import origins
from tests.support.events import Recording, full_health, snapshot_of

#: The ops of the programs, by type: number of inputs, and the same in NumPy.
_OPS: dict[str, tuple[int, Callable[..., np.ndarray]]] = {
    "Log": (1, np.log),
    "Sqrt": (1, np.sqrt),
    "Neg": (1, np.negative),
    "Exp": (1, np.exp),
    "AddV2": (2, np.add),
    "Sub": (2, np.subtract),
    "Mul": (2, np.multiply),
    "RealDiv": (2, np.divide),
    "Maximum": (2, np.maximum),
}
#: The fields of a value's numbers that count bad elements of a kind.
_COUNTS = {"nan": ("nan",), "inf": ("neg_inf", "pos_inf")}
_VALUES = st.sampled_from([0.0, 1.0, -1.0, 2.5, 100.0])
_PROGRAMS = st.tuples(
    st.lists(_VALUES, min_size=3, max_size=3),
    st.lists(
        st.tuples(st.sampled_from(sorted(_OPS)), st.integers(0, 99), st.integers(0, 99)),
        min_size=1,
        max_size=9,
    ),
)
_Program = tuple[list[float], list[tuple[str, int, int]]]


class Evaluated:
    """A program that was evaluated op by op; the last tensor is its result."""

    def __init__(self, program: _Program) -> None:
        given_values, ops = program
        self.names, self.types = ["x"], ["Placeholder"]
        self.inputs: list[list[int]] = [[]]
        self.values = [np.array(given_values, np.float32)]
        for number, (op_type, *operands) in enumerate(ops):
            count, function = _OPS[op_type]
            inputs = [operand % len(self.values) for operand in operands[:count]]
            with np.errstate(all="ignore"):
                value = function(*(self.values[one] for one in inputs)).astype(np.float32)
            self.names.append(f"op{number}")
            self.types.append(op_type)
            self.inputs.append(inputs)
            self.values.append(value)

    def has(self, tensor: int, kind: str) -> bool:
        return bool((np.isnan if kind == "nan" else np.isinf)(self.values[tensor]).any())

    def is_made_of(self, tensor: int, other: int) -> bool:
        """Whether a tensor is another one, or was made of it."""
        return other in self.needed(tensor)

    def needed(self, tensor: int | None = None) -> set[int]:
        """The tensors that a tensor, or else the result, is made from, with itself."""
        found, waiting = set(), [len(self.values) - 1 if tensor is None else tensor]
        while waiting:
            tensor = waiting.pop()
            if tensor not in found:
                found.add(tensor)
                waiting += self.inputs[tensor]
        return found

    def record(self, folder: Path, unrecorded: Collection[int] = (), turned: int | None = None) -> None:
        """Writes the program; not the values of some tensors, and perhaps with an edge turned round."""
        recording = Recording(folder)
        recording.graph("g", "f")
        for name, op_type, inputs in zip(self.names, self.types, self.inputs, strict=True):
            taken = [f"{self.names[one]}:0" for one in inputs]
            if turned is not None and self.names[turned % len(self.names)] == name:
                taken = [f"{self.names[-1]}:0"]  # damage: the op takes the result, which takes it
            recording.op("g", name, op_type, taken, ids=[1], outputs=[(1, [3])])
        recording.op("g", "Identity", "Identity", [f"{self.names[-1]}:0"], ids=[1], outputs=[(1, [3])])
        for number, (name, value) in enumerate(zip(self.names, self.values, strict=True)):
            if number not in unrecorded:
                recording.trace("g", name, full_health(value))
        recording.execution("__inference_f_1", [full_health(self.values[-1])], graph_id="g", ids=[9])
        recording.close()


def _wrong(evaluated: Evaluated, *lacking: object) -> list[Origin]:
    """The origins of what a program returns."""
    no_result = ("swallowed", "expected")
    with tempfile.TemporaryDirectory() as folder:
        evaluated.record(Path(folder), *lacking)
        with snapshot_of(Path(folder)) as snapshot:
            return [one for one in origins(snapshot) if one.category not in no_result]


@settings(max_examples=60)
@given(_PROGRAMS)
def test_origins_are_births_and_every_bad_result_has_one(program: _Program) -> None:
    evaluated = Evaluated(program)
    found = _wrong(evaluated)
    is_bad = bool(~np.isfinite(evaluated.values[-1]).all())
    assert bool(found) == is_bad
    for origin in found:
        tensor = evaluated.names.index(origin.op_name or "")
        assert tensor in evaluated.needed()
        assert evaluated.has(tensor, origin.kind)
        # Nothing that the op took was bad in this way, or an element-wise op made more of it.
        inputs = evaluated.inputs[tensor]
        was_bad = any(evaluated.has(one, origin.kind) for one in inputs)
        assert not was_bad or len(inputs) == 1 or evaluated.types[tensor] == "RealDiv"


@settings(max_examples=30)
@given(_PROGRAMS, st.sets(st.integers(0, 9), max_size=4), st.none() | st.integers(0, 9))
def test_whatever_a_recording_lacks_a_nan_that_is_returned_has_an_origin(
    program: _Program, unrecorded: set[int], turned: int | None
) -> None:
    evaluated = Evaluated(program)
    found = _wrong(evaluated, unrecorded, turned)
    assert found or not evaluated.has(len(evaluated.values) - 1, "nan")
    for origin in found:
        # Of what an origin says of its inputs, none may show that the values were bad before.
        had = [one["health"] for one in origin.evidence["inputs"] if one["health"]]
        number = [sum(one.get(name) or 0 for name in _COUNTS[origin.kind]) for one in had if one["bad"]]
        is_one_of_many = len(had) == 1 or origin.op_type == "RealDiv"  # see above
        assert origin.category == "propagated" or is_one_of_many or not any(number)
