"""Which tensors need no look because others tell of them.

In come the ops of a graph, out comes for each tensor which ones tell of it. `equals` are exact: a reshaped
tensor has the magnitude of its input. `vouchers` tell only of good ones: a sum that is finite has finite
terms, because infinity and NaN stay what they are or become NaN; of the terms of a bad sum nothing is known.
Rule: nothing is assumed of what an op computes but the arithmetic of IEEE 754 (`0 * inf` is NaN).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tensorflow.python.framework import tensor_util

#: A tensor of a graph: name of its op, and slot.
Key: TypeAlias = "tuple[str, int]"
#: Gives, for each input of an op that is vouched for, the slots of the outputs that do it together.
_Rule: TypeAlias = "Callable[[Any], Mapping[int, Sequence[int]]]"


#: Ops whose output has the magnitude of their first input.
_SAME_MAGNITUDE = frozenset(
    {
        *("Abs", "EnsureShape", "ExpandDims", "Identity", "Neg", "PreventGradient", "Reshape", "ReverseV2"),
        *("Snapshot", "Squeeze", "StopGradient", "Transpose"),
    }
)
#: Ops whose output holds all elements of those inputs, and no others.
_JOINED = {"ConcatV2": slice(0, -1), "Pack": slice(0, None)}


def equals(ops: Iterable[Any], can_look: Callable[[Any], bool]) -> dict[Key, tuple[Key, ...]]:
    """For each tensor, those that together have its magnitude.

    Args:
      ops: The ops of a graph that run, each behind those whose outputs it takes.
      can_look: Whether the health of a tensor can be told; the others are left out.
    """
    found: dict[Key, tuple[Key, ...]] = {}
    for op in ops:
        if op.type in _SAME_MAGNITUDE:
            inputs = op.inputs[:1]
        else:
            inputs = op.inputs[_JOINED[op.type]] if op.type in _JOINED else ()
        same = dict.fromkeys(key for tensor in inputs for key in found.get(_key(tensor), ()))
        for tensor in op.outputs:
            if can_look(tensor):
                found[_key(tensor)] = tuple(same) or (_key(tensor),)
    return found


def vouchers(ops: Sequence[Any], can_look: Callable[[Any], bool]) -> dict[Key, tuple[Key, ...]]:
    """For each tensor, those that together are finite only if it is; nobody else vouches for them.

    Args:
      ops: The ops of a graph that run, each behind those whose outputs it takes.
      can_look: Whether the health of a tensor can be told; the others are left out.
    """
    running = {op.name for op in ops}
    reads = _reads(ops)
    found: dict[Key, tuple[Key, ...]] = {}
    for op in reversed(ops):
        for tensor in op.outputs:
            if can_look(tensor):
                users = [user for user in tensor.consumers() if user.name in running]
                offers = [offer for user in users for offer in _offers(user, tensor, found, reads)]
                found[_key(tensor)] = min(offers, key=len, default=(_key(tensor),))
    return found


def _key(tensor: Any) -> Key:
    return tensor.op.name, tensor.value_index


def _offers(
    user: Any, tensor: Any, found: Mapping[Key, tuple[Key, ...]], reads: Mapping[str, list[Any]]
) -> Iterator[tuple[Key, ...]]:
    """The vouchers that the outputs of an op, or reads of the variable that it changes, have for an input."""
    if user.type in _ASSIGNMENTS:
        yield from (found[_key(read)] for read in reads.get(user.name, ()) if _key(read) in found)
        return
    vouched = _RULES[user.type](user) if user.type in _RULES else {}
    for index, taken in enumerate(user.inputs):
        if taken is tensor and index in vouched:
            outputs = [user.outputs[slot] for slot in vouched[index]]
            keys = [_key(output) for output in outputs]
            if all(key in found for key in keys) and _is_met(tensor, outputs):
                yield tuple(dict.fromkeys(voucher for key in keys for voucher in found[key]))


def _reads(ops: Iterable[Any]) -> dict[str, list[Any]]:
    """The tensors that hold what an op has left in a variable, by its name."""
    reads: dict[str, list[Any]] = {}
    for op in ops:
        if op.type == "ReadVariableOp":
            (handle,) = op.inputs
            before = [each for each in op.control_inputs if any(taken is handle for taken in each.inputs)]
            if len(before) == 1 and before[0].type in _ASSIGNMENTS:
                reads.setdefault(before[0].name, []).append(op.outputs[0])
    return reads


def _is_met(tensor: Any, outputs: Iterable[Any]) -> bool:
    """Whether outputs have elements when the input has: what is empty vouches for nothing.

    What is unknown of an output's shape has to come from this input.
    """
    unknown = _unknown_dimensions(tensor)
    return all(
        output.shape.rank is not None
        and 0 not in output.shape.as_list()
        and _unknown_dimensions(output) <= unknown
        for output in outputs
    )


def _unknown_dimensions(tensor: Any) -> float:
    shape = tensor.shape
    return float("inf") if shape.rank is None else shape.as_list().count(None)


def _each(op: Any) -> Mapping[int, Sequence[int]]:
    return {index: (0,) for index in range(len(op.inputs))}


def _only(*indices: int, slot: int = 0) -> _Rule:
    vouched = {index: (slot,) for index in indices}
    return lambda op: vouched


def _in_parts(index: int) -> _Rule:
    """All outputs together hold the input's elements."""
    return lambda op: {index: range(len(op.outputs))}


def _same_slots(op: Any) -> Mapping[int, Sequence[int]]:
    return {index: (index,) for index in range(len(op.inputs))}


def _if(condition: Callable[[Any], bool], rule: _Rule) -> _Rule:
    return lambda op: rule(op) if condition(op) else {}


def _to_positive_power(op: Any) -> bool:
    exponent = tensor_util.constant_value(op.inputs[1])
    return exponent is not None and bool((exponent > 0).all())


def _uses_all_labels(op: Any) -> bool:
    """Whether an equation takes no diagonals, which leave elements out."""
    terms = op.get_attr("equation").decode().partition("->")[0].split(",")
    return all("." not in term and len(set(term)) == len(term) for term in terms)


def _meets_every_pixel(op: Any) -> bool:
    """Whether a convolution has a product for each element of its image, and of its gradient."""
    ones = all(step == 1 for name in ("strides", "dilations") for step in op.get_attr(name))
    return ones and op.get_attr("padding") in (b"SAME", b"VALID")


def _trains(op: Any) -> bool:
    return bool(op.get_attr("is_training"))


def _is_inclusive(op: Any) -> bool:
    return not op.get_attr("exclusive")


def _leaks(op: Any) -> bool:
    return bool(op.get_attr("alpha"))


#: Ops that leave a sum with their second input, or that, in a variable.
_ASSIGNMENTS = ("AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp")
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("Add", "AddN", "AddV2", "BiasAdd", "Mul", "SquaredDifference", "Sub"), _each),
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "ConcatV2", "MatMul", "Pack"), _each),
    **dict.fromkeys(("ReciprocalGrad", "RsqrtGrad", "SigmoidGrad", "TanhGrad"), _each),
    **dict.fromkeys(("Abs", "Cast", "Ceil", "CheckNumerics", "Cos", "EnsureShape", "ExpandDims"), _only(0)),
    **dict.fromkeys(("Floor", "Identity", "Log", "Log1p", "LogSoftmax", "Neg", "PreventGradient"), _only(0)),
    **dict.fromkeys(("Reshape", "ReverseV2", "Rint", "Roll", "Round", "Sin", "Snapshot", "Sqrt"), _only(0)),
    **dict.fromkeys(("Square", "Squeeze", "StopGradient", "Transpose"), _only(0)),
    **dict.fromkeys(("BiasAddGrad", "L2Loss", "Mean", "Prod", "Sum"), _only(0)),
    **dict.fromkeys(("BroadcastTo", "MirrorPad", "Pad", "Tile"), _only(0)),
    **dict.fromkeys(("Div", "RealDiv"), _only(0)),
    "Conv2D": _if(_meets_every_pixel, _only(0)),
    "Conv2DBackpropFilter": _if(_meets_every_pixel, _only(0, 2)),
    "Conv2DBackpropInput": _if(_meets_every_pixel, _only(2)),
    "Cumsum": _if(_is_inclusive, _only(0)),
    "Einsum": _if(_uses_all_labels, _each),
    "Fill": _only(1),
    "FusedBatchNormGradV3": _if(_trains, _only(0, slot=2)),
    "FusedBatchNormV3": _if(_trains, _only(0, slot=1)),
    "IdentityN": _same_slots,
    "LeakyRelu": _if(_leaks, _only(0)),
    "PadV2": _each,
    "Pow": _if(_to_positive_power, _only(0)),
    "Split": _in_parts(1),
    "SplitV": _in_parts(0),
    "SqrtGrad": _only(1),
    "StridedSliceGrad": _only(4),
    "Unpack": _in_parts(0),
}
