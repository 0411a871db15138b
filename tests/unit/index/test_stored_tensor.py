"""`index/stored_tensor.py`: parts of a tensor are read from its record, and damage allocates nothing."""

from __future__ import annotations

import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.dtypes import NUMBER_OF
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.messages import TensorProto
from tb_debugger_plugin.index.stored_tensor import (
    MemoryBytes,
    Span,
    check_record,
    elements_of,
    message_in,
    record_at,
)
from tests.support.events import shaped, whole

_KINDS = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float32": np.float32,
    "float64": np.float64,
    "complex64": np.complex64,
    "complex128": np.complex128,
    "int8": np.int8,
    "int64": np.int64,
    "uint64": np.uint64,
    "bool": np.bool_,
}


def _elements(proto):
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    return elements_of(MemoryBytes(data, 100), Span(100, 100 + len(data)))


@pytest.mark.parametrize("name", _KINDS)
def test_ranges_of_each_dtype_come_back_as_they_were(name):
    array = np.arange(24).astype(_KINDS[name]).reshape(2, 3, 4)
    actual = _elements(whole(array, NUMBER_OF[name]))
    assert actual.shape == (2, 3, 4) and actual.kind == array.dtype
    np.testing.assert_array_equal(actual.read(5, 11), array.reshape(-1)[5:11])
    assert len(actual.read(7, 7)) == 0


def test_elements_of_fields_are_read_and_the_last_one_stands_for_the_rest():
    proto = shaped(10**7, dtype=NUMBER_OF["float32"], float_val=[1.0, 2.0])
    actual = _elements(proto)
    assert actual.shape == (10**7,)
    assert actual.read(0, 4).tolist() == [1, 2, 2, 2]
    assert actual.read(10**7 - 2, 10**7).tolist() == [2, 2]


def test_strings_are_bytes():
    proto = shaped(3, dtype=NUMBER_OF["string"], string_val=[b"a", b"\xff", b""])
    assert _elements(proto).read(1, 3).tolist() == [b"\xff", b""]


def test_strings_that_tensorflows_own_ops_write_begin_with_their_lengths():
    long = b"x" * 300
    proto = shaped(3, dtype=NUMBER_OF["string"], tensor_content=b"\x01\xac\x02\x00" + b"a" + long)
    assert _elements(proto).read(0, 3).tolist() == [b"a", long, b""]


def test_an_empty_tensor_and_a_scalar_are_read():
    empty = _elements(whole(np.empty((0, 3), np.float32), NUMBER_OF["float32"]))
    assert empty.shape == (0, 3) and len(empty.read(0, 0)) == 0
    assert _elements(whole(np.float64(2.5), NUMBER_OF["float64"])).read(0, 1).tolist() == [2.5]


@pytest.mark.parametrize(
    ("proto", "said"),
    [
        (shaped(10, tensor_content=b"1234"), "its record holds 4 bytes, but its shape needs 40"),
        (shaped(1 << 40, 1 << 40, tensor_content=b"1234"), "its shape is impossible"),
        (shaped(-1, tensor_content=b"1234"), "its shape is impossible"),
        (shaped(*[1] * 255, tensor_content=b"1234"), "its shape is impossible"),
        (shaped(*[1] * 9000, tensor_content=b"1234"), "its shape is impossible"),
        (shaped(1 << 45), "does not hold as many elements as its shape says"),
        (shaped(10**6, 10**6, float_val=[1.0]), "stands for 999,999,999,999 more"),
        (shaped(10**6, 10**6, dtype=7, string_val=[b"a"]), "stands for 999,999,999,999 more"),
        (shaped(2, float_val=[1.0] * 5), "does not hold as many elements as its shape says"),
        (shaped(2, dtype=7, string_val=[b"a"] * 5), "does not hold as many elements as its shape says"),
        (shaped(2, dtype=7, tensor_content=b"\x05\x01ab"), "does not hold as many elements"),
        (shaped(1 << 40, dtype=7, tensor_content=b"\x05\x01ab"), "does not hold as many elements"),
        (shaped(2, dtype=20, tensor_content=b"1234"), "NumPy has no arrays of resource"),
        (shaped(2, dtype=99, tensor_content=b"1234"), "NumPy has no arrays of its dtype"),
        (b"\x0a\xff\xff\xff\xff\x0f", "its record is not a message: The field at byte 106 does not end"),
        (b"\x0b", "its record is not a message: Byte"),
        (b"\xff" * 20, "its record is not a message"),
        (b"\x08", "its record is not a message: A number at byte 101 is not complete"),
    ],
)
def test_a_hostile_tensor_is_refused_in_words_and_takes_no_memory(proto, said):
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=said):
            _elements(proto).read(0, 10)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_the_shape_of_the_highest_rank_is_read():
    array = np.zeros([1] * 32, np.float32)  # NumPy 1 has no more
    proto = whole(array, NUMBER_OF["float32"])
    for _ in range(254 - 32):
        proto.tensor_shape.dim.add(size=1)
    assert len(_elements(proto).shape) == 254


@given(st.binary(max_size=200))
def test_any_bytes_are_a_tensor_or_refused(data):
    try:
        actual = _elements(data)
        actual.read(0, min(3, int(np.prod(actual.shape))))
    except FormatError:
        pass


def test_a_record_is_found_and_compared_with_its_checksum():
    data = b"before" + frame(b"payload")
    record = record_at(MemoryBytes(data), 6)
    assert data[record.begin : record.end] == b"payload"
    check_record(MemoryBytes(data), record)
    damaged = data.replace(b"pay", b"PAY")
    with pytest.raises(FormatError, match="the checksum of its record is wrong"):
        check_record(MemoryBytes(damaged), record_at(MemoryBytes(damaged), 6))


@pytest.mark.parametrize("length", range(23))
def test_a_record_that_is_cut_off_is_refused(length):
    with pytest.raises(FormatError, match="cut off"):
        record_at(MemoryBytes(frame(b"payload")[:length]), 0)


def test_a_message_inside_a_message_is_found_by_number_and_occurrence():
    proto = TensorProto(string_val=[b"a", b"bc"], dtype=7)
    data = proto.SerializeToString()
    source, message = MemoryBytes(data), Span(0, len(data))
    number = TensorProto.DESCRIPTOR.fields_by_name["string_val"].number
    found = message_in(source, message, number, 1)
    assert data[found.begin : found.end] == b"bc"
    with pytest.raises(FormatError, match="holds no such tensor"):
        message_in(source, message, number, 2)
