"""The functions of the language: a table of what an expression may call, with the size of each result.

Each row has a bound: it computes, from the arguments, how many elements the result may have, before the
function is called.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple, SupportsFloat, SupportsInt, TypeAlias

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import UsageError

#: An array of any dtype and shape.
Array: TypeAlias = npt.NDArray[Any]
#: The most elements of an array in an expression: half a gigabyte of float64.
MAX_ELEMENTS: Final = 1 << 26
_MAX_BINS: Final = 10_000
_MAX_DIFFERENCES: Final = 100
_MAX_MATRIX: Final = 1 << 22


class Function(NamedTuple):
    """A function that expressions may call.

    Attributes:
      call: The function.
      elements: Returns how many elements the result may have, from the arguments.
    """

    call: Callable[..., object]
    elements: Callable[..., int]


def check_size(elements: int) -> None:
    """Check the size of a result before it is computed.

    Raises:
      UsageError: It is too large.
    """
    if elements > MAX_ELEMENTS:
        raise UsageError(
            f"The result would have {elements:,} elements; an expression makes at most {MAX_ELEMENTS:,}:"
            " take a slice first."
        )


def size_of(value: object) -> int:
    """Return the number of elements of an argument."""
    if isinstance(value, (list, tuple)):
        return sum(map(size_of, value))
    return int(getattr(value, "size", 1))


def broadcast_size(*values: npt.ArrayLike) -> int:
    """Return the number of elements of what arguments are broadcast to.

    Raises:
      ValueError: They cannot be broadcast.
    """
    return math.prod(np.broadcast_shapes(*(np.shape(value) for value in values)))


def matmul_size(left: npt.ArrayLike, right: npt.ArrayLike) -> int:
    """Return the number of elements of a product of matrices, or of stacks of them.

    Raises:
      ValueError: The stacks cannot be broadcast.
    """
    first, second = np.shape(left), np.shape(right)
    stack = math.prod(np.broadcast_shapes(first[:-2], second[:-2]))
    return stack * (first[-2] if len(first) > 1 else 1) * (second[-1] if len(second) > 1 else 1)


def _all(*args: object, **named: object) -> int:
    """All elements of all arguments: nothing is repeated."""
    return size_of(list(args)) + size_of(list(named.values()))


def _broadcast(*args: npt.ArrayLike, **named: npt.ArrayLike) -> int:
    return broadcast_size(*args[:3], *(named[name] for name in ("a_min", "a_max") if name in named))


def _outer(left: object, right: object, *rest: object, **named: object) -> int:
    return size_of(left) * size_of(right)


def _matmul(left: npt.ArrayLike, right: npt.ArrayLike, *rest: object, **named: object) -> int:
    return matmul_size(left, right)


def _dot(left: npt.ArrayLike, right: object, *rest: object, **named: object) -> int:
    inner = max(1, np.shape(left)[-1] if np.shape(left) else 1)
    return max(1, size_of(left) // inner) * max(1, size_of(right) // inner)


def _square(value: object, *rest: object, **named: object) -> int:
    return size_of(value) ** 2


def _factors(value: npt.ArrayLike, *rest: object, **named: object) -> int:
    """Return a square matrix of the longest side, for each matrix. A large one would take minutes."""
    if size_of(value) > _MAX_MATRIX:
        raise UsageError(f"A matrix that is factored in an expression has at most {_MAX_MATRIX:,} elements.")
    shape = np.shape(value)
    return int(size_of(value) + math.prod(shape[:-2]) * max(shape, default=1) ** 2)


def _differences(value: object, n: SupportsInt = 1, *rest: object, **named: object) -> int:
    if int(n) > _MAX_DIFFERENCES:
        raise UsageError(f"np.diff in an expression is repeated at most {_MAX_DIFFERENCES} times.")
    return size_of(value)


def _of_shape(shape: npt.ArrayLike, *rest: object, **named: object) -> int:
    return math.prod(int(size) for size in np.atleast_1d(shape))


def _to_shape(value: object, shape: npt.ArrayLike, *rest: object, **named: object) -> int:
    return _of_shape(shape)


def _range(*args: SupportsFloat, **named: object) -> int:
    begin, end, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    return max(0, math.ceil((float(end) - float(begin)) / float(step)))


def _spaced(start: object, stop: object, num: SupportsInt = 50, *rest: object, **named: object) -> int:
    return int(num) * max(size_of(start), size_of(stop))


def _matrix(rows: SupportsInt, columns: SupportsInt | None = None, *rest: object, **named: object) -> int:
    return int(rows) * int(rows if columns is None else columns)


def _histogram(value: object, bins: SupportsInt = 10, *rest: object, **named: object) -> int:
    if size_of(bins) == 1 and int(bins) > _MAX_BINS:
        raise UsageError(f"A histogram in an expression has at most {_MAX_BINS:,} bins.")
    return size_of(value)


def _quantile(value: object, q: object, *rest: object, **named: object) -> int:
    return size_of(value) * max(1, size_of(q))


def _rows(names: str, elements: Callable[..., int], home: object = np) -> dict[str, Function]:
    """Return the functions of some names; a version of NumPy may not have all of them."""
    return {name: Function(getattr(home, name), elements) for name in names.split() if hasattr(home, name)}


_OF_EACH: Final = (
    "abs absolute fabs negative positive sign sqrt cbrt square exp exp2 expm1 log log2 log10 log1p reciprocal"
    " sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg floor ceil"
    " trunc rint round around real imag conj conjugate angle isnan isinf isfinite isneginf isposinf signbit"
    " logical_not invert nan_to_num spacing sinc"
)
_OF_PAIRS: Final = (
    "add subtract multiply divide true_divide floor_divide mod fmod remainder power float_power maximum"
    " minimum fmax fmin arctan2 hypot copysign nextafter logical_and logical_or logical_xor equal not_equal"
    " less less_equal greater greater_equal isclose allclose array_equal bitwise_and bitwise_or bitwise_xor"
    " heaviside logaddexp where clip"
)
_REDUCING: Final = (
    "sum prod mean std var min max amin amax ptp any all argmin argmax nansum nanprod nanmean nanstd nanvar"
    " nanmin nanmax nanargmin nanargmax median nanmedian average count_nonzero cumsum cumprod trace"
    " nonzero flatnonzero argwhere sort argsort unique"
)
_SHAPING: Final = (
    "reshape ravel transpose squeeze expand_dims swapaxes moveaxis flip fliplr flipud roll rot90 concatenate"
    " stack hstack vstack dstack atleast_1d atleast_2d atleast_3d triu tril diagonal array asarray copy"
    " shape size ndim"
)


def _astype(value: npt.ArrayLike, dtype: npt.DTypeLike) -> object:
    return np.asarray(value).astype(dtype)


def _extreme(of_pair: Callable[..., object], of_array: Callable[..., object]) -> Function:
    """Return Python's `min` or `max`: of an array, or of several numbers."""

    def call(*args: object, **named: object) -> object:
        return of_array(*args, **named) if len(args) == 1 else functools.reduce(of_pair, args)

    return Function(call, _broadcast_all)


def _broadcast_all(*args: npt.ArrayLike, **named: object) -> int:
    return broadcast_size(*args)


DTYPES: Final = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
    " bool_".split()
)


#: Functions of ``np`` by name.
FUNCTIONS: Final[dict[str, Function]] = {
    **_rows(_OF_EACH, _all),
    **_rows(_OF_PAIRS, _broadcast),
    **_rows(_REDUCING, _all),
    **_rows(_SHAPING, _all),
    **_rows("percentile quantile nanpercentile nanquantile", _quantile),
    **_rows("outer", _outer),
    **_rows("matmul", _matmul),
    **_rows("dot inner vdot", _dot),
    **_rows("diff", _differences),
    **_rows("diag diagflat", _square),
    **_rows("zeros ones full", _of_shape),
    **_rows("zeros_like ones_like full_like", _all),
    **_rows("broadcast_to", _to_shape),
    **_rows("arange", _range),
    **_rows("linspace", _spaced),
    **_rows("eye identity", _matrix),
    **_rows("histogram", _histogram),
    "astype": Function(_astype, _all),
    **{name: Function(functools.partial(_astype, dtype=name), _all) for name in sorted(DTYPES)},
    **{
        f"linalg.{name}": row
        for name, row in {
            **_rows("norm", _all, np.linalg),
            **_rows("det slogdet matrix_rank cond eigvals eigvalsh inv pinv", _factors, np.linalg),
            **_rows("svd qr eigh cholesky", _factors, np.linalg),
            **_rows("solve", _all, np.linalg),
        }.items()
    },
}

#: Functions without ``np``; those of Python would go through an array element by element.
BUILTINS: Final[dict[str, Function]] = {
    **{name: FUNCTIONS[name] for name in ("abs", "sum", "round", "any", "all")},
    "min": _extreme(np.minimum, np.min),
    "max": _extreme(np.maximum, np.max),
    "len": Function(len, _all),
    "float": Function(float, _all),
    "int": Function(int, _all),
    "bool": Function(bool, _all),
    "complex": Function(complex, _all),
}

#: Methods of arrays: functions whose first argument is the array.
METHODS: Final = frozenset(
    "sum prod mean std var min max ptp any all argmin argmax cumsum cumprod trace nonzero round clip reshape"
    " ravel transpose squeeze swapaxes diagonal astype dot conj copy argsort".split()
)
#: Methods that take a shape or axes as several arguments, too.
SPREAD: Final = frozenset(("reshape", "transpose"))
#: Attributes of arrays.
ATTRIBUTES: Final = frozenset(("T", "shape", "size", "ndim", "real", "imag", "itemsize", "nbytes", "dtype"))
#: Named arguments; ``out`` is not among them, so no array is written.
KEYWORDS: Final = frozenset(
    "axis keepdims ddof dtype decimals ord k offset axis1 axis2 a_min a_max q bins equal_nan rtol atol nan"
    " posinf neginf full_matrices compute_uv return_counts return_index weights shift num endpoint initial"
    " fill_value n method range density".split()
)
#: Texts that a function may take.
WORDS: Final = DTYPES | {"fro", "nuc", "linear", "lower", "higher", "midpoint", "nearest", "reduced"}
#: Constants of ``np``.
CONSTANTS: Final[dict[str, float | str | None]] = {
    **{"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e, "newaxis": None},
    **{name: name for name in DTYPES},
}
