"""Why something is not recorded: the words of ``NotRecordedReason`` in ``protos/debug_event.proto``."""

from __future__ import annotations

import enum


class NotRecordedReason(enum.IntEnum):
    """Why something of a program is not on record."""

    UNKNOWN = 0
    #: Watch ops could not be added to a function.
    NOT_INSTRUMENTED = 1
    #: The filters of the recording leave it out.
    FILTERED = 2
    #: An input pipeline or a session that was made before the recording began.
    MADE_BEFORE = 3
    #: A function of which Python has no graph.
    NO_GRAPH = 4
    #: Inside a function that XLA compiles.
    COMPILED = 5
    #: ``keep_graph_optimizations`` cannot watch there.
    OPTIMIZED = 6
    #: Keras computes with JAX or PyTorch.
    OTHER_BACKEND = 7


def reason_name(value: int) -> str:
    """The word for a reason in routes and tables; ``"unknown"`` for one that this version does not know."""
    known = value in set(NotRecordedReason)
    return (NotRecordedReason(value) if known else NotRecordedReason.UNKNOWN).name.lower()
