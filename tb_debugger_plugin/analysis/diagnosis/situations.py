"""Recognises the situations of ``patterns``: each function looks at the ops around one op."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.around import (
    BOOLEANS,
    COPIES,
    GUARDS,
    PICKS,
    SELECTS,
    Scene,
    consumers,
    equal,
    is_squared,
    made_by,
    only_value,
    producers,
    same,
    source,
    taken,
    type_of,
)
from tb_debugger_plugin.analysis.diagnosis.surroundings import NearOp, NearOutput
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS, is_gradient

_ADDS: Final = ("Add", "AddV2")
_PRODUCTS: Final = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum")
_PROBABILITIES: Final = ("Softmax", "Sigmoid")
#: Ops whose values are made of those of their inputs by sums and products.
_COMBINES: Final = frozenset({"Mul", "Sum", "Mean", "AddV2", *GUARDS, *_PRODUCTS})
_SMALL_INTEGERS: Final = frozenset({"uint8", "int8", "uint16", "int16"})
#: Ops whose results leave the range of a small integer dtype.
_WRAPPING: Final = frozenset({"Sub", "AddV2", "Add", "Mul", "Neg", "Sum", "Square", "AddN", "Cumsum", "Prod"})
_LARGE: Final = ("Mul", "Prod", "Cumprod")
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
_DIVISIONS: Final = ("RealDiv", "Div")
_SUMS: Final = ("Sum", "SegmentSum", "UnsortedSegmentSum", "SegmentSumV2")
_MEANS: Final = ("Mean", "Sum")
_ROOTS: Final = ("Sqrt", "EuclideanNorm")
_HALF: Final = ("float16", "half")
_LIMITS: Final = frozenset({"Maximum", "Minimum", "ClipByValue"})
#: Steps to a tf.where, and to a mask.
_NEAR: Final = 4
#: Ops that are looked at on a way along several.
_MOST: Final = 60
#: Growth of a magnitude that is called divergence, by the number of values that it takes at least.
_GROWTHS: Final = ((2, 1e6), (4, 1e3))
#: Finite values before an overflow from which on it may have grown.
_SEVERAL: Final = 2
#: Words in the names of ops of optimizers.
_OPTIMIZERS: Final = ("adam", "rmsprop", "adagrad", "adadelta", "nadam", "lamb")


def always(scene: Scene) -> bool:
    """Whether the op alone is the situation."""
    return True


def root_as_power(scene: Scene) -> bool:
    """Recognise the gradient of a power near a root: a base just above 0 gives about the same."""
    exponent = only_value(taken(scene.focus, 1))
    return scene.is_gradient and exponent is not None and 0.4 <= exponent < 1 and not in_float16(scene)


def any_gradient(scene: Scene) -> bool:
    """Whether the value is part of a gradient."""
    return scene.is_gradient


def in_unselected_branch(scene: Scene) -> bool:
    """Whether a select takes what the op made, or what the op made whose gradient the value is part of."""
    if not scene.is_gradient:
        return scene.op.type in _EDGED_OPS and any(near.type in SELECTS for near in scene.op.consumers)
    is_selected = any(type_of(source(scene.op, slot)) in SELECTS for slot in range(len(scene.op.inputs)))
    if scene.around.forward is None:
        return is_selected
    # The gradients of other ops select, too: that of tf.maximum does.
    following = consumers(scene.focus, _NEAR if is_selected else 2)
    return any(near.type in SELECTS and not is_gradient(near.name) for near in following)


def limited_afterwards(scene: Scene) -> bool:
    """Whether a limit takes what the op made whose gradient the value is in: it passes a 0 on."""
    if scene.around.forward is None or scene.focus.type not in _EDGED_OPS:
        return False
    return any(near.type in _LIMITS for near in _forward_consumers(scene.focus))


def log_of(wanted: str) -> Callable[[Scene], bool]:
    """Recognise the argument of a logarithm that an op of a type made, maybe with an epsilon or limit."""

    def is_there(scene: Scene) -> bool:
        made = source(scene.focus, through=COPIES | PICKS)
        return made is not None and (
            _is_a(made.op, wanted)
            or (made.op.type in GUARDS and any(_is_a(given.op, wanted) for given in made.op.inputs))
        )

    return is_there


def log_of_one_minus_sigmoid(scene: Scene) -> bool:
    """Recognise the logarithm of 1 − sigmoid(x)."""
    difference = made_by(scene.focus, 0, "Sub")
    return difference is not None and made_by(difference, 1, "Sigmoid") is not None


def own_log_sum_exp(scene: Scene) -> bool:
    """Whether the op is inside of reduce_logsumexp, which subtracts the maximum already."""
    return "ReduceLogSumExp" in scene.focus.name or "logsumexp" in (scene.focus.line or "").lower()


def log_of_sum_of_exp(scene: Scene) -> bool:
    """Recognise the logarithm of a sum of exponentials."""
    if own_log_sum_exp(scene):
        return False
    if scene.focus.type == "Exp":
        sums = [near for near in consumers(scene.focus, 2) if near.type == "Sum"]
        return any(near.type == "Log" for each in sums for near in consumers(each, 2))
    total = made_by(scene.focus, 0, "Sum")
    return total is not None and made_by(total, 0, "Exp") is not None


def log_of_added_exp(scene: Scene) -> bool:
    """Recognise the logarithm of exponentials that are added one by one: log(exp(a) + exp(b))."""
    if scene.focus.type == "Exp":
        sums = [near for near in consumers(scene.focus, _NEAR) if _adds_exp(near)]
        return any(near.type == "Log" for each in sums for near in each.consumers)
    total = made_by(scene.focus, 0, *_ADDS)
    return total is not None and _adds_exp(total)


def underflowing_exp(scene: Scene) -> bool:
    """Whether the argument, or the divisor, is 0 because exponentials before it are 0."""
    slot = len(scene.focus.inputs) - 1
    given = taken(scene.focus, slot)
    if given is None or not given.numbers.counts.get("zero"):
        return False
    return any(near.type == "Exp" and bool(near.numbers().counts.get("zero")) for near in _products(given.op))


def own_softmax(scene: Scene) -> bool:
    """Recognise an exponential divided by a sum of exponentials."""
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
    """Recognise a logarithm times another factor, or times its own argument as in an entropy."""
    if scene.focus.type == "Log":
        products = [near for near in _forward_consumers(scene.focus) if near.type == "Mul"]
        quotient = made_by(scene.focus, 0, *_DIVISIONS)
        argument = taken(scene.focus) if quotient is None else taken(quotient)
        return any(same(argument, factor) for near in products for factor in near.inputs)
    return any(type_of(source(scene.focus, slot)) in ("Log", "Log1p") for slot in (0, 1))


def infinite_factor(scene: Scene) -> bool:
    """Recognise a product with a constant infinity."""
    return any(
        (made := source(scene.focus, slot)) is not None and made.op.type == "Const" and _is_infinite(made)
        for slot in (0, 1)
    )


def masked_with_infinity(scene: Scene) -> bool:
    """Something before the softmax put −∞ into it, and nothing was +∞."""
    given = taken(scene.focus)
    return given is not None and bool(given.numbers.counts.get("neg_inf"))


def log_of_probability(scene: Scene) -> bool:
    """Whether the argument of a logarithm is a probability by its ops, its name, or its values."""
    given = taken(scene.focus)
    if given is None or scene.output.counts.get("nan"):
        return False
    low, high = given.numbers.low, given.numbers.high
    if low is not None and high is not None:
        return low >= 0 and high <= 1
    return _is_probability(given.op)


def wrapped_integer(scene: Scene) -> bool:
    """Whether the argument was computed in a small integer dtype, which wraps around, and cast afterwards."""
    if _wraps(scene.focus):
        return True
    return any(_wraps(near) for near in producers(scene.focus, _NEAR))


def rounded_epsilon(scene: Scene) -> bool:
    """Recognise an epsilon, or a lower limit, that is 0 in the narrow dtype of the op."""
    made = source(scene.focus, len(scene.focus.inputs) - 1)
    if made is None or made.op.type not in GUARDS or not in_float16(scene):
        return False
    return any(_constant_zero(made.op, slot) for slot in range(len(made.op.inputs)))


def rounded_limit(scene: Scene) -> bool:
    """1 − x, where x was clipped to a limit that rounds to 1."""
    rest = made_by(scene.focus, 0, "Sub")
    if rest is None or only_value(taken(rest, 0)) != 1.0:
        return False
    clipped = [source(rest, 1)]
    for _ in range(2):  # a clip is a minimum, and then a maximum
        made = clipped[-1]
        if made is not None and made.op.type in _LIMITS:
            if 1.0 in _only_values(made.op)[1:]:
                return True
            clipped.append(source(made.op))
    return False


def finite_mask_too_large(scene: Scene) -> bool:
    """Whether a constant of the program is beyond the range of the dtype that it is cast to."""
    return type_of(source(scene.op, through=COPIES - {"Cast"})) == "Const"


def squared_distance(scene: Scene) -> bool:
    """Whether the argument of a root is a² + b² − 2ab, which is a little below 0 by round-off."""
    total = made_by(scene.focus, 0, "Sub", *_ADDS)
    if total is None:
        return False
    near = [total, *producers(total, _NEAR)]
    return any(each.type in _PRODUCTS for each in near) and any(is_squared(each) for each in near)


def rounded_cosine(scene: Scene) -> bool:
    """Whether the argument is a product of vectors of length 1, or a tanh: beyond 1 only by round-off."""
    given = taken(scene.focus)
    if given is not None and given.numbers.low is not None and given.numbers.high is not None:
        return -1.001 <= given.numbers.low and given.numbers.high <= 1.001
    made = source(scene.focus, through=COPIES | PICKS)
    if made is not None and made.op.type == "Tanh":
        return True
    near = [] if made is None else [made.op, *producers(made.op, 2 * _NEAR)]
    return any(each.type in (*_PRODUCTS, "Sum") for each in near[:3]) and any(
        each.type in ("Rsqrt", *_ROOTS) for each in near
    )


def difference_of_means(scene: Scene) -> bool:
    """mean(x²) − mean(x)²."""
    difference = made_by(scene.focus, 0, "Sub")
    if difference is None:
        return False
    mean, square = made_by(difference, 0, *_MEANS), source(difference, 1)
    return mean is not None and square is not None and is_squared(square.op)


def root_of_variance(scene: Scene) -> bool:
    """Recognise the root of a mean of squared differences; of the root itself, its gradient."""
    mean = _under_root(scene.focus)
    if mean is None or mean.type != "Mean" or (scene.focus.type == "Sqrt" and not scene.is_gradient):
        return False
    squares = source(mean)
    if squares is None or not is_squared(squares.op):
        return False
    return squares.op.type == "SquaredDifference" or type_of(source(squares.op)) == "Sub"


def root_of_squares(scene: Scene) -> bool:
    """Recognise the root of a sum of squares, or its gradient."""
    if scene.focus.type in ("EuclideanNorm", "Norm"):
        return True
    total = made_by(scene.focus, 0, *_MEANS)
    squares = source(scene.focus) if total is None else source(total)
    return squares is not None and is_squared(squares.op)


def bias_correction(scene: Scene) -> bool:
    """Whether the divisor is 1 − β ** t."""
    under = made_by(scene.focus, 1, "Sub")
    return under is not None and only_value(taken(under, 0)) == 1.0 and type_of(source(under, 1)) == "Pow"


def divided_by_bare_root(scene: Scene) -> bool:
    """Whether the divisor is a root, perhaps plus an epsilon of 0."""
    under = source(scene.focus, 1)
    if under is None:
        return False
    if under.op.type in ("AddV2", "Add"):
        return 0.0 in _only_values(under.op) and _takes(under.op, *_ROOTS)
    return under.op.type in _ROOTS


def centered_over_deviation(scene: Scene) -> bool:
    """(x − mean) / deviation: what is divided is 0 wherever the deviation is."""
    over, root = made_by(scene.focus, 0, "Sub"), _root_under(scene.focus)
    if over is None or root is None or type_of(source(over, 1)) != "Mean":
        return False
    mean = _under_root(root)
    return mean is not None and mean.type == "Mean" and scene.output.counts.get("pos_inf", 0) == 0


def vector_over_norm(scene: Scene) -> bool:
    """Whether a vector is divided by its own norm."""
    root, over = _root_under(scene.focus), source(scene.focus)
    if root is None or over is None:
        return False
    total = made_by(root, 0, "Sum")
    squares = None if total is None else source(total)
    is_own = squares is not None and is_squared(squares.op) and equal(source(squares.op), over)
    return (is_own or (root.type == "EuclideanNorm" and equal(source(root), over))) and _is_only_nan(scene)


def divided_by_range(scene: Scene) -> bool:
    """Whether the divisor is a maximum minus a minimum."""
    under = made_by(scene.focus, 1, "Sub")
    return under is not None and type_of(source(under, 0)) == "Max" and type_of(source(under, 1)) == "Min"


def scaled_to_range(scene: Scene) -> bool:
    """(x − minimum) / (maximum − minimum): what is divided is 0 wherever the range is."""
    over, under = made_by(scene.focus, 0, "Sub"), made_by(scene.focus, 1, "Sub")
    if over is None or under is None or not divided_by_range(scene):
        return False
    return equal(source(over, 1), source(under, 1)) and _is_only_nan(scene)


def mean_of_selected(scene: Scene) -> bool:
    """Recognise a sum of what a mask or a group selects, divided by its count, which is 0."""
    over, under = source(scene.focus), source(scene.focus, 1)
    if over is None or under is None or under.op.type not in _SUMS or not _is_only_nan(scene):
        return False
    if under.op.type != "Sum":
        return over.op.type == under.op.type and equal(source(over.op, 1), source(under.op, 1))
    mask, summed = source(under.op), source(over.op)
    if mask is None or summed is None or over.op.type != "Sum" or not _has_no_negative(under.op):
        return False
    if summed.op.type in SELECTS:
        return equal(source(summed.op), mask) and only_value(source(summed.op, 2)) == 0.0
    return summed.op.type in ("Mul", "MulNoNan") and any(equal(source(summed.op, i), mask) for i in (0, 1))


def share(scene: Scene) -> bool:
    """Recognise a part of a whole: x / sum(x) or x / (x + y), and nothing on record is below 0."""
    over, under = source(scene.focus), source(scene.focus, 1)
    if over is None or under is None or not _is_only_nan(scene):
        return False
    if under.op.type == "Sum":
        return equal(source(under.op), over) and _has_no_negative(under.op)
    parts = [source(under.op, slot) for slot in (0, 1)] if under.op.type in _ADDS else []
    return any(equal(part, over) for part in parts) and _has_no_negative(under.op)


def divided_by_count(scene: Scene) -> bool:
    """Whether the divisor is a sum of a mask, or of a group."""
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
    """Whether values are divided by their own sum."""
    under = made_by(scene.focus, 1, "Sum")
    return under is not None and _comes_from(under, source(scene.focus, 0))


def divided_by_whole_number(scene: Scene) -> bool:
    """Whether the divisor was a whole number, such as a counter."""
    slot = len(scene.focus.inputs) - 1
    cast = taken(scene.focus, slot)
    return (
        cast is not None
        and cast.op.type == "Cast"
        and cast.op.attributes.get("SrcT", "") in ("int32", "int64", "int16", "int8", "uint8")
    )


def step_from_zero(scene: Scene) -> bool:
    """Whether the argument is one whole number, such as a step."""
    given = taken(scene.focus)
    return given is not None and given.numbers.size == 1 and divided_by_whole_number(scene)


def divided_by_constant_zero(scene: Scene) -> bool:
    """Whether the divisor is a constant of the program."""
    under = source(scene.op, 1)
    return under is not None and under.op.type == "Const" and only_value(under) == 0.0


def optimizer_without_epsilon(scene: Scene) -> bool:
    """Whether an optimizer divides by a root without an epsilon."""
    name = scene.op.name.lower()
    return any(word in name for word in _OPTIMIZERS) and divided_by_bare_root(scene)


def optimizer_with_rounded_epsilon(scene: Scene) -> bool:
    """Whether an optimizer divides by a root with an epsilon that is 0 in float16."""
    return in_float16(scene) and (zero_epsilon(scene) or optimizer_without_epsilon(scene))


def in_pipeline(scene: Scene) -> bool:
    """Whether the op is in a function of an input pipeline."""
    return "Dataset_" in (scene.function or "")


def zero_epsilon(scene: Scene) -> bool:
    """Whether an optimizer got an epsilon of 0."""
    return any(
        only_value(given) == 0.0 and "epsilon" in given.op.name.lower() for given in scene.focus.inputs
    )


def batch_norm_without_epsilon(scene: Scene) -> bool:
    """Whether the epsilon of a batch normalisation is 0."""
    text = scene.focus.attributes.get("epsilon", "")
    try:
        return float(text) == 0.0
    except ValueError:
        return False


def in_float16(scene: Scene) -> bool:
    """Whether the value is in float16."""
    dtype = scene.output.dtype or scene.op.attributes.get("T", "")
    return dtype in _HALF


def global_norm(scene: Scene) -> bool:
    """Whether the op is part of a norm over all gradients."""
    return "global_norm" in scene.op.name or "global_norm" in (scene.op.line or "")


def mixed_precision(scene: Scene) -> bool:
    """Whether the value is in float16, in a program that trains in mixed precision."""
    return scene.around.program.is_mixed and in_float16(scene)


def overflow_after_finite(scene: Scene) -> bool:
    """Finite inputs gave an infinity, and the op gave finite values several times before."""
    is_infinite = any(scene.output.counts.get(kind) for kind in ("pos_inf", "neg_inf"))
    is_computed = bool(scene.op.inputs) and all(given.numbers.is_finite for given in scene.op.inputs)
    return is_infinite and is_computed and scene.around.finite_before >= _SEVERAL


def grew_over_steps(scene: Scene) -> bool:
    """Whether an input of the op grew from value to value until now, in a program that trains."""
    if not scene.around.program.trains:
        return False
    for slot in range(min(len(scene.op.inputs), 2)):
        magnitudes = scene.around.history(slot)
        for least, growth in _GROWTHS:
            if len(magnitudes) >= least and 0 < magnitudes[0] * growth < magnitudes[-1]:
                return True
    return False


def _is_only_nan(scene: Scene) -> bool:
    """Whether no element was infinite: what was divided was 0 wherever the divisor was."""
    counts = scene.output.counts
    return counts.get("pos_inf") == 0 and counts.get("neg_inf") == 0


def _has_no_negative(op: NearOp) -> bool:
    """Whether nothing that an op adds up, or chooses from, was below 0."""
    given = op.inputs if op.type in _ADDS else op.inputs[:1]
    return all(each.numbers.counts.get("negative") == 0 or _is_boolean(each.op) for each in given)


def _is_probability(op: NearOp, steps: int = _MOST) -> bool:
    """Whether a tensor is a softmax or a sigmoid, some of its elements, or an argument that is called so."""
    if op.type in _PROBABILITIES or steps == 0:
        return steps > 0
    if op.type in ARGUMENTS:
        return "prob" in op.name.lower()
    parts = [given.op for given in op.inputs]
    if op.type in ("Mul", "MulNoNan", *GUARDS):  # what is selected of it, or it with a limit
        parts = [each for each in parts if each.type not in ("Const", "OneHot") and not _is_boolean(each)]
        return len(parts) == 1 and _is_probability(parts[0], steps - 1)
    is_passed_on = op.type in COPIES | PICKS | {"Sum", "Mean", "Max"}
    return is_passed_on and bool(parts) and _is_probability(parts[0], steps - 1)


def _products(op: NearOp) -> Iterator[NearOp]:
    """Yield the op, and the ops whose values are summed, multiplied or picked to make it."""
    front, seen = [op], 0
    while front and seen < _MOST:
        near = front.pop(0)
        yield near
        seen += 1
        if near.type in COPIES | PICKS | _COMBINES:
            front += [given.op for given in near.inputs[:2]]


def _wraps(op: NearOp) -> bool:
    """Whether an op casts what was computed in a small integer dtype."""
    given = taken(op) if op.type == "Cast" else None
    if given is None:
        return False
    dtype = op.attributes.get("SrcT") or given.numbers.dtype or ""
    made = type_of(source(op, through=COPIES - {"Cast"}))
    if dtype in ("int32", "int64"):  # only products come to their end, and only a negative one shows it
        return made in _LARGE and bool(op.numbers().counts.get("negative"))
    return dtype in _SMALL_INTEGERS and made in _WRAPPING


def _constant_zero(op: NearOp, slot: int) -> bool:
    """Whether an input is a constant of the program that is 0 in the dtype of the op."""
    return type_of(source(op, slot)) == "Const" and only_value(taken(op, slot)) == 0.0


def _terms(op: NearOp) -> list[NearOutput]:
    """Return what is added up, by one sum of two or by several."""
    terms: list[NearOutput] = []
    front = [op]
    while front and len(terms) < _MOST:
        near = front.pop()
        for slot in range(len(near.inputs)):
            made = source(near, slot)
            if made is not None and made.op.type in _ADDS and len(front) < _MOST:
                front.append(made.op)
            elif made is not None:
                terms.append(made)
    return terms


def _adds_exp(op: NearOp) -> bool:
    """Whether at least two exponentials are added."""
    return op.type in _ADDS and [type_of(term) for term in _terms(op)].count("Exp") >= 2


def _root_under(op: NearOp) -> NearOp | None:
    """Return the root that divides, perhaps with an epsilon of 0."""
    under = source(op, 1, through=COPIES | PICKS)
    if under is not None and under.op.type in _ADDS and 0.0 in _only_values(under.op):
        under = next((each for each in map(source, [under.op] * 2, (0, 1)) if type_of(each) in _ROOTS), None)
    return under.op if under is not None and under.op.type in _ROOTS else None


def _is_a(op: NearOp, wanted: str) -> bool:
    """Whether an op is of a type, or a softmax that is written out."""
    return op.type == wanted or (wanted == "Softmax" and op.type == "RealDiv" and _divides_by_own_sum(op))


def _divides_by_own_sum(op: NearOp) -> bool:
    under = made_by(op, 1, "Sum")
    return under is not None and made_by(op, 0, "Exp") is not None and made_by(under, 0, "Exp") is not None


def _under_root(op: NearOp) -> NearOp | None:
    """Return what a root is taken of, before an epsilon of 0 is added."""
    made = source(op)
    if made is not None and made.op.type in ("Add", "AddV2") and 0.0 in _only_values(made.op):
        others = [slot for slot in range(len(made.op.inputs)) if only_value(taken(made.op, slot)) != 0.0]
        made = source(made.op, others[0]) if others else None
    return None if made is None else made.op


def _forward_consumers(op: NearOp) -> list[NearOp]:
    return [near for near in op.consumers if not near.name.startswith("gradient")]


def _takes(op: NearOp, *types: str) -> bool:
    return any(type_of(source(op, slot)) in types for slot in range(len(op.inputs)))


def _only_values(op: NearOp) -> list[float | None]:
    return [only_value(given) for given in op.inputs]


def _comes_from(op: NearOp, wanted: NearOutput | None) -> bool:
    """Whether an op takes a tensor, or what is made of it."""
    return wanted is not None and (
        same(source(op), wanted)
        or any(near == wanted.op for near in producers(op, 2) if near.type or near.name)
    )


def _is_infinite(tensor: NearOutput) -> bool:
    counts = tensor.numbers.counts
    return bool(tensor.numbers.size) and tensor.numbers.size == sum(
        counts.get(kind) or 0 for kind in ("neg_inf", "pos_inf")
    )


def _is_boolean(op: NearOp) -> bool:
    if op.type == "Cast" and op.attributes.get("SrcT") == "bool":
        return True
    return op.type in BOOLEANS or any(near.type in BOOLEANS for near in producers(op, _NEAR - 1))
