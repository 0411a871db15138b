"""Decides where a NaN may hide: ops that compare, cast to integers or choose show nothing of it.

So does an infinity behind a division: what is divided by it is 0. A sigmoid of it looks like certainty.

Invariant: what a program asks for, or may miss in its data, is left out: `x != x`, arguments, elements,
values of variables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

import tensorflow as tf

from tb_debugger_plugin.capture.engines.xla.nonfinite import MOVES_ELEMENTS
from tb_debugger_plugin.capture.plan.attachment import size_of
from tb_debugger_plugin.capture.tf_types import TfOp, TfTensor

#: Ops whose result shows nothing of a NaN that they take. An infinity may be meant, as in a mask.
_HIDES_NAN: Final = frozenset(
    (
        *("ApproximateEqual", "ArgMax", "ArgMin", "Bucketize", "Cast", "Equal", "Greater", "GreaterEqual"),
        *("InTopK", "InTopKV2", "Less", "LessEqual", "Multinomial", "NotEqual", "QuantizeV2"),
        "StatelessMultinomial",
    )
)
#: Ops that divide by their second input. In float16 it is infinite by an overflow rather than on purpose.
_DIVIDES: Final = frozenset(("Div", "DivNoNan", "RealDiv"))
#: Ops whose result is finite where they take an infinity, and those from which one comes that nobody means.
_SATURATES: Final = frozenset(("Atan", "Erf", "Sigmoid", "Softsign", "Tanh"))
_OVERFLOWS: Final = frozenset(("Exp", "Expm1", "Pow"))
#: All ops that may hide something.
HIDES: Final = _HIDES_NAN | _DIVIDES | _SATURATES
#: What TensorFlow may compute in one with the division.
_DIVIDED_BY_ONE_OP: Final = ("Sqrt",)
#: Those that TensorFlow may let take what the op before them takes.
_REWRITTEN: Final = ("ArgMax", "ArgMin")
#: Ops whose results are data, which a program may compare because some of them are missing, or never NaN; by
#: how their types begin.
_NOT_COMPUTED: Final = (
    *("Const", "Iterator", "Optional", "ParameterizedTruncatedNormal", "Placeholder", "Random"),
    *("ReadVariableOp", "StatelessRandom", "StatelessTruncatedNormal", "TruncatedNormal"),
)
#: Ops that scale and shift what they take, if the rest is constant.
_SCALES: Final = ("Add", "AddV2", "Mul", "RealDiv", "Sub")
#: Ops that ask for a NaN.
_ASKS_FOR_NAN: Final = ("IsFinite", "IsInf", "IsNan")
#: From this many elements on, it takes too much memory to keep what is only compared until the end of a call.
_TOO_LARGE: Final = 1 << 20


def hidden_inputs(op: TfOp) -> Iterator[tuple[TfTensor, bool]]:
    """Yield what an op of `HIDES` hides, but for `x != x`, which asks for a NaN; and whether only NaN."""
    if op.type in _DIVIDES:
        divisor = op.inputs[1]
        is_data = divisor.op.type.startswith((*_NOT_COMPUTED, *_DIVIDED_BY_ONE_OP))
        if divisor.dtype == tf.float16 and size_of(divisor) < _TOO_LARGE and not is_data:
            yield divisor, False
        return
    if op.type in _SATURATES:
        # Not what scales it: TensorFlow may compute that in one with the op.
        source = _scaled(op.inputs[0])
        if source is not None and source.op.type in _OVERFLOWS and size_of(source) < _TOO_LARGE:
            yield source, False
        return
    dtype, compared = op.outputs[0].dtype, {_moved(tensor).name for tensor in op.inputs}
    if dtype.is_floating or dtype.is_complex or len(compared) < len(op.inputs):
        return
    for tensor in op.inputs:
        is_rewritten = op.type in _REWRITTEN and len(tensor.op.inputs) < 2
        if not is_rewritten and _may_hide(tensor):
            yield tensor, True


def hides_nan(users: Collection[TfOp]) -> bool:
    """Whether one of the ops that take a tensor shows nothing of a NaN in it, and none asks for it."""
    return any(op.type in _HIDES_NAN for op in users) and not _asks_for_nan(users)


def _moved(tensor: TfTensor) -> TfTensor:
    """Return the tensor whose elements a tensor has, as far as ops move them only."""
    while tensor.op.type in MOVES_ELEMENTS and tensor.op.inputs[0].dtype == tensor.dtype:
        tensor = tensor.op.inputs[0]
    return tensor


def _may_hide(tensor: TfTensor) -> bool:
    """Whether a tensor may be NaN by a mistake of the program that a comparison hides."""
    if size_of(tensor) >= _TOO_LARGE or _asks_for_nan(tensor.consumers()):
        return False
    source = _scaled(tensor)
    return source is None or not source.op.type.startswith(_NOT_COMPUTED)


def _scaled(tensor: TfTensor) -> TfTensor | None:
    """Return the tensor that a tensor is, but for moves, scales and shifts; None if it is made of several."""
    source = _moved(tensor)
    while source.op.type in _SCALES:
        scaled = [taken for taken in source.op.inputs if not _is_constant(taken.op)]
        if len(scaled) != 1:
            return None
        source = _moved(scaled[0])
    return source


def _is_constant(op: TfOp) -> bool:
    return op.type == "Const" or (op.type in _SCALES and all(_is_constant(tensor.op) for tensor in op.inputs))


def _asks_for_nan(users: Collection[TfOp]) -> bool:
    return any(user.type in _ASKS_FOR_NAN for user in users)
