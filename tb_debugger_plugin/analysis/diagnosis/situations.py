"""Recognises the situations of ``patterns``: each function looks at the ops around one op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.around import (
    BOOLEANS,
    COPIES,
    GUARDS,
    PICKS,
    SELECTS,
    Scene,
    consumers,
    is_squared,
    made_by,
    only_value,
    producers,
    same,
    source,
    taken,
    type_of,
)
from tb_debugger_plugin.analysis.diagnosis.surroundings import Near, Output
from tb_debugger_plugin.events.tensorflow_names import is_gradient

#: Functions with an edge: the name that a program uses, and its place in ``tf``.
EDGED: Final = (
    ("sqrt", "sqrt"),
    ("log", "math.log"),
    ("log1p", "math.log1p"),
    ("reciprocal", "math.reciprocal"),
    ("rsqrt", "math.rsqrt"),
    ("norm", "norm"),
)
_EDGED_OPS: Final = frozenset({"Log", "Log1p", "Reciprocal", "RealDiv", "Rsqrt", "Sqrt", "Pow"})
_SUMS: Final = ("Sum", "SegmentSum", "UnsortedSegmentSum", "SegmentSumV2")
_MEANS: Final = ("Mean", "Sum")
_ROOTS: Final = ("Sqrt", "EuclideanNorm")
_HALF: Final = ("float16", "half")
_LIMITS: Final = frozenset({"Maximum", "Minimum", "ClipByValue"})
#: Steps to a tf.where, and to a mask.
_NEAR: Final = 4
#: Growth of a magnitude that is called divergence, by the number of values that it takes at least.
_GROWTHS: Final = ((2, 1e6), (4, 1e3))
#: Words in the names of ops of optimizers.
_OPTIMIZERS: Final = ("adam", "rmsprop", "adagrad", "adadelta", "nadam", "lamb")


def always(scene: Scene) -> bool:
    """The op alone is the situation."""
    return True


def any_gradient(scene: Scene) -> bool:
    """The value is part of a gradient."""
    return scene.is_gradient


def in_unselected_branch(scene: Scene) -> bool:
    """A select takes what the op made, or what the op made whose gradient the value is part of."""
    if not scene.is_gradient:
        return scene.op.type in _EDGED_OPS and any(near.type in SELECTS for near in scene.op.consumers)
    is_selected = any(type_of(source(scene.op, slot)) in SELECTS for slot in range(len(scene.op.inputs)))
    if scene.around.forward is None:
        return is_selected
    # The gradients of other ops select, too: that of tf.maximum does.
    following = consumers(scene.focus, _NEAR if is_selected else 2)
    return any(near.type in SELECTS and not is_gradient(near.name) for near in following)


def limited_afterwards(scene: Scene) -> bool:
    """A limit takes what the op made whose gradient the value is part of: it passes a gradient of 0 on."""
    if scene.around.forward is None or scene.focus.type not in _EDGED_OPS:
        return False
    return any(near.type in _LIMITS for near in _forward_consumers(scene.focus))


def log_of(wanted: str) -> Callable[[Scene], bool]:
    """The argument of a logarithm comes from an op of a type, perhaps with an epsilon or a limit."""

    def is_there(scene: Scene) -> bool:
        made = source(scene.focus, through=COPIES | PICKS)
        return made is not None and (
            _is_a(made.op, wanted)
            or (made.op.type in GUARDS and any(_is_a(given.op, wanted) for given in made.op.inputs))
        )

    return is_there


def log_of_one_minus_sigmoid(scene: Scene) -> bool:
    """The logarithm of 1 − sigmoid(x)."""
    difference = made_by(scene.focus, 0, "Sub")
    return difference is not None and made_by(difference, 1, "Sigmoid") is not None


def log_of_sum_of_exp(scene: Scene) -> bool:
    """The logarithm of a sum of exponentials."""
    if scene.focus.type == "Exp":
        sums = [near for near in consumers(scene.focus, 2) if near.type == "Sum"]
        return any(near.type == "Log" for each in sums for near in consumers(each, 2))
    total = made_by(scene.focus, 0, "Sum")
    return total is not None and made_by(total, 0, "Exp") is not None


def own_softmax(scene: Scene) -> bool:
    """An exponential divided by a sum of exponentials."""
    if scene.focus.type == "Exp":
        types = {near.type for near in consumers(scene.focus, 2)}
        return "Sum" in types and "RealDiv" in types
    return _divides_by_own_sum(scene.focus)


def own_softplus(scene: Scene) -> bool:
    """log(1 + exp(x))."""
    for near in scene.focus.consumers:
        if near.type == "Log1p":
            return True
        if near.type in ("AddV2", "Add") and 1.0 in _only_values(near):
            return any(each.type == "Log" for each in near.consumers)
    return False


def log_times(scene: Scene) -> bool:
    """A logarithm times another factor; of the logarithm itself, times its own argument as in an entropy."""
    if scene.focus.type == "Log":
        products = [near for near in _forward_consumers(scene.focus) if near.type == "Mul"]
        argument = taken(scene.focus)
        return any(same(argument, factor) for near in products for factor in near.inputs)
    return any(type_of(source(scene.focus, slot)) in ("Log", "Log1p") for slot in (0, 1))


def infinite_factor(scene: Scene) -> bool:
    """A product with a constant infinity."""
    return any(
        (made := source(scene.focus, slot)) is not None and made.op.type == "Const" and _is_infinite(made)
        for slot in (0, 1)
    )


def masked_with_infinity(scene: Scene) -> bool:
    """Something before the softmax put −∞ into it, and nothing was +∞."""
    given = taken(scene.focus)
    return given is not None and bool(given.numbers.counts.get("neg_inf"))


def difference_of_means(scene: Scene) -> bool:
    """mean(x²) − mean(x)²."""
    difference = made_by(scene.focus, 0, "Sub")
    if difference is None:
        return False
    mean, square = made_by(difference, 0, *_MEANS), source(difference, 1)
    return mean is not None and square is not None and is_squared(square.op)


def root_of_variance(scene: Scene) -> bool:
    """The root of a mean of squared differences; of the root itself, its gradient."""
    mean = _under_root(scene.focus)
    if mean is None or mean.type != "Mean" or (scene.focus.type == "Sqrt" and not scene.is_gradient):
        return False
    squares = source(mean)
    if squares is None or not is_squared(squares.op):
        return False
    return squares.op.type == "SquaredDifference" or type_of(source(squares.op)) == "Sub"


def root_of_squares(scene: Scene) -> bool:
    """The root of a sum of squares, or its gradient."""
    if scene.focus.type in ("EuclideanNorm", "Norm"):
        return True
    total = made_by(scene.focus, 0, *_MEANS)
    squares = source(scene.focus) if total is None else source(total)
    return squares is not None and is_squared(squares.op)


def bias_correction(scene: Scene) -> bool:
    """The divisor is 1 − β ** t."""
    under = made_by(scene.focus, 1, "Sub")
    return under is not None and only_value(taken(under, 0)) == 1.0 and type_of(source(under, 1)) == "Pow"


def divided_by_bare_root(scene: Scene) -> bool:
    """The divisor is a root, perhaps plus an epsilon of 0."""
    under = source(scene.focus, 1)
    if under is None:
        return False
    if under.op.type in ("AddV2", "Add"):
        return 0.0 in _only_values(under.op) and _takes(under.op, *_ROOTS)
    return under.op.type in _ROOTS


def divided_by_range(scene: Scene) -> bool:
    """The divisor is a maximum minus a minimum."""
    under = made_by(scene.focus, 1, "Sub")
    return under is not None and type_of(source(under, 0)) == "Max" and type_of(source(under, 1)) == "Min"


def divided_by_count(scene: Scene) -> bool:
    """The divisor is a sum of a mask, or of a group."""
    under = made_by(scene.focus, 1, *_SUMS, "Bincount", "DenseBincount")
    if under is None:
        return False
    if under.type not in ("Sum", "Bincount", "DenseBincount"):
        return True
    mask = taken(under)
    return mask is not None and (
        _is_boolean(mask.op) or "mask" in mask.op.name.lower() or "weight" in mask.op.name.lower()
    )


def divided_by_own_sum(scene: Scene) -> bool:
    """Values are divided by their own sum."""
    under = made_by(scene.focus, 1, "Sum")
    return under is not None and _comes_from(under, source(scene.focus, 0))


def divided_by_whole_number(scene: Scene) -> bool:
    """The divisor was a whole number, such as a counter."""
    slot = len(scene.focus.inputs) - 1
    cast = taken(scene.focus, slot)
    return (
        cast is not None
        and cast.op.type == "Cast"
        and cast.op.attributes.get("SrcT", "") in ("int32", "int64", "int16", "int8", "uint8")
    )


def divided_by_constant_zero(scene: Scene) -> bool:
    """The divisor is a constant of the program."""
    under = source(scene.op, 1)
    return under is not None and under.op.type == "Const" and only_value(under) == 0.0


def optimizer_without_epsilon(scene: Scene) -> bool:
    """An optimizer divides by a root without an epsilon."""
    name = scene.op.name.lower()
    return any(word in name for word in _OPTIMIZERS) and divided_by_bare_root(scene)


def in_pipeline(scene: Scene) -> bool:
    """The op is in a function of an input pipeline."""
    return "Dataset_" in (scene.function or "")


def zero_epsilon(scene: Scene) -> bool:
    """An optimizer got an epsilon of 0."""
    return any(
        only_value(given) == 0.0 and "epsilon" in given.op.name.lower() for given in scene.focus.inputs
    )


def batch_norm_without_epsilon(scene: Scene) -> bool:
    """The epsilon of a batch normalisation is 0."""
    text = scene.focus.attributes.get("epsilon", "")
    try:
        return float(text) == 0.0
    except ValueError:
        return False


def in_float16(scene: Scene) -> bool:
    """The value is in float16."""
    dtype = scene.output.dtype or scene.op.attributes.get("T", "")
    return dtype in _HALF


def global_norm(scene: Scene) -> bool:
    """The op is part of a norm over all gradients."""
    return "global_norm" in scene.op.name or "global_norm" in (scene.op.line or "")


def grew_over_steps(scene: Scene) -> bool:
    """An input of the op grew from value to value until now."""
    for slot in range(min(len(scene.op.inputs), 2)):
        magnitudes = scene.around.history(slot)
        for least, growth in _GROWTHS:
            if len(magnitudes) >= least and 0 < magnitudes[0] * growth < magnitudes[-1]:
                return True
    return False


def _is_a(op: Near, wanted: str) -> bool:
    """Whether an op is of a type, or a softmax that is written out."""
    return op.type == wanted or (wanted == "Softmax" and op.type == "RealDiv" and _divides_by_own_sum(op))


def _divides_by_own_sum(op: Near) -> bool:
    under = made_by(op, 1, "Sum")
    return under is not None and made_by(op, 0, "Exp") is not None and made_by(under, 0, "Exp") is not None


def _under_root(op: Near) -> Near | None:
    """What a root is taken of, before an epsilon of 0 is added."""
    made = source(op)
    if made is not None and made.op.type in ("Add", "AddV2") and 0.0 in _only_values(made.op):
        others = [slot for slot in range(len(made.op.inputs)) if only_value(taken(made.op, slot)) != 0.0]
        made = source(made.op, others[0]) if others else None
    return None if made is None else made.op


def _forward_consumers(op: Near) -> list[Near]:
    return [near for near in op.consumers if not near.name.startswith("gradient")]


def _takes(op: Near, *types: str) -> bool:
    return any(type_of(source(op, slot)) in types for slot in range(len(op.inputs)))


def _only_values(op: Near) -> list[float | None]:
    return [only_value(given) for given in op.inputs]


def _comes_from(op: Near, wanted: Output | None) -> bool:
    """Whether an op takes a tensor, or what is made of it."""
    return wanted is not None and (
        same(source(op), wanted)
        or any(near == wanted.op for near in producers(op, 2) if near.type or near.name)
    )


def _is_infinite(tensor: Output) -> bool:
    counts = tensor.numbers.counts
    return bool(tensor.numbers.size) and tensor.numbers.size == sum(
        counts.get(kind) or 0 for kind in ("neg_inf", "pos_inf")
    )


def _is_boolean(op: Near) -> bool:
    if op.type == "Cast" and op.attributes.get("SrcT") == "bool":
        return True
    return op.type in BOOLEANS or any(near.type in BOOLEANS for near in producers(op, _NEAR - 1))
