"""Damages the bytes of event files.

Takes payloads or whole files and returns bytes that a broken disk, a killed program or an attacker could
leave. All random choices come from a generator that the caller seeds.
"""

from __future__ import annotations

import random
import struct
from typing import Final

from tb_debugger_plugin.events.framing import OVERHEAD, frame, masked_crc
from tb_debugger_plugin.events.wire import varint

#: Lengths that no record can have.
_LENGTHS: Final = (2**63, 2**63 - 1, 2**64 - 1, 2**64 - 16, 2**32, 2**31 - 1, 2**31, 2**40, 1 << 28)


def framed(payloads: list[bytes]) -> bytes:
    """Returns the bytes of a file."""
    return b"".join(map(frame, payloads))


def flip(content: bytes, place: int, mask: int) -> bytes:
    """Changes one byte."""
    spoiled = bytearray(content)
    spoiled[place] ^= mask
    return bytes(spoiled)


def flip_inside(payloads: list[bytes], place: int, mask: int) -> bytes:
    """Changes one byte of the payloads and corrects the checksums."""
    for number, payload in enumerate(payloads):
        if place < len(payload):
            return framed([*payloads[:number], flip(payload, place, mask), *payloads[number + 1 :]])
        place -= len(payload)
    raise IndexError("the place is after the last payload")


def lie_about_length(rng: random.Random, payloads: list[bytes]) -> bytes:
    """Adds a record with a wrong length, mostly with a right checksum of that length."""
    number = rng.randrange(len(payloads) + 1)
    length = struct.pack("<Q", rng.choice((*_LENGTHS, rng.randrange(600))))
    crc = masked_crc(length) if rng.random() < 0.9 else rng.getrandbits(32)
    lie = length + struct.pack("<I", crc) + rng.randbytes(rng.randrange(64))
    return framed(payloads[:number]) + lie + framed(payloads[number:])


def spoil_checksum(rng: random.Random, payloads: list[bytes]) -> bytes:
    """Damages a checksum of a record's length or of its payload."""
    content = framed(payloads)
    number = rng.randrange(len(payloads))
    start = sum(len(payload) + OVERHEAD for payload in payloads[:number])
    place = start + (8 if rng.random() < 0.3 else 12 + len(payloads[number]))
    return flip(content, place + rng.randrange(4), rng.randrange(1, 256))


def shuffle(rng: random.Random, payloads: list[bytes]) -> bytes:
    """Returns records in another order, some twice, some missing."""
    chosen = rng.choices(payloads, k=rng.randrange(2 * len(payloads)))
    return framed(chosen)


def mangle(rng: random.Random, payloads: list[bytes]) -> bytes:
    """Returns correctly framed payloads with bytes changed, inserted and removed."""
    spoiled = [bytearray(payload) for payload in payloads]
    for _ in range(rng.randrange(1, 9)):
        victim = rng.choice(spoiled)
        place = rng.randrange(len(victim) + 1)
        victim[place : place + rng.choice((0, 0, 1, 1, 4, 40))] = rng.randbytes(rng.choice((0, 1, 1, 2, 8)))
    return framed([bytes(payload) for payload in spoiled])


def garbage(rng: random.Random, payloads: list[bytes]) -> bytes:
    """Adds correctly framed records that are wire format of any fields, or not wire format at all."""
    made = [b"".join(_field(rng, 0) for _ in range(rng.randrange(9))) for _ in range(rng.randrange(9))]
    made += [rng.randbytes(rng.randrange(200))]
    rng.shuffle(made)
    return framed([*payloads, *made])


def _field(rng: random.Random, depth: int) -> bytes:
    number, wire = rng.choice((*range(1, 12), 1001, 2**29 - 1)), rng.choice((0, 1, 2, 2, 2, 3, 4, 5, 6))
    tag = varint(number << 3 | wire)
    if wire == 0:
        return tag + varint(rng.choice((0, 1, 2**31, 2**63, 2**64 - 1)))
    if wire in (1, 5):
        return tag + rng.randbytes(8 if wire == 1 else 4)
    if wire != 2:
        return tag
    deeper = depth < 150 and rng.random() < 0.9
    inside = _field(rng, depth + 1) if deeper else rng.choice((b"", b"g1", b"\xff\xfe", b"\xed\xa0\x80"))
    length = len(inside) if rng.random() < 0.95 else rng.choice((0, 2**20, 2**31, 2**63))
    return tag + varint(length) + inside


def bad_text(rng: random.Random, payloads: list[bytes]) -> bytes:
    """Replaces names by bytes of the same length that are not UTF-8, such as halves of surrogate pairs."""
    content = framed(payloads)
    for good in (b"Log", b"loss", b"/home", b"worker", b"g1", b"mul"):
        if good in content and rng.random() < 0.7:
            bad = rng.choice((b"\xed\xa0\x80", b"\xff\xfe\xfd\xfc", b"\xc0\x80\xc0", b"\xf5\x90\x80\x80"))
            replaced = [payload.replace(good, (bad * 3)[: len(good)]) for payload in payloads]
            payloads = replaced
    return framed(payloads)
