"""Functions of one number: logarithms, roots, exponentials, angles and special functions."""

from __future__ import annotations

import math
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.advice import (
    INSIDE,
    LOG,
    MAXIMUM,
    NOT_NEGATIVE,
    RANGE,
    ROOT,
    Advice,
)
from tb_debugger_plugin.analysis.diagnosis.evidence import (
    below_zero,
    either,
    finite_in,
    guess,
    holds,
    infinite_in,
    infinities,
    outside,
    reaches,
    unless,
)
from tb_debugger_plugin.analysis.diagnosis.known import BEYOND, INFINITE, NAN, Cause
from tb_debugger_plugin.analysis.diagnosis.ranges import exponential, of_one, overflow

POLE: Final = Advice("Keep the argument above 0, for example with tf.maximum or tf.nn.softplus.")
#: Functions with poles at 0, −1, −2 and so on.
_GAMMAS: Final = ("Digamma", "Lgamma")
#: Functions of two or three numbers that are not defined everywhere.
_SEVERAL: Final = ("Igamma", "Igammac", "IgammaGradA", "Betainc", "Zeta", "Polygamma")

CAUSES: Final = (
    Cause(("Log",), ("neg_inf",), "the logarithm of 0 is −∞", holds(0, "zero"), LOG),
    Cause(("Log",), NAN, "the logarithm of a negative number is NaN", below_zero(0), LOG),
    Cause(("Log1p",), ("neg_inf",), "log1p of −1 is −∞", holds(0, "negative"), LOG),
    Cause(("Log1p",), NAN, "log1p of a value below −1 is NaN", below_zero(0), LOG),
    # The result is 0 where x is 0. x times a logarithm overflows only for x near the end of the range.
    Cause(("Xlogy",), INFINITE, "the logarithm of 0 is −∞", unless(infinities, holds(1, "zero")), LOG),
    Cause(
        ("Xlogy",),
        NAN,
        "the logarithm of a negative number is NaN",
        unless(infinities, holds(1, "negative")),
    ),
    Cause(("Xlog1py",), INFINITE, "log1p of −1 is −∞", unless(infinities, holds(1, "negative")), LOG),
    Cause(
        ("Xlog1py",),
        NAN,
        "log1p of a value below −1 is NaN",
        unless(infinities, holds(1, "negative")),
    ),
    Cause(("Rsqrt",), INFINITE, "1 / √0 is infinite", holds(0, "zero"), ROOT),
    # The hardware reads them as 0.
    Cause(
        ("Rsqrt",),
        INFINITE,
        "numbers too small for the dtype count as 0, and 1 / √0 is infinite",
        unless(holds(0, "zero"), finite_in),
        ROOT,
    ),
    Cause(("Sqrt", "Rsqrt"), NAN, "the root of a negative number is NaN", below_zero(0), NOT_NEGATIVE),
    Cause(
        ("Acos", "Asin", "Atanh", "Erfinv"),
        NAN,
        "it is defined only between −1 and 1",
        either(infinite_in(0), outside(-1, 1)),
        INSIDE,
    ),
    Cause(("Atanh", "Erfinv"), INFINITE, "it is infinite at −1 and 1", reaches(-1, 1), INSIDE),
    Cause(
        ("Ndtri",),
        NAN,
        "it is defined only between 0 and 1",
        either(infinite_in(0), outside(0, 1)),
        INSIDE,
    ),
    Cause(("Ndtri",), INFINITE, "it is infinite at 0 and 1", reaches(0, 1), INSIDE),
    Cause(
        ("Acosh",),
        NAN,
        "it is defined only from 1 on",
        either(holds(0, "neg_inf"), outside(1, math.inf)),
        INSIDE,
    ),
    Cause(("Exp", "Expm1"), ("pos_inf",), BEYOND, overflow(exponential), MAXIMUM),
    Cause(("Cosh",), ("pos_inf",), BEYOND, overflow(of_one(math.exp)), MAXIMUM),
    Cause(("Sinh",), INFINITE, BEYOND, overflow(of_one(math.exp)), MAXIMUM),
    Cause(("Square",), ("pos_inf",), BEYOND, overflow(of_one(lambda x: x * x)), RANGE),
    Cause(("Lgamma",), ("pos_inf",), "lgamma of 0 is +∞", holds(0, "zero"), POLE),
    Cause(
        ("Lgamma",),
        ("pos_inf",),
        "it is infinite at −1, −2 and so on, and beyond the range for very large arguments",
        unless(holds(0, "zero"), finite_in),
        POLE,
    ),
    Cause(
        ("Digamma",),
        NAN,
        "it has poles at 0, −1, −2 and so on",
        unless(infinities, either(holds(0, "zero"), holds(0, "negative"))),
        POLE,
    ),
    Cause(
        _SEVERAL,
        NAN,
        "one of its arguments is outside the range in which it is defined",
        finite_in,
        POLE,
    ),
    Cause(("Polygamma", "Zeta"), INFINITE, "it is infinite at its poles", finite_in, POLE),
    Cause(("BesselK0", "BesselK1", "BesselK0e", "BesselK1e"), ("pos_inf",), "it is infinite at 0", finite_in),
    Cause(("BesselY0", "BesselY1"), ("neg_inf",), "it is infinite at 0", finite_in),
    Cause(("BesselI0", "BesselI1"), INFINITE, BEYOND, overflow(of_one(math.exp)), RANGE),
    Cause(("Expint",), ("neg_inf",), "it is infinite at 0", holds(0, "zero")),
    Cause(("Expint",), ("pos_inf",), BEYOND, overflow(exponential), RANGE),
    Cause(("Expint",), NAN, "it is defined only above 0", below_zero(0)),
    Cause(("Sin", "Cos", "Tan"), NAN, "it has no value at ∞", infinite_in(0)),
    Cause(_GAMMAS[:1], NAN, "it has no value at −∞", holds(0, "neg_inf")),
    Cause(_SEVERAL, NAN, "it may have no value at ∞", guess(infinities)),
)
