"""Elements of an array as texts of one width, in NumPy's style.

Takes an array and returns a function that makes the texts of a part of it. A small array is formatted as
NumPy does, with as few digits as its elements need. In a large array, digits are bounded from its smallest
and its largest element, so that not each of millions of texts has to be made to know the width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.lib import NumpyVersion

from tb_debugger_plugin.analysis.values.texts import element_text
from tb_debugger_plugin.events.numbers import Array

#: Digits after the point, and the bounds of numbers that are written without an exponent, as in NumPy.
_PRECISION: Final = 8
_LARGE_DIGITS: Final = 8
#: From this version on, NumPy writes no more digits before the point than the dtype holds.
_BY_DTYPE: Final = NumpyVersion(np.__version__) >= "2.3.0"
_DIGITS: Final = {np.dtype(one): np.finfo(one).precision for one in (np.float16, np.float32)}
_SMALL: Final = 1e-4
_FAR: Final = 1000.0
#: Elements of an array whose texts are all made to know their width.
_FEW: Final = 5000
#: The width of the longest text of a dtype of ``ml_dtypes``, such as ``-3.38953e+38``.
_SHORT_FLOAT: Final = 12
#: The width to which strings are aligned at most.
_STRING: Final = 30


class ElementTexts(NamedTuple):
    """How the elements of an array are written.

    Attributes:
      width: The width of each text; a longer string is not cut.
      texts: Returns the texts of some elements, aligned.
    """

    width: int
    texts: Callable[[Array], list[str]]


def element_texts(array: Array) -> ElementTexts:
    """Return how the elements of an array are written.

    Args:
      array: The array, or as much of it as is shown.
    """
    kind = array.dtype.kind
    if kind == "c":
        return _complex(array)
    if kind == "f":
        return _of_widths(_floats(array))
    if kind in "iu" and array.size:
        width = max(len(str(array.min())), len(str(array.max())))
        return ElementTexts(width, lambda part: [str(value).rjust(width) for value in part.tolist()])
    return _others(array)


def _others(array: Array) -> ElementTexts:
    few = array.reshape(-1)[:_FEW]
    bound = {"b": len("False"), "V": _SHORT_FLOAT}.get(array.dtype.kind)
    if bound is None or (array.size <= _FEW and array.dtype.kind != "b"):
        bound = min(_STRING, max(map(len, map(element_text, few)), default=0))
    width = bound
    return ElementTexts(width, lambda part: [element_text(value).rjust(width) for value in part])


class _Floats(NamedTuple):
    """How real numbers are written.

    Attributes:
      is_scientific: Whether with an exponent.
      left: Characters before the point, with the sign.
      right: Digits after the point.
      exponent: Digits of the exponent.
      sign: Whether positive numbers have a sign.
    """

    is_scientific: bool
    left: int
    right: int
    exponent: int
    sign: bool

    @property
    def width(self) -> int:
        tail = self.exponent + 2 if self.is_scientific else 0
        return self.left + 1 + self.right + tail

    def text(self, value: float) -> str:
        if not np.isfinite(value):
            sign = "+" if self.sign and not value < 0 else ""
            return f"{sign}{value}".rjust(self.width)
        if self.is_scientific:
            text = np.format_float_scientific(
                *(value, self.right, True, "k", self.sign, self.left, self.exponent, self.right)
            )
        else:
            text = np.format_float_positional(
                *(value, self.right, True, True, "."),
                sign=self.sign,
                pad_left=self.left,
                pad_right=self.right,
            )
        return text.rjust(self.width)


def _of_widths(form: _Floats) -> ElementTexts:
    return ElementTexts(form.width, lambda part: [form.text(value) for value in part])


def _floats(array: Array, *, sign: bool = False) -> _Floats:
    mask = np.isfinite(array)
    # Indexing copies, which takes most of the time of a large array.
    finite = array.reshape(-1) if mask.all() else array[mask]
    is_scientific = _is_scientific(finite)
    exact = _few_floats if array.size <= _FEW else _many_floats
    form = exact(finite, is_scientific=is_scientific, sign=sign)
    # NaN and infinities must fit, too.
    special = 0 if finite.size == array.size else max(map(len, _specials(array, sign)))
    return form._replace(left=form.left + max(0, special - form.width))


def _is_scientific(finite: Array) -> bool:
    """Whether NumPy writes these numbers with an exponent."""
    sizes = np.abs(finite)
    largest = sizes.max() if sizes.size else 0
    if not largest:
        return False
    smallest = sizes.min() or sizes[sizes > 0].min()
    # The numbers keep their dtype: NumPy compares in it.
    with np.errstate(over="ignore"):
        return bool(largest >= _large(finite) or smallest < _SMALL or largest / smallest > _FAR)


def _large(array: Array) -> float:
    """Return the smallest magnitude that is written with an exponent."""
    return 10.0 ** (_DIGITS.get(array.dtype, _LARGE_DIGITS) if _BY_DTYPE else _LARGE_DIGITS)


def _specials(array: Array, sign: bool) -> list[str]:
    found = (np.isnan(array), np.isposinf(array), np.isneginf(array))
    texts = ("+nan", "+inf", "-inf") if sign else ("nan", "inf", "-inf")
    return [text for text, mask in zip(texts, found, strict=True) if mask.any()]


def _few_floats(finite: Array, *, is_scientific: bool, sign: bool) -> _Floats:
    if is_scientific:
        texts = [np.format_float_scientific(one, _PRECISION, True, ".", sign) for one in finite]
        mantissas, exponents = zip(*(text.split("e") for text in texts), strict=True)
        whole, after = _widths(mantissas)
        return _Floats(True, whole, after, max(len(text) for text in exponents) - 1, sign)
    plain = [np.format_float_positional(one, _PRECISION, True, True, ".", sign) for one in finite]
    return _Floats(False, *_widths(plain), 0, sign)


def _widths(texts: Iterable[str]) -> tuple[int, int]:
    parts = [text.partition(".") for text in texts]
    return (
        max((len(before) for before, _, _ in parts), default=1),
        max((len(after) for _, _, after in parts), default=0),
    )


def _many_floats(finite: Array, *, is_scientific: bool, sign: bool) -> _Floats:
    if not finite.size:
        return _Floats(False, 1, 0, 0, sign)
    ends = (finite.min(), finite.max())
    has_sign = sign or ends[0] < 0
    if is_scientific:
        return _Floats(True, 1 + has_sign, _PRECISION, 3 if finite.dtype.itemsize > 4 else 2, sign)
    left = max(len(str(int(abs(end)))) for end in ends) + has_sign
    some = finite[:_FEW]
    is_whole = bool((some == np.trunc(some)).all() and (finite == np.trunc(finite)).all())
    return _Floats(False, left, 0 if is_whole else _PRECISION, 0, sign)


def _complex(array: Array) -> ElementTexts:
    real, imaginary = _floats(array.real), _floats(array.imag, sign=True)

    def text(value: complex) -> str:
        second = imaginary.text(value.imag)
        number = second.rstrip()
        return f"{real.text(value.real)}{number}j{' ' * (len(second) - len(number))}"

    return ElementTexts(real.width + imaginary.width + 1, lambda part: [text(value) for value in part])
