"""`events/tail.py`: tail files hold what a killed process left in mapped memory."""

from __future__ import annotations

import pytest

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.tail import HEADER_SIZE, MAGIC, Tail, TailMode, read_tail
from tests.support.tails import build_tail


def _read(folder, payloads, **options) -> Tail:
    """The tail of a file that was built of these records."""
    path = folder / "x.tail"
    path.write_bytes(build_tail(payloads, **options))
    actual = read_tail(path)
    assert actual is not None
    return actual


def test_records_come_back_from_every_position_in_the_ring(tmp_path):
    framed = frame(b"one") + frame(b"two")
    options = {"mode": TailMode.RING, "file_size": 5, "capacity": 50}
    for start in range(70):
        assert _read(tmp_path, [b"one", b"two"], tail=start, **options) == Tail(
            TailMode.RING, start, start + 38, 5, framed
        )


def test_a_ring_that_is_full_to_the_last_byte_is_read(tmp_path):
    actual = _read(tmp_path, [b"one"], mode=TailMode.RING, file_size=0, capacity=19, tail=7)
    assert actual.data == frame(b"one")


def test_the_header_is_laid_out_as_documented():
    built = build_tail([b"x"], mode=TailMode.JOURNAL, file_size=300, capacity=64, tail=10)
    assert built[:8] == MAGIC == b"TBDBGT1\n"
    assert [int.from_bytes(built[at : at + 8], "little") for at in range(8, 56, 8)] == [64, 0, 27, 10, 300, 0]
    assert len(built) == HEADER_SIZE + 64
    assert built[HEADER_SIZE + 10 : HEADER_SIZE + 27] == frame(b"x")


@pytest.mark.parametrize("mode", TailMode)
def test_a_tail_leaves_out_what_the_file_already_holds(tmp_path, mode):
    actual = _read(tmp_path, [b"one", b"two"], mode=mode, file_size=100, capacity=64)
    assert actual.after(100) == frame(b"one") + frame(b"two")
    assert actual.after(119) == frame(b"two")
    assert actual.after(138) == b""
    assert actual.after(99) == actual.data  # the file was cut meanwhile


def test_a_ring_says_how_many_records_it_has_overwritten(tmp_path):
    actual = _read(tmp_path, [b"one"], mode=TailMode.RING, file_size=0, tail=190, dropped=10)
    assert actual.dropped == 10


def test_no_tail_file_and_one_that_is_being_set_up_are_nothing(tmp_path):
    assert read_tail(tmp_path / "x.tail") is None
    (tmp_path / "x.tail").write_bytes(bytes(HEADER_SIZE + 10))
    assert read_tail(tmp_path / "x.tail") is None


@pytest.mark.parametrize(
    "content",
    [
        b"short",
        b"X" * (HEADER_SIZE + 64),
        build_tail([], mode=TailMode.RING, file_size=0, capacity=64)[:-1],
        MAGIC + (64).to_bytes(8, "little") + (7).to_bytes(8, "little") + bytes(HEADER_SIZE + 40),
        MAGIC + (64).to_bytes(8, "little") + bytes(8) + (65).to_bytes(8, "little") + bytes(HEADER_SIZE + 32),
        MAGIC + (64).to_bytes(8, "little") + bytes(16) + (1).to_bytes(8, "little") + bytes(HEADER_SIZE + 24),
    ],
)
def test_what_is_no_tail_file_is_refused(tmp_path, content):
    (tmp_path / "x.tail").write_bytes(content)
    with pytest.raises(FormatError):
        read_tail(tmp_path / "x.tail")


def test_records_that_do_not_fit_are_refused():
    with pytest.raises(FormatError):
        build_tail([b"x" * 100], mode=TailMode.RING, file_size=0, capacity=64)
