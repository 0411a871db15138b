"""How far two results of the same computation may be apart.

Takes dtypes and the graph. The tolerance is the rounding of the coarser dtype, times the ops on the longest
path to the tensor, in which an op that adds up n numbers counts as the root of n.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.compare.outline import Outline
from tb_debugger_plugin.events.dtypes import NUMBER_OF

#: Half the distance of 1 from the next number, and the smallest normal number, by dtype. The parts of a
#: complex number are rounded as the real dtype is.
_ROUNDING: Final[dict[str, tuple[float, float]]] = {
    "float64": (2.0**-53, 2.0**-1022),
    "complex128": (2.0**-53, 2.0**-1022),
    "float32": (2.0**-24, 2.0**-126),
    "complex64": (2.0**-24, 2.0**-126),
    "float16": (2.0**-11, 2.0**-14),
    "bfloat16": (2.0**-8, 2.0**-126),
    "float8_e4m3fn": (2.0**-4, 2.0**-6),
    "float8_e5m2": (2.0**-3, 2.0**-14),
}
#: Units of rounding that one op may be off by: libraries compute functions such as tanh in different ways.
OF_AN_OP: Final = 16.0
#: Units of rounding for each op on the path.
_OF_A_STEP: Final = 4.0
#: A relative difference that is material whatever the path.
_LARGEST: Final = 0.1

_COPIES: Final = frozenset(
    "Identity IdentityN Reshape Squeeze ExpandDims Transpose StopGradient Snapshot ReadVariableOp Placeholder"
    " Arg _Arg Retval _Retval Pack Unpack Slice StridedSlice GatherV2 ConcatV2 Split SplitV Tile Pad Const"
    " Shape Fill ZerosLike OnesLike Select SelectV2 Relu Neg Abs Maximum Minimum Max Min".split()
)
_SUMS: Final = frozenset(
    "Sum Mean MatMul BatchMatMulV2 BatchMatMul Einsum Conv2D Conv1D Conv3D DepthwiseConv2dNative AddN"
    " Conv2DBackpropInput Conv2DBackpropFilter BiasAddGrad Softmax LogSoftmax CumSum Cumsum Prod L2Loss"
    " SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits FusedBatchNormV3 UnsortedSegmentSum"
    " FusedBatchNormGradV3 AvgPool SegmentSum EuclideanNorm _FusedMatMul _FusedConv2D".split()
)


@dataclass(frozen=True)
class Roundings:
    """The rounding of pairs of tensors, as arrays.

    Attributes:
      unit: Relative; 0 for integers, which are exact.
      smallest: Below this size, numbers lose digits.
    """

    unit: npt.NDArray[np.float64]
    smallest: npt.NDArray[np.float64]


def _tables() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    unit, smallest = np.zeros(256), np.zeros(256)
    for name, (one, least) in _ROUNDING.items():
        unit[NUMBER_OF[name]], smallest[NUMBER_OF[name]] = one, least
    return unit, smallest


_UNIT, _SMALLEST = _tables()


def roundings(first: npt.NDArray[np.uint8], second: npt.NDArray[np.uint8]) -> Roundings:
    """Return the rounding of the coarser of two dtypes, for each pair."""
    return Roundings(np.maximum(_UNIT[first], _UNIT[second]), np.maximum(_SMALLEST[first], _SMALLEST[second]))


def weight(op_type: str, size_in: int, size_out: int) -> float:
    """How many units of rounding an op adds: none if it copies, the root of n if it adds up n numbers."""
    if op_type in _COPIES:
        return 0.0
    if op_type in _SUMS and size_in > 0:
        return max(1.0, math.sqrt(size_in / max(1, size_out)))
    return 1.0


def depths(made: Outline, sizes: Mapping[tuple[int, int], int]) -> list[float]:
    """Return the units of rounding on the longest path to each node.

    Args:
      made: The run.
      sizes: The number of elements of tensors, by node and slot.
    """
    result = [0.0] * len(made.nodes)
    for node in made.nodes:
        # Edges backwards in a loop lead to nodes that come later.
        before = max((result[source] for source, _ in node.inputs if source < node.number), default=0.0)
        size_in = max((sizes.get(source, 0) for source in node.inputs), default=0)
        size_out = sizes.get((node.number, 0), 0)
        result[node.number] = before + weight(node.type, size_in, size_out)
    return result


def tolerance(
    unit: npt.NDArray[np.float64], depth: npt.NDArray[np.float64], nth: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return the relative tolerance of tensors.

    Args:
      unit: The rounding of the dtype.
      depth: The units of rounding on the path.
      nth: How often the tensor was computed before: what a program has learned is rounded each time.
    """
    steps = np.maximum(OF_AN_OP, _OF_A_STEP * (depth + 1.0) * (1.0 + nth))
    return np.where(unit > 0, np.minimum(_LARGEST, unit * steps), 0.0)
