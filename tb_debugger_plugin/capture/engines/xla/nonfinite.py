"""Tables of what ops do with infinity and NaN.

Invariant: the tables only assume IEEE 754 arithmetic, in which `0 * inf` is NaN, and what XLA and the kernels
for CPUs compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from tensorflow.python.framework import tensor_util

from tb_debugger_plugin.capture.tf_types import Array, TfOp

#: Returns, for each input of an op, the slots of the outputs that together are finite only if the input is.
Rule: TypeAlias = "Callable[[TfOp], Mapping[int, Sequence[int]]]"

#: Ops whose output has the elements of their first input, in any order.
REARRANGES = frozenset(
    {
        *("EnsureShape", "ExpandDims", "Identity", "PreventGradient", "Reshape", "ReverseV2"),
        *("Snapshot", "Squeeze", "StopGradient", "Transpose"),
    }
)
#: Ops whose output has the same magnitudes as their first input.
SAME_MAGNITUDE = REARRANGES | {"Abs", "Neg"}
#: Ops that only select or move elements of their floating inputs.
MOVES_ELEMENTS = SAME_MAGNITUDE | {
    *("MatrixBandPart", "Pad", "PadV2", "Roll", "Select", "SelectV2", "Slice", "Split", "SplitV"),
    *("StridedSlice", "Tile", "Unpack"),
}
#: Ops whose outputs are finite when their floating inputs are: they move elements, or bound them.
PRESERVES_FINITE = MOVES_ELEMENTS | {
    *("Cos", "Erf", "Maximum", "Minimum", "Relu", "Relu6", "ReluGrad", "Sigmoid", "Sin", "Softmax", "Tanh"),
}
#: Ops whose output has exactly the elements of these inputs.
CONCATENATES = {"ConcatV2": slice(0, -1), "Pack": slice(0, None)}


_OF_NUMPY = (np.float16, np.float32, np.float64, np.complex64, np.complex128)


def is_finite_constant(op: TfOp) -> bool:
    """Whether a floating constant has no infinity and no NaN."""
    value = tensor_util.constant_value(op.outputs[0])
    return value is not None and is_finite(value)


def is_finite(value: Array) -> bool:
    """Whether floating or complex numbers have no infinity and no NaN."""
    # NumPy's `isfinite` does not take the small float dtypes.
    return bool(np.isfinite(value if value.dtype in _OF_NUMPY else value.astype(np.float64)).all())


def _each(op: TfOp) -> Mapping[int, Sequence[int]]:
    return {index: (0,) for index in range(len(op.inputs))}


def _only(*indices: int, slot: int = 0) -> Rule:
    slots = {index: (slot,) for index in indices}
    return lambda op: slots


def _in_parts(index: int) -> Rule:
    """All outputs together have the elements of the input."""
    return lambda op: {index: range(len(op.outputs))}


def _same_slots(op: TfOp) -> Mapping[int, Sequence[int]]:
    return {index: (index,) for index in range(len(op.inputs))}


def _if(condition: Callable[[TfOp], bool], rule: Rule) -> Rule:
    return lambda op: rule(op) if condition(op) else {}


def _to_positive_power(op: TfOp) -> bool:
    exponent = tensor_util.constant_value(op.inputs[1])
    return exponent is not None and bool((exponent > 0).all())


def _uses_all_labels(op: TfOp) -> bool:
    """Whether an equation takes no diagonals, which would leave elements out."""
    terms = op.get_attr("equation").decode().partition("->")[0].split(",")
    return all("." not in term and len(set(term)) == len(term) for term in terms)


def _meets_every_pixel(op: TfOp) -> bool:
    """Whether a convolution multiplies each element of its image, and of its gradient."""
    ones = all(step == 1 for name in ("strides", "dilations") for step in op.get_attr(name))
    return ones and op.get_attr("padding") in (b"SAME", b"VALID")


def _trains(op: TfOp) -> bool:
    return bool(op.get_attr("is_training"))


def _is_inclusive(op: TfOp) -> bool:
    return not op.get_attr("exclusive")


def _leaks(op: TfOp) -> bool:
    return bool(op.get_attr("alpha"))


#: Ops that assign their second input to a variable, or add it.
ASSIGNMENTS = ("AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp")
#: By op type, the outputs in which infinity or NaN of an input is still infinity or NaN.
PROPAGATES: dict[str, Rule] = {
    **dict.fromkeys(("Add", "AddN", "AddV2", "BiasAdd", "Mul", "SquaredDifference", "Sub"), _each),
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "ConcatV2", "MatMul", "Pack"), _each),
    **dict.fromkeys(("SigmoidGrad", "TanhGrad"), _each),
    # On a CPU they are 0 where the gradient is, whatever their first input is.
    **dict.fromkeys(("ReciprocalGrad", "RsqrtGrad", "SqrtGrad"), _only(1)),
    **dict.fromkeys(("Abs", "Cast", "Ceil", "CheckNumerics", "Cos", "EnsureShape", "ExpandDims"), _only(0)),
    **dict.fromkeys(("Floor", "Identity", "Log", "Log1p", "LogSoftmax", "Neg", "PreventGradient"), _only(0)),
    **dict.fromkeys(("Reshape", "ReverseV2", "Rint", "Roll", "Round", "Sin", "Snapshot", "Sqrt"), _only(0)),
    **dict.fromkeys(("Square", "Squeeze", "StopGradient", "Transpose"), _only(0)),
    **dict.fromkeys(("BiasAddGrad", "L2Loss", "Mean", "Prod", "Sum"), _only(0)),
    **dict.fromkeys(("BroadcastTo", "MirrorPad", "Pad", "PadV2", "Tile"), _only(0)),
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
    "Pow": _if(_to_positive_power, _only(0)),
    "Split": _in_parts(1),
    "SplitV": _in_parts(0),
    "StridedSliceGrad": _only(4),
    "Unpack": _in_parts(0),
}
