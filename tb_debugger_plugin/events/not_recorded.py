"""The reasons why something is not recorded, as in ``NotRecordedReason`` of ``protos/debug_event.proto``."""

from __future__ import annotations

import enum


class NotRecordedReason(enum.IntEnum):
    """The reason why a part of a program is not recorded."""

    UNKNOWN = 0
    #: Watch ops could not be added to a function.
    NOT_INSTRUMENTED = 1
    #: The filters of the recording exclude it.
    FILTERED = 2
    #: An input pipeline or a session that was made before the recording began.
    MADE_BEFORE = 3
    #: Python has no graph of the function.
    NO_GRAPH = 4
    #: It is inside a function that XLA compiles.
    COMPILED = 5
    #: ``keep_graph_optimizations`` cannot watch it.
    OPTIMIZED = 6
    #: Keras computes with JAX or PyTorch.
    OTHER_BACKEND = 7
    #: The recording has reached ``max_bytes``; from then on it is a circular buffer.
    BOUNDED = 8


def reason_name(value: int) -> str:
    """Return the name of a reason in routes and tables; ``"unknown"`` if this version does not know it."""
    is_known = value in set(NotRecordedReason)
    return (NotRecordedReason(value) if is_known else NotRecordedReason.UNKNOWN).name.lower()
