"""`events/framing.py`: a stream is cut into records, and each way in which it can end has a name."""

from __future__ import annotations

import struct

from tb_debugger_plugin.events.framing import EndKind, RecordReader, frame, masked_crc, read_records


def test_a_frame_has_the_bytes_of_the_documented_example():
    # CRC-32C of "123456789" is 0xe3069283; rotated right by 15 and with the constant added it is this.
    assert masked_crc(b"123456789") == (((0xE3069283 >> 15) | (0xE3069283 << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    framed = frame(b"123456789")
    assert framed[:8] == struct.pack("<Q", 9)
    assert framed[12:21] == b"123456789"
    assert framed[21:] == struct.pack("<I", masked_crc(b"123456789"))


def test_records_come_back_with_their_offsets():
    reader = RecordReader(frame(b"a") + frame(b"") + frame(b"bcd"))
    assert list(reader) == [(0, b"a"), (17, b""), (33, b"bcd")]
    assert (reader.end.kind, reader.end.offset) == (EndKind.CLEAN, 52)


def test_a_limit_ends_reading_between_records():
    reader = RecordReader(frame(b"a") + frame(b"b"), limit=1)
    assert [payload for _, payload in reader] == [b"a"]
    assert (reader.end.kind, reader.end.offset) == (EndKind.CLEAN, 17)


def test_reading_from_the_end_or_beyond_it_ends_cleanly():
    for offset in (17, 18, 1000):
        reader = RecordReader(frame(b"a"), offset, limit=100)
        assert list(reader) == []
        assert reader.end.kind is EndKind.CLEAN


def test_a_truncated_tail_is_an_ordinary_result():
    whole = frame(b"first") + frame(b"second")
    for length in range(len(frame(b"first")) + 1, len(whole)):
        reader = RecordReader(whole[:length])
        assert list(reader) == [(0, b"first")]
        assert (reader.end.kind, reader.end.offset) == (EndKind.TRUNCATED, 21)


def test_a_damaged_payload_is_skipped_and_named():
    damaged = bytearray(frame(b"first") + frame(b"second") + frame(b"third"))
    damaged[21 + 12] ^= 1
    records, ends = read_records(bytes(damaged))
    assert [payload for _, payload in records] == [b"first", b"third"]
    assert [(end.kind, end.offset) for end in ends] == [(EndKind.CORRUPT, 21), (EndKind.CLEAN, 64)]


def test_a_damaged_length_ends_reading():
    damaged = bytearray(frame(b"first") + frame(b"second"))
    damaged[21] ^= 1
    records, ends = read_records(bytes(damaged))
    assert [payload for _, payload in records] == [b"first"]
    assert (ends[-1].kind, ends[-1].offset, ends[-1].skip_to) == (EndKind.CORRUPT, 21, None)


def test_an_absurd_length_with_a_right_checksum_is_damage():
    length = struct.pack("<Q", 2**63)
    reader = RecordReader(length + struct.pack("<I", masked_crc(length)) + b"rest")
    assert list(reader) == []
    assert reader.end.kind is EndKind.CORRUPT
