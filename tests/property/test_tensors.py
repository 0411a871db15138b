"""`index/tensors.py`: each recorded tensor is read as if it were the only one."""

from __future__ import annotations

import math

from hypothesis import example, given
from hypothesis import strategies as st

from tb_debugger_plugin.events.messages import TensorProto
from tb_debugger_plugin.events.modes import STORED, SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.index.tensors import summarize
from tests.support.events import vector

_SIZES = sorted({len(names) for names in SUMMARY_COLUMNS.values()})
_DIMS = st.lists(st.one_of(st.integers(-1, 20), st.integers(-(2**63), 2**63 - 1)), max_size=4)
_INT32 = st.integers(-(2**31), 2**31 - 1)
_VALUES = {
    "double_val": st.floats(),
    "float_val": st.floats(width=32),
    "half_val": _INT32,
    "int_val": _INT32,
    "int64_val": st.integers(-(2**63), 2**63 - 1),
    "uint64_val": st.integers(0, 2**64 - 1),
    "bool_val": st.booleans(),
    "scomplex_val": st.floats(width=32),
}


@st.composite
def _tensor(draw):
    size = draw(st.sampled_from(_SIZES))
    proto = vector([draw(st.floats()) for _ in range(size)])
    if draw(st.booleans()):
        proto.dtype = draw(st.one_of(st.integers(0, 31), _INT32))
    if draw(st.booleans()):
        del proto.tensor_shape.dim[:]
        for dim in draw(_DIMS):
            proto.tensor_shape.dim.add(size=dim)
    if draw(st.booleans()):
        proto.tensor_content = draw(st.binary(max_size=130))
    if draw(st.booleans()):
        name = draw(st.sampled_from(sorted(_VALUES)))
        proto.ClearField("tensor_content")
        getattr(proto, name).extend(draw(st.lists(_VALUES[name], min_size=size, max_size=size)))
    if draw(st.integers(0, 4)) == 0:
        proto.summary_mode = draw(_INT32)
    return proto


_RECORDED = st.tuples(st.sampled_from([*map(int, TensorDebugMode), 99]), st.none() | _tensor())


def _rows(recorded):
    shapes: list[tuple[str, int]] = [("?", -1)]

    def intern(text: str, rank: int) -> int:
        shapes.append((text, rank))
        return len(shapes) - 1

    modes, protos = zip(*recorded, strict=True)
    columns = summarize(modes, protos, intern).columns
    fields = [{name: values[row].item() for name, values in columns.items()} for row in range(len(modes))]
    # A number that is measured of no tensor has no column.
    empty = dict.fromkeys(STORED, math.nan)
    return [repr({**empty, **row, "shape": shapes[max(0, row["shape"])]}) for row in fields]


_CURT = int(TensorDebugMode.CURT_HEALTH)
_UNSHAPED = TensorProto(dtype=2, tensor_content=vector([5.0, 1.0]).tensor_content)
_BY_ELEMENT = TensorProto(dtype=2, double_val=[3.0, 1.0])
_BY_ELEMENT.tensor_shape.dim.add(size=2)
_INTEGERS = TensorProto(dtype=9, tensor_content=bytes(16))
_INTEGERS.tensor_shape.dim.add(size=2)


@given(st.lists(_RECORDED, min_size=1, max_size=8))
@example([(_CURT, _UNSHAPED), (_CURT, _BY_ELEMENT)])
@example([(_CURT, _INTEGERS), (_CURT, _BY_ELEMENT)])
def test_a_tensor_is_read_the_same_whatever_was_recorded_beside_it(recorded):
    assert _rows(recorded) == [row for one in recorded for row in _rows([one])]
