"""`events/framing.py`: framing works for any bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tb_debugger_plugin.events.framing import EndKind, RecordReader, frame, read_records
from tb_debugger_plugin.events.tail import Tail, TailMode

_PAYLOADS = st.lists(st.binary(max_size=40), max_size=6)


def _framed(payloads: list[bytes]) -> bytes:
    return b"".join(map(frame, payloads))


@given(_PAYLOADS)
def test_what_is_framed_comes_back(payloads):
    reader = RecordReader(_framed(payloads))
    assert [payload for _, payload in reader] == payloads
    assert reader.end.kind is EndKind.CLEAN


@given(_PAYLOADS, st.data())
def test_reading_can_stop_and_go_on_anywhere(payloads, data):
    stream = _framed(payloads)
    length = data.draw(st.integers(0, len(stream)))
    first = RecordReader(stream[:length])
    begun = [payload for _, payload in first]
    assert first.end.kind in (EndKind.CLEAN, EndKind.TRUNCATED)
    assert begun + [payload for _, payload in RecordReader(stream, first.end.offset)] == payloads


@given(_PAYLOADS.filter(bool), st.data())
def test_a_flipped_bit_loses_no_record_before_it(payloads, data):
    stream = bytearray(_framed(payloads))
    place = data.draw(st.integers(0, len(stream) - 1))
    stream[place] ^= 1 << data.draw(st.integers(0, 7))
    records, ends = read_records(bytes(stream))
    whole = [payload for payload in _whole_before(payloads, place)]
    found = [payload for _, payload in records]
    assert found[: len(whole)] == whole
    assert len(found) < len(payloads) and any(end.kind is not EndKind.CLEAN for end in ends)


def _whole_before(payloads: list[bytes], place: int) -> list[bytes]:
    end, whole = 0, []
    for payload in payloads:
        end += len(payload) + 16
        if end > place:
            break
        whole.append(payload)
    return whole


@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_raise(content):
    records, ends = read_records(content)
    assert sum(len(payload) + 16 for _, payload in records) <= len(content)
    assert ends[-1].offset <= len(content)


@given(_PAYLOADS, st.integers(0, 1000), st.data())
def test_file_and_journal_together_hold_every_record_once(payloads, file_size, data):
    drained = data.draw(st.integers(0, len(payloads)))
    journal = Tail(TailMode.JOURNAL, 0, 0, file_size, _framed(payloads))
    actual = file_size + len(_framed(payloads[:drained]))
    assert [payload for _, payload in RecordReader(journal.after(actual))] == payloads[drained:]
