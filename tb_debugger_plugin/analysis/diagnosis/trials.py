"""Says what to try at an op that makes bad values: its input, kept inside the range where the op is finite.

A trial is no repair. It answers whether the call has no other cause, and whether keeping this input in range
would be enough: all that takes the input, gradients too, gets the changed one.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Trial(NamedTuple):
    """What to try at an op.

    Attributes:
      input: Number of the input that is changed.
      expression: Its value, in which `{x}` is its own.
    """

    input: int
    expression: str


#: With numbers that float16 has, too, and whose exponentials can be squared.
_POSITIVE: Final = Trial(0, "np.maximum({x}, 1e-7)")
_BOUNDED: Final = Trial(0, "np.minimum({x}, 30)")
_INSIDE: Final = Trial(0, "np.clip({x}, -0.999999, 0.999999)")
_NOT_ZERO: Final = "np.where({x} == 0, 1e-7, {x})"
#: By type of the op.
TRIALS: Final[dict[str, Trial]] = {
    **dict.fromkeys(("Log", "Sqrt", "Rsqrt", "SqrtGrad", "Pow"), _POSITIVE),
    **dict.fromkeys(("Digamma", "Lgamma", "BesselK0", "BesselK1"), _POSITIVE),
    **dict.fromkeys(("Reciprocal", "Inv"), Trial(0, _NOT_ZERO)),
    **dict.fromkeys(
        ("RealDiv", "Div", "FloorDiv", "FloorMod", "Mod", "Xdivy", "TruncateDiv"), Trial(1, _NOT_ZERO)
    ),
    "Xlogy": Trial(1, "np.maximum({x}, 1e-7)"),
    **dict.fromkeys(("Log1p", "Xlog1py"), Trial(0, "np.maximum({x}, -0.9999999)")),
    **dict.fromkeys(("Exp", "Expm1", "Cosh"), _BOUNDED),
    "Sinh": Trial(0, "np.clip({x}, -30, 30)"),
    **dict.fromkeys(("Acos", "Asin", "Atanh", "Erfinv"), _INSIDE),
    "Ndtri": Trial(0, "np.clip({x}, 1e-7, 1 - 1e-7)"),
    "Acosh": Trial(0, "np.maximum({x}, 1.000001)"),
    "Square": Trial(0, "np.clip({x}, -1e18, 1e18)"),
    **dict.fromkeys(("Softmax", "LogSoftmax"), Trial(0, "np.clip({x}, -1e9, 1e9)")),
    **dict.fromkeys(
        ("Cholesky", "MatrixInverse", "MatrixSolve", "SelfAdjointEigV2"),
        Trial(0, "{x} + 1e-6 * np.eye({x}.shape[-1])"),
    ),
}
