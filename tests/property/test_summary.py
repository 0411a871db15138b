"""`native/src/summary.cc`: kernels and NumPy twin compute the same numbers from the same bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.events.messages import TensorProto
from tb_debugger_plugin.events.modes import COUNTS, MOMENTS, SUMMARY_COLUMNS, TensorDebugMode, spec_of
from tb_debugger_plugin.events.numbers import count_values
from tb_debugger_plugin.native import module_without_tensorflow
from tests.support import twin
from tests.support.arrays import whole_tensor
from tests.support.examples import examples

try:
    native = module_without_tensorflow()
except ImportError:
    pytest.skip("the native library was not built", allow_module_level=True)

MODES = [mode for mode in SUMMARY_COLUMNS if spec_of(mode).is_recorded]
TENSOR_ID = 7


@dataclass(frozen=True)
class Kind:
    """A floating dtype: its number, and where exponent and mantissa lie in its bits."""

    name: str
    number: int
    bits: int
    infinity: int

    @property
    def word(self) -> np.dtype:
        return np.dtype(f"u{self.bits // 8}")

    def not_a_number(self) -> list[int]:
        """All NaN of a dtype of two bytes, and as many of a wider one: payloads of every length."""
        largest = (1 << (self.bits - 1)) - 1
        count = min(largest - self.infinity, 1 << 10)
        spread = [largest - (number * (largest - self.infinity)) // count for number in range(count)]
        narrow = [
            self.infinity + (1 << bit) for bit in range((self.infinity & -self.infinity).bit_length() - 1)
        ]
        positive = sorted({*spread, *narrow})
        return positive + [value | 1 << (self.bits - 1) for value in positive]

    def awkward(self) -> list[int]:
        """Zeros, ones, denormals, the largest, infinities and NaN of every payload's ends, of both signs."""
        inf, one_below = self.infinity, self.infinity - 1
        smallest_normal = inf & -inf
        positive = [
            0,
            1,
            smallest_normal - 1,
            smallest_normal,
            inf // 2,
            one_below,
            inf,
            inf + 1,
            2 * one_below,
        ]
        everything = [value for value in positive if value < 1 << (self.bits - 1)]
        everything.append((1 << (self.bits - 1)) - 1)
        return everything + [value | 1 << (self.bits - 1) for value in everything]

    def values(self, bits: np.ndarray) -> np.ndarray:
        """The numbers that bits stand for."""
        if self.name == "bfloat16":
            return (bits.astype(np.uint32) << 16).view(np.float32)
        return bits.view(f"f{self.bits // 8}")


KINDS = [
    Kind("float16", 19, 16, 0x7C00),
    Kind("bfloat16", 14, 16, 0x7F80),
    Kind("float32", 1, 32, 0x7F800000),
    Kind("float64", 2, 64, 0x7FF0000000000000),
]


def elements(kind: Kind, size: int, seed: int, palette: str) -> np.ndarray:
    """The bits of a tensor's elements."""
    random = np.random.default_rng(seed)
    if palette == "awkward":
        return random.choice(np.array(kind.awkward(), kind.word), size)
    if palette == "any bits":
        return np.frombuffer(random.bytes(size * kind.bits // 8), kind.word)
    values = random.normal(random.normal(scale=100), size=size)  # as in a training
    if palette == "denormal":
        return random.integers(0, kind.infinity & -kind.infinity, size).astype(kind.word)
    if kind.name == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(kind.word)
    return values.astype(f"f{kind.bits // 8}").view(kind.word)


Summary: TypeAlias = "dict[str, float]"


def kernel(bits: np.ndarray, kind: Kind, mode: TensorDebugMode, offset: int) -> Summary:
    """The columns that compiled code computes of elements that begin `offset` bytes into a buffer."""
    buffer = memoryview(bytes(offset) + bits.tobytes())[offset:]
    encoded = native.encode_summary(buffer, kind.number, bits.shape, int(mode), TENSOR_ID)
    proto = TensorProto.FromString(encoded)
    vector = np.frombuffer(proto.tensor_content, "<f8")
    assert [dim.size for dim in proto.tensor_shape.dim] == [len(vector)]
    return dict(zip(SUMMARY_COLUMNS[mode], vector.tolist(), strict=True))


def twins(values: np.ndarray, kind: Kind, mode: TensorDebugMode) -> Summary:
    """The columns as the twin defines them."""
    vector = twin.summarize(values, kind.number, mode, TENSOR_ID)
    return dict(zip(SUMMARY_COLUMNS[mode], vector, strict=True))


def part(summary: Summary, names: tuple[str, ...]) -> list[float]:
    """The columns of these names that the summary has."""
    return [summary[name] for name in names if name in summary]


SIZES = st.one_of(st.integers(0, 70), st.sampled_from([2047, 2048, 2049, 4095, 4097, 6151]))
PALETTES = st.sampled_from(["awkward", "any bits", "denormal", "training"])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=examples(20))
@given(size=SIZES, seed=st.integers(0, 2**32 - 1), palette=PALETTES, offset=st.integers(0, 9))
@example(size=40_001, seed=0, palette="any bits", offset=1)
@example(size=40_001, seed=0, palette="training", offset=3)
def test_kernels_and_twin_agree_on_any_elements_at_any_address(
    kind: Kind, size: int, seed: int, palette: str, offset: int
) -> None:
    bits = elements(kind, size, seed, palette)
    values = kind.values(bits)
    for mode in MODES:
        assert_same(kernel(bits, kind, mode, offset), twins(values, kind, mode), values)


def assert_same(actual: Summary, expected: Summary, values: np.ndarray) -> None:
    assert actual.keys() == expected.keys()
    exact = tuple(name for name in expected if name not in MOMENTS)
    assert part(actual, exact) == part(expected, exact)
    if any(math.isnan(expected[name]) for name in MOMENTS if name in expected):
        assert all(map(math.isnan, part(actual, MOMENTS)))
        return
    ends = ("min", "max")
    assert part(actual, ends) == part(expected, ends)
    signs = [[math.copysign(1, x) for x in part(summary, ends)] for summary in (actual, expected)]
    assert signs[0] == signs[1]
    finite = np.abs(values[np.isfinite(values)].astype(np.float64))
    largest = float(np.max(finite, initial=0.0))
    assert part(actual, ("mean",)) == pytest.approx(part(expected, ("mean",)), rel=0, abs=1e-14 * largest)
    # The distance of two numbers is no more exact than the numbers are.
    unavoidable = (1e-14 * largest) ** 2 if largest < 1e100 else 0.0
    variances = [part(summary, ("variance",)) for summary in (actual, expected)]
    assert variances[0] == pytest.approx(variances[1], rel=1e-12, abs=unavoidable + 1e-319)


@pytest.mark.parametrize("kind", KINDS[:2], ids=lambda kind: kind.name)
def test_every_value_of_two_bytes_is_of_the_right_kind(kind: Kind) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):  # signalling NaN
        values = kind.values(every).astype(np.float64)
    negative, finite = np.signbit(values), np.isfinite(values)
    kinds = np.column_stack(
        [
            *(values == -np.inf, values == np.inf, np.isnan(values)),
            *(finite & negative & (values != 0), values == 0, finite & ~negative & (values != 0)),
        ]
    )
    for bits, expected in zip(every.reshape(-1, 1), kinds, strict=True):
        assert part(kernel(bits, kind, TensorDebugMode.FULL_HEALTH, 0), COUNTS) == expected.tolist()


@pytest.mark.parametrize("kind", KINDS[:2], ids=lambda kind: kind.name)
def test_values_of_two_bytes_alone_are_their_own_smallest_largest_and_mean(kind: Kind) -> None:
    for bits in np.arange(1 << 16, dtype=np.uint16).reshape(-1, 1)[::61]:
        actual = kernel(bits, kind, TensorDebugMode.FULL_NUMERICS, 0)
        expected = twins(kind.values(bits), kind, TensorDebugMode.FULL_NUMERICS)
        np.testing.assert_array_equal(list(actual.values()), list(expected.values()))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_nan_of_every_payload_is_nan(kind: Kind) -> None:
    payloads = np.array(kind.not_a_number(), kind.word)
    for offset in range(3):
        counted = part(kernel(payloads, kind, TensorDebugMode.FULL_HEALTH, offset), COUNTS)
        assert counted == [0, 0, len(payloads), 0, 0, 0]
    for one in payloads[:: max(1, len(payloads) // 100)]:
        assert kernel(np.array([one]), kind, TensorDebugMode.CURT_HEALTH, 1)["any_bad"] == 1.0


FLOAT8 = [Kind("float8_e5m2", 24, 8, 0x7C), Kind("float8_e4m3fn", 25, 8, 0x7F)]


@pytest.mark.parametrize("kind", FLOAT8, ids=lambda kind: kind.name)
@settings(max_examples=examples(20))
@given(content=st.binary(max_size=1500))
@example(content=bytes(range(256)) * 9)
def test_numbers_of_one_byte_are_counted_like_the_floats_that_they_are(kind: Kind, content: bytes) -> None:
    bits = np.frombuffer(content, np.uint8)
    proto = TensorProto(dtype=kind.number, tensor_content=content)
    proto.tensor_shape.dim.add(size=len(content))
    values = whole_tensor(proto) if content else np.array([], np.float32)
    assert values is not None
    for mode in MODES:
        assert_same(kernel(bits, kind, mode, 1), twins(values, kind, mode), values)


@pytest.mark.parametrize("kind", FLOAT8, ids=lambda kind: kind.name)
def test_numbers_of_one_byte_are_those_of_ml_dtypes(kind: Kind) -> None:
    every = np.arange(256, dtype=np.uint8)
    proto = TensorProto(dtype=kind.number, tensor_content=every.tobytes())
    proto.tensor_shape.dim.add(size=256)
    theirs = every.view(getattr(ml_dtypes, kind.name)).astype(np.float32)
    ours = whole_tensor(proto)
    assert ours is not None
    np.testing.assert_array_equal(ours.astype(np.float32), theirs)


@pytest.mark.parametrize(
    ("part_kind", "number"), [(KINDS[2], 8), (KINDS[3], 18)], ids=["complex64", "complex128"]
)
@settings(max_examples=examples(20))
@given(size=st.integers(0, 70), seed=st.integers(0, 2**32 - 1), palette=PALETTES, offset=st.integers(0, 9))
def test_complex_numbers_are_of_the_kind_of_their_worse_part(
    part_kind: Kind, number: int, size: int, seed: int, palette: str, offset: int
) -> None:
    parts = elements(part_kind, 2 * size, seed, palette)
    values = part_kind.values(parts).view(f"c{part_kind.bits // 4}")
    for mode in MODES:
        buffer = memoryview(bytes(offset) + parts.tobytes())[offset:]
        encoded = native.encode_summary(buffer, number, values.shape, int(mode), TENSOR_ID)
        actual = np.frombuffer(TensorProto.FromString(encoded).tensor_content, "<f8")
        np.testing.assert_array_equal(actual, twin.summarize(values, number, mode, TENSOR_ID))
    if size:
        counted = count_values(values)
        kind = Kind("complex", number, part_kind.bits, part_kind.infinity)
        defined = twins(values, kind, TensorDebugMode.FULL_HEALTH)
        assert part(defined, ("size", *COUNTS)) == [counted[name] for name in ("size", *COUNTS)]


def test_equal_elements_have_no_variance_and_their_own_value_as_mean() -> None:
    for value in (0.1, -1e308, 5e-324):
        bits = np.full(5001, value).view(np.uint64)
        actual = kernel(bits, KINDS[3], TensorDebugMode.FULL_NUMERICS, 0)
        assert part(actual, MOMENTS) == [value, value, value, 0.0]


def test_a_mean_far_from_zero_leaves_the_variance_exact() -> None:
    bits = (1e9 + np.arange(9000) % 2).view(np.uint64)
    actual = kernel(bits, KINDS[3], TensorDebugMode.FULL_NUMERICS, 0)
    assert part(actual, ("mean", "variance")) == [1e9 + 0.5, 0.25]


def test_the_mean_of_the_largest_numbers_does_not_overflow() -> None:
    largest = float(np.finfo(np.float64).max)
    bits = np.array([largest, largest, -largest, largest]).view(np.uint64)
    actual = kernel(bits, KINDS[3], TensorDebugMode.FULL_NUMERICS, 0)
    assert part(actual, MOMENTS) == [-largest, largest, largest / 2, math.inf]


def bad_positions(array: memoryview, number: int, shape: tuple[int, ...]) -> tuple[int | None, int | None]:
    """Where compiled code finds the first bad element, and the first NaN."""
    mode = int(TensorDebugMode.CURT_HEALTH)
    summary = native.encode_summary(array, number, shape, mode, TENSOR_ID)
    found = native.bad_element(array, number, shape, summary, mode)
    return twin.NOWHERE if found is None else (found[0], None if found[1] < 0 else found[1])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=examples(20))
@given(
    size=st.sampled_from([1, 2, 70, 8191, 8192, 8193, 30_001]),
    places=st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["nan", "inf", "-inf"])), max_size=4),
    offset=st.integers(0, 9),
)
def test_the_first_bad_element_is_found_wherever_it_is(
    kind: Kind, size: int, places: list[tuple[float, str]], offset: int
) -> None:
    bits = elements(kind, size, size, "training")
    sign = 1 << (kind.bits - 1)
    words = {"inf": kind.infinity, "-inf": kind.infinity | sign, "nan": kind.infinity + 1 | sign}
    for share, word in places:
        bits[round(share * (size - 1))] = words[word]
    buffer = memoryview(bytes(offset) + bits.tobytes())[offset:]
    with np.errstate(invalid="ignore"):
        expected = twin.bad_positions(kind.values(bits))
    assert bad_positions(buffer, kind.number, bits.shape) == expected


@pytest.mark.parametrize("kind", [*KINDS, *FLOAT8], ids=lambda kind: kind.name)
@settings(max_examples=examples(20))
@given(size=st.integers(0, 1500), seed=st.integers(0, 2**32 - 1))
def test_the_first_bad_element_of_any_bits_is_found(kind: Kind, size: int, seed: int) -> None:
    bits = elements(kind, size, seed, "any bits")
    if kind.bits == 8:
        values = bits.view(getattr(ml_dtypes, kind.name)).astype(np.float32)
    else:
        values = kind.values(bits)
    assert bad_positions(memoryview(bits.tobytes()), kind.number, bits.shape) == twin.bad_positions(values)


@pytest.mark.parametrize(
    ("part_kind", "number"), [(KINDS[2], 8), (KINDS[3], 18)], ids=["complex64", "complex128"]
)
@settings(max_examples=examples(20))
@given(size=st.integers(0, 70), seed=st.integers(0, 2**32 - 1), palette=PALETTES)
def test_a_complex_number_is_bad_as_one_of_its_parts_is(
    part_kind: Kind, number: int, size: int, seed: int, palette: str
) -> None:
    parts = elements(part_kind, 2 * size, seed, palette)
    values = part_kind.values(parts).view(f"c{part_kind.bits // 4}")
    assert bad_positions(memoryview(parts.tobytes()), number, values.shape) == twin.bad_positions(values)
